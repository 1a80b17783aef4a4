//! From a URI to variables.
//!
//! A template becomes a chain of steps. A table ([`Reach`]) tells which steps can take the URI from which place on
//! up to its end; a walk along the chain decides by it, and so never has to turn back. The table has a cell per step
//! and byte, and a cell costs at most a comparison with the text or the names of its step: time is
//! proportional to the bytes of the template times those of the URI whatever the input, where a backtracking
//! matcher can be made to take time exponential in the number of variables.

use std::iter::once;

use super::expression::{Expression, Part};
use super::percent::{Class, is_well_formed};
use super::reach::Reach;

#[derive(Clone, Debug)]
pub(super) struct Matcher {
    steps: Vec<Step>,
    variables: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// This text.
    Literal(String),
    /// This byte, and the steps up to `end`; or none of it.
    Optional { lead: u8, end: usize },
    /// One character or more, for the variable of this number.
    Value { variable: usize, class: Class },
    /// Any number of named variables, as many as there are.
    Pairs(Pairs),
}

#[derive(Clone, Debug)]
pub(super) struct Pairs {
    pub(super) lead: u8,
    pub(super) separator: u8,
    class: Class,
    names: Vec<String>,
    /// The number of the first of them; the others follow.
    variable: usize,
}

impl Matcher {
    pub(super) fn compile(parts: &[Part]) -> Self {
        let mut matcher = Self { steps: Vec::new(), variables: 0 };
        let mut rest = parts;
        while let [part, behind @ ..] = rest {
            match part {
                Part::Literal(text) => matcher.steps.push(Step::Literal(text.clone())),
                Part::Expression(expression) => matcher.expression(expression, behind),
            }
            rest = behind;
        }
        matcher
    }

    fn expression(&mut self, expression: &Expression, behind: &[Part]) {
        let Expression { operator, names } = expression;
        if operator.named()
            && let Some(lead) = operator.lead()
        {
            self.steps.push(Step::Pairs(Pairs {
                lead,
                separator: operator.separator(),
                class: operator.takes(),
                names: names.clone(),
                variable: self.variables,
            }));
            self.variables += names.len();
            return;
        }
        let class = value_class(expression, behind);
        let leads = once(operator.lead()).chain(once(Some(operator.separator())).cycle());
        // A variable that has a lead is optional, together with those behind it.
        let end = self.steps.len() + 2 * names.len() - usize::from(operator.lead().is_none());
        for lead in leads.take(names.len()) {
            self.steps.extend(lead.map(|lead| Step::Optional { lead, end }));
            self.steps.push(Step::Value { variable: self.variables, class });
            self.variables += 1;
        }
    }

    /// What each variable takes of `uri`, still encoded.
    pub(super) fn values<'u>(&self, uri: &'u str) -> Option<Vec<Option<&'u str>>> {
        // Most URIs belong to another template, and show it at once.
        if let Some(Step::Literal(text)) = self.steps.first()
            && !uri.starts_with(text)
        {
            return None;
        }
        if !is_well_formed(uri) {
            return None;
        }
        self.walk(uri, &Reach::of(&self.steps, uri.as_bytes()))
    }

    fn walk<'u>(&self, uri: &'u str, reach: &Reach<'_>) -> Option<Vec<Option<&'u str>>> {
        let mut values = vec![None; self.variables];
        let (mut row, mut at) = (0, 0);
        if !reach.get(row, at) {
            return None;
        }
        while let Some(step) = self.steps.get(row) {
            row += 1;
            match step {
                Step::Literal(text) => at += text.len(),
                Step::Optional { lead, .. } if reach.takes(*lead, row, at) => at += 1,
                Step::Optional { end, .. } => row = *end,
                Step::Value { variable, class } => {
                    let end = reach.value_end(*class, at, row, self.steps.get(row))?;
                    *values.get_mut(*variable)? = Some(uri.get(at..end)?);
                    at = end;
                }
                Step::Pairs(pairs) => {
                    let mut lead = pairs.lead;
                    while let Some(pair) = pairs.pair(uri.as_bytes(), at, lead) {
                        let value = values.get_mut(pairs.variable + pair.index)?;
                        if value.replace(uri.get(pair.value..pair.end)?).is_some() {
                            return None; // The name stands twice: which one is meant?
                        }
                        (at, lead) = (pair.end, pairs.separator);
                    }
                }
            }
        }
        Some(values)
    }
}

/// What the values of an expression without names may hold, given the parts behind it: nothing that these parts
/// write with a meaning.
fn value_class(expression: &Expression, behind: &[Part]) -> Class {
    let Expression { operator, names } = expression;
    let mut class = operator.takes();
    if names.len() > 1 {
        class = class.without(operator.separator());
    }
    for part in behind {
        match part {
            // The first of a URI begins its query, or its fragment.
            Part::Literal(text) => {
                for delimiter in text.bytes().filter(|byte| matches!(byte, b'?' | b'#')) {
                    class = class.without(delimiter);
                }
            }
            // Dots and slashes are a part of ordinary values too.
            Part::Expression(later) => match later.operator.lead() {
                None | Some(b'.' | b'/') => {}
                Some(lead) => class = class.without(lead),
            },
        }
    }
    class
}

/// One named variable in a URI.
pub(super) struct Pair {
    /// Which of the names.
    index: usize,
    /// Where its value begins.
    value: usize,
    /// Where its value ends.
    pub(super) end: usize,
}

impl Pairs {
    /// The pair that `lead` introduces at `at`, if it is of a variable of ours. Without `=` its value is empty.
    pub(super) fn pair(&self, uri: &[u8], at: usize, lead: u8) -> Option<Pair> {
        let (&first, tail) = uri.get(at..)?.split_first()?;
        if first != lead {
            return None;
        }
        let text = tail.get(..self.class.run(tail))?;
        let name = text.split(|&byte| byte == b'=').next()?;
        let index = self.names.iter().position(|own| own.as_bytes() == name)?;
        let begin = at + 1;
        let end = begin + text.len();
        Some(Pair { index, value: end.min(begin + name.len() + 1), end })
    }
}
