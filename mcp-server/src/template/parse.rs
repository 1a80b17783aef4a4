//! The grammar of templates (RFC 6570, section 2), and what this module refuses beyond it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use super::UriTemplate;
use super::expression::{Expression, Operator, Part};
use super::percent::{Class, encode, octet};

/// Why a text is no [`UriTemplate`], and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTemplate {
    at: usize,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    TooLong,
    TooManyVariables,
    Character,
    Unclosed,
    Unopened,
    Operator,
    Name,
    Modifier,
    Twice,
    NoEnd,
}

impl InvalidTemplate {
    /// Where the fault is, in bytes from the beginning of the template.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for InvalidTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {} of the URI template: ", self.at)?;
        f.write_str(match self.fault {
            Fault::TooLong => "it is longer than UriTemplate::MAX_LEN",
            Fault::TooManyVariables => "it has more than UriTemplate::MAX_VARIABLES",
            Fault::Character => "a character that no URI can hold",
            Fault::Unclosed => "a { that is not closed",
            Fault::Unopened => "a } that was not opened",
            Fault::Operator => "an operator without a meaning",
            Fault::Name => {
                "a variable's name is letters, digits and _, with single dots between them"
            }
            Fault::Modifier => {
                "* and :n (level 4) are not supported; {+name} takes several path segments"
            }
            Fault::Twice => "a variable that stands twice",
            Fault::NoEnd => {
                "what follows {;x}, {?x} or {&x} directly could belong to the variable's value"
            }
        })
    }
}

impl Error for InvalidTemplate {}

pub(super) fn parts(template: &str) -> Result<Vec<Part>, InvalidTemplate> {
    let mut parser = Parser { at: 0, parts: Vec::new(), names: BTreeSet::new() };
    if template.len() > UriTemplate::MAX_LEN {
        return Err(parser.fault(Fault::TooLong));
    }
    let mut rest = template;
    while let Some((literal, tail)) = rest.split_once('{') {
        parser.literal(literal)?;
        let Some((expression, tail)) = tail.split_once('}') else {
            return Err(parser.fault(Fault::Unclosed));
        };
        parser.expression(expression)?;
        rest = tail;
    }
    parser.literal(rest)?;
    Ok(parser.parts)
}

struct Parser<'a> {
    /// How far the template is read.
    at: usize,
    parts: Vec<Part>,
    /// Those seen so far.
    names: BTreeSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn literal(&mut self, text: &str) -> Result<(), InvalidTemplate> {
        if text.is_empty() {
            return Ok(());
        }
        self.check_end(text.bytes().next())?;
        for (at, c) in text.char_indices() {
            if let Some(fault) = literal_fault(c, text.as_bytes().get(at + 1..)) {
                self.at += at;
                return Err(self.fault(fault));
            }
        }
        let mut encoded = String::with_capacity(text.len());
        encode(&mut encoded, text, Class::URI);
        self.parts.push(Part::Literal(encoded));
        self.at += text.len();
        Ok(())
    }

    /// `text` is what stands between the braces, `self.at` the place of the first of them.
    fn expression(&mut self, text: &'a str) -> Result<(), InvalidTemplate> {
        let mut names = Vec::new();
        let operator = text.bytes().next().and_then(Operator::of);
        self.check_end(operator.and_then(Operator::lead))?;
        self.at += 1 + usize::from(operator.is_some());
        // Every operator is one byte.
        let list = text.get(usize::from(operator.is_some())..).unwrap_or_default();
        for name in list.split(',') {
            if let Some(fault) = name_fault(name) {
                return Err(self.fault(fault));
            }
            if !self.names.insert(name) {
                return Err(self.fault(Fault::Twice));
            }
            if self.names.len() > UriTemplate::MAX_VARIABLES {
                return Err(self.fault(Fault::TooManyVariables));
            }
            names.push(name.to_owned());
            // The comma or the brace too.
            self.at += name.len() + 1;
        }
        let operator = operator.unwrap_or(Operator::Simple);
        self.parts.push(Part::Expression(Expression { operator, names }));
        Ok(())
    }

    /// That what comes next ends a value before it: it begins with `next`, or with any character.
    fn check_end(&self, next: Option<u8>) -> Result<(), InvalidTemplate> {
        let Some(Part::Expression(Expression { operator, .. })) = self.parts.last() else {
            return Ok(());
        };
        if operator.named() && next.is_none_or(|next| operator.takes().contains(next)) {
            return Err(self.fault(Fault::NoEnd));
        }
        Ok(())
    }

    const fn fault(&self, fault: Fault) -> InvalidTemplate {
        InvalidTemplate { at: self.at, fault }
    }
}

/// What is wrong with `c` outside of an expression, before `tail`.
fn literal_fault(c: char, tail: Option<&[u8]>) -> Option<Fault> {
    match u8::try_from(c).ok().filter(u8::is_ascii) {
        Some(b'}') => Some(Fault::Unopened),
        Some(b'%') => octet(tail.unwrap_or_default()).is_none().then_some(Fault::Character),
        Some(byte) => (!Class::URI.contains(byte)).then_some(Fault::Character),
        // Other scripts are written as they are, and stand encoded in the URI.
        None => c.is_control().then_some(Fault::Character),
    }
}

fn name_fault(name: &str) -> Option<Fault> {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.split('.').all(|piece| !piece.is_empty() && piece.bytes().all(usual)) {
        None
    } else if name.contains(['*', ':']) {
        Some(Fault::Modifier)
    } else if name.starts_with(['=', '!', '@', '|']) {
        Some(Fault::Operator)
    } else {
        Some(Fault::Name)
    }
}
