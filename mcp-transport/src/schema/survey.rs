//! What a schema is made of, seen before it is compiled: how much of it there is, whether its references
//! stay inside, and how long a chain of subschemas, and how many of them, can judge one and the same value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::excerpt::excerpt;
use super::{DIALECTS, MAX_CHAIN, MAX_JUDGEMENTS, MAX_SUBSCHEMAS, SchemaFault};

/// What one value may meet.
#[derive(Clone, Copy, Default)]
pub(super) struct Met {
    /// The length of the longest chain of subschemas that apply to it: each takes a stack frame or two in the
    /// validator.
    pub(super) chain: usize,
    /// How often a subschema is applied to it, at the most: one counts for every way that leads to it.
    pub(super) judgements: usize,
}

/// Walks all subschemas of `schema`, also those that nothing refers to.
pub(super) fn survey(schema: &Value) -> Result<Met, SchemaFault> {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let mut survey = Survey { is_draft_04: dialect.contains("draft-04"), ..Survey::default() };
    survey.subschema(schema, schema, String::new())?;
    // References may point where no keyword expects a subschema, and find more references there.
    let mut resolved = 0;
    while let Some(reference) = survey.references.get(resolved) {
        let target = reference.resolve(&survey)?;
        let (root, path) = (reference.root, reference.text.trim_start_matches('#').to_owned());
        let to = match survey.numbers.get(&address(target)) {
            Some(known) => *known,
            None => survey.subschema(target, root, path)?,
        };
        let from = survey.references.get(resolved).map(|reference| reference.from);
        if let Some(node) = from.and_then(|from| survey.nodes.get_mut(from)) {
            node.same_value.push(to);
        }
        resolved += 1;
    }
    survey.most_met()
}

#[derive(Default)]
struct Survey<'s> {
    nodes: Vec<Node>,
    /// The node of each subschema, by the subschema's address.
    numbers: HashMap<usize, usize>,
    references: Vec<Reference<'s>>,
    anchors: HashMap<&'s str, &'s Value>,
    /// Whether `id` is a keyword, which it is no longer: generators use it as an annotation.
    is_draft_04: bool,
}

#[derive(Default)]
struct Node {
    path: String,
    /// The subschemas that judge the same value as this one.
    same_value: Vec<usize>,
    /// What a value meets from here on, once known.
    met: Option<Met>,
}

struct Reference<'s> {
    from: usize,
    /// The schema resource it stands in, which its fragment is relative to.
    root: &'s Value,
    text: &'s str,
}

impl<'s> Survey<'s> {
    fn subschema(
        &mut self,
        schema: &'s Value,
        root: &'s Value,
        path: String,
    ) -> Result<usize, SchemaFault> {
        let number = self.nodes.len();
        if number >= MAX_SUBSCHEMAS {
            return Err(SchemaFault::TooManySubschemas);
        }
        self.numbers.insert(address(schema), number);
        let Value::Object(members) = schema else {
            self.nodes.push(Node { path, ..Node::default() });
            return Ok(number);
        };
        self.nodes.push(Node { path: path.clone(), ..Node::default() });
        // A subschema with an identifier of its own is a resource of its own; one that is a mere fragment
        // is an anchor.
        let id = members.get(if self.is_draft_04 { "id" } else { "$id" }).and_then(Value::as_str);
        let root = if id.is_some_and(|id| !id.starts_with('#')) { schema } else { root };
        self.anchors(schema, members, id);
        if let Some(dialect) = members.get("$schema").and_then(Value::as_str) {
            known_dialect(dialect)?;
        }
        for (keyword, value) in members {
            let path = || format!("{path}/{}", escape(keyword));
            match (role(keyword), value) {
                (Role::Reference, Value::String(text)) => {
                    self.reference(number, root, text, path())?
                }
                (Role::SameValue, value) => self.children(number, value, root, &path(), true)?,
                (Role::Inside, value) => self.children(number, value, root, &path(), false)?,
                (Role::ByName { same_value }, Value::Object(named)) => {
                    let path = path();
                    for (name, value) in named {
                        let path = format!("{path}/{}", escape(name));
                        self.child(number, value, root, path, same_value)?;
                    }
                }
                _ => {}
            }
        }
        Ok(number)
    }

    fn anchors(&mut self, schema: &'s Value, members: &'s Map<String, Value>, id: Option<&'s str>) {
        let named = ["$anchor", "$dynamicAnchor"]
            .iter()
            .filter_map(|keyword| members.get(*keyword)?.as_str());
        for anchor in named.chain(id.and_then(|id| id.strip_prefix('#'))) {
            self.anchors.insert(anchor, schema);
        }
    }

    fn reference(
        &mut self,
        from: usize,
        root: &'s Value,
        text: &'s str,
        path: String,
    ) -> Result<(), SchemaFault> {
        if !text.starts_with('#') {
            return Err(SchemaFault::ForeignReference { path, reference: excerpt(text) });
        }
        self.references.push(Reference { from, root, text });
        Ok(())
    }

    /// One subschema, or an array of them.
    fn children(
        &mut self,
        parent: usize,
        value: &'s Value,
        root: &'s Value,
        path: &str,
        same_value: bool,
    ) -> Result<(), SchemaFault> {
        match value {
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                self.child(parent, item, root, format!("{path}/{index}"), same_value)
            }),
            value => self.child(parent, value, root, path.to_owned(), same_value),
        }
    }

    fn child(
        &mut self,
        parent: usize,
        value: &'s Value,
        root: &'s Value,
        path: String,
        same_value: bool,
    ) -> Result<(), SchemaFault> {
        if !matches!(value, Value::Object(_) | Value::Bool(_)) {
            return Ok(()); // `dependencies` may list names; all else is for the meta-schema to refuse
        }
        let child = self.subschema(value, root, path)?;
        if let Some(node) = self.nodes.get_mut(parent).filter(|_| same_value) {
            node.same_value.push(child);
        }
        Ok(())
    }

    fn most_met(&mut self) -> Result<Met, SchemaFault> {
        (0..self.nodes.len()).try_fold(Met::default(), |most, number| {
            let Met { chain, judgements } = self.met(number, 1)?;
            Ok(Met { chain: most.chain.max(chain), judgements: most.judgements.max(judgements) })
        })
    }

    /// What a value meets from a node on which is the `length`th of a chain. A circle has no end, so it is refused by
    /// its length.
    fn met(&mut self, number: usize, length: usize) -> Result<Met, SchemaFault> {
        let Some(node) = self.nodes.get(number) else { return Ok(Met::default()) };
        if length + node.met.map_or(1, |known| known.chain) - 1 > MAX_CHAIN {
            return Err(SchemaFault::LongChain { path: node.path.clone() });
        }
        if let Some(known) = node.met {
            return Ok(known);
        }
        let mut met = Met { chain: 1, judgements: 1 };
        for next in node.same_value.clone() {
            let next = self.met(next, length + 1)?;
            met.chain = met.chain.max(next.chain + 1);
            met.judgements = met.judgements.saturating_add(next.judgements);
        }
        if let Some(node) = self.nodes.get_mut(number) {
            if met.judgements > MAX_JUDGEMENTS {
                return Err(SchemaFault::TooManyJudgements { path: node.path.clone() });
            }
            node.met = Some(met);
        }
        Ok(met)
    }
}

impl<'s> Reference<'s> {
    fn resolve(&self, survey: &Survey<'s>) -> Result<&'s Value, SchemaFault> {
        let fragment = self.text.strip_prefix('#').unwrap_or_default();
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            decode(fragment).and_then(|pointer| self.root.pointer(&pointer))
        } else {
            survey.anchors.get(fragment).copied()
        };
        found.ok_or_else(|| SchemaFault::UnresolvedReference {
            path: survey.nodes.get(self.from).map(|node| node.path.clone()).unwrap_or_default(),
            reference: excerpt(self.text),
        })
    }
}

fn known_dialect(uri: &str) -> Result<(), SchemaFault> {
    let plain = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://")).unwrap_or(uri);
    let plain = plain.strip_suffix('#').unwrap_or(plain);
    if DIALECTS.contains(&plain) { Ok(()) } else { Err(SchemaFault::Dialect(excerpt(uri))) }
}

/// What a keyword's value has to do with subschemas.
enum Role {
    /// It names one.
    Reference,
    /// It holds one or several that judge the same value.
    SameValue,
    /// It holds one or several that judge what is inside the value.
    Inside,
    /// It is an object that holds them by name.
    ByName { same_value: bool },
    /// It is data.
    None,
}

/// The keywords of all supported dialects.
fn role(keyword: &str) -> Role {
    match keyword {
        "$ref" | "$dynamicRef" | "$recursiveRef" => Role::Reference,
        // The names of properties are no smaller than their object, as far as the stack is concerned.
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "propertyNames" => {
            Role::SameValue
        }
        "items"
        | "prefixItems"
        | "additionalItems"
        | "contains"
        | "unevaluatedItems"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "contentSchema" => Role::Inside,
        "properties" | "patternProperties" | "$defs" | "definitions" => {
            Role::ByName { same_value: false }
        }
        "dependentSchemas" | "dependencies" => Role::ByName { same_value: true },
        _ => Role::None,
    }
}

/// One step of a JSON pointer (RFC 6901).
fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// A fragment without its percent-encoding; `None` if it is no UTF-8 then.
fn decode(fragment: &str) -> Option<String> {
    let mut bytes = fragment.bytes();
    let mut decoded = Vec::with_capacity(fragment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            decoded.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}
