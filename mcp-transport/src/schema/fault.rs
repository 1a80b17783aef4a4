//! What is wrong with an instance, said so that a model can put it right.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::excerpt::{excerpt, quoted};

/// Why a JSON text does not match a schema: one line per fault, of bounded length, values cut to an
/// excerpt.
#[derive(Clone, PartialEq, Eq)]
pub struct Faults {
    pub(super) faults: Vec<Fault>,
    /// Whether there are more than are listed.
    pub(super) more: bool,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Fault {
    path: String,
    message: String,
    /// What was broken, without a word of the text: a JSON pointer into the schema, or why nothing could be
    /// checked.
    rule: String,
}

impl Faults {
    /// One fault of the whole text. `message` tells nothing of what is in it.
    pub fn whole(message: impl Into<String>) -> Self {
        let message = message.into();
        let fault = Fault { path: String::new(), rule: message.clone(), message };
        Self { faults: vec![fault], more: false }
    }

    /// `None` if there are no errors.
    pub(super) fn collect<'e>(
        mut errors: impl Iterator<Item = ValidationError<'e>>,
    ) -> Option<Self> {
        let faults: Vec<Fault> =
            errors.by_ref().take(MAX_LISTED).map(|error| Fault::new(&error)).collect();
        (!faults.is_empty()).then(|| Self { faults, more: errors.next().is_some() })
    }

    /// What is wrong: at least one fault, and at most sixteen.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// Which rules of the schema are broken, for logs that must not show values or keys.
    pub fn rules(&self) -> String {
        let rules: Vec<&str> = self.faults.iter().map(|fault| &*fault.rule).collect();
        rules.join(", ")
    }
}

impl Fault {
    fn new(error: &ValidationError<'_>) -> Self {
        Self {
            path: path(error),
            message: cut(describe(error), MAX_MESSAGE),
            rule: cut(error.schema_path().as_str().to_owned(), MAX_PATH),
        }
    }
}

impl Fault {
    /// Where: a JSON pointer (RFC 6901) into the text, empty for the whole of it; cut if it is long.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What, to be read behind the path, such as `must be an integer, is "four"`.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl std::error::Error for Faults {}

/// Shows which rules are broken and where, but no values.
impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.faults).finish()
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("path", &self.path)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if number > 0 { "\n" } else { "" })?;
        }
        if self.more { f.write_str("\nand more") } else { Ok(()) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "(root)" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// Faults that are listed; the rest is only said to exist. A model mends a handful at a time, and the answer
/// shall not be larger than what it answers.
pub(super) const MAX_LISTED: usize = 16;

/// Bytes of a path that are shown, since a client chooses its own keys.
const MAX_PATH: usize = 256;

/// Bytes of a message, with which sixteen names of a choice fit.
const MAX_MESSAGE: usize = 512;

pub(super) fn path(error: &ValidationError<'_>) -> String {
    cut(error.instance_path().as_str().to_owned(), MAX_PATH)
}

fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// What is wrong with the value that the error is about.
pub(super) fn describe(error: &ValidationError<'_>) -> String {
    let found = error.instance();
    match error.kind() {
        Kind::Type { kind } => format!("must be {}, is {}", types(kind), shown(found)),
        Kind::Required { property } => format!("lacks the required member {}", shown(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!(
                "must not have the members {}",
                list(unexpected.iter().map(|name| quoted(name)))
            )
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            format!("must be one of {}, is {}", list(options.iter().map(constant)), shown(found))
        }
        Kind::Constant { expected_value } => {
            format!("must be {}, is {}", constant(expected_value), shown(found))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(error, context),
        Kind::OneOfMultipleValid { .. } => {
            "fits several of the forms of which it must fit exactly one".into()
        }
        Kind::Not { .. } => "has a form that is excluded".into(),
        Kind::FalseSchema if is_about_members(error) => "must have no members".into(),
        Kind::FalseSchema => "must not be there".into(),
        Kind::PropertyNames { error } => {
            format!("has the member {}, whose name {}", shown(error.instance()), describe(error))
        }
        Kind::Pattern { pattern } => {
            format!("must match the pattern {}, is {}", quoted(pattern), shown(found))
        }
        Kind::Format { format } => {
            format!("must be of the format {}, is {}", quoted(format), shown(found))
        }
        Kind::ContentEncoding { content_encoding: form }
        | Kind::ContentMediaType { content_media_type: form } => {
            format!("must hold {}", quoted(form))
        }
        kind => bound(kind, found),
    }
}

/// Whether an error about the schema `false` comes from `"additionalProperties": false` without properties,
/// where jsonschema gives the place of the object instead of that of a member.
fn is_about_members(error: &ValidationError<'_>) -> bool {
    const KEYWORD: &str = "/additionalProperties";
    // Not a property of that name.
    error.schema_path().as_str().ends_with(KEYWORD)
        && !error.instance_path().as_str().ends_with(KEYWORD)
}

/// The same for sizes and ranges.
fn bound(kind: &Kind, found: &Value) -> String {
    match kind {
        Kind::Minimum { limit } => format!("must be at least {limit}, is {}", shown(found)),
        Kind::Maximum { limit } => format!("must be at most {limit}, is {}", shown(found)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}, is {}", shown(found))
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}, is {}", shown(found))
        }
        Kind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, is {}", shown(found))
        }
        Kind::MinLength { limit } => {
            format!("must have at least {limit} characters, is {}", shown(found))
        }
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} elements"),
        Kind::MaxItems { limit } => format!("must have at most {limit} elements"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} elements"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::UniqueItems => "must not have an element twice".into(),
        Kind::Contains => "has not as many elements of the required form as it must".into(),
        Kind::UnevaluatedItems { .. } => "has elements that no part of the schema allows".into(),
        // What is left are failures of the validator itself and of references, which are found when
        // compiling.
        _ => "cannot be checked against the schema".into(),
    }
}

/// What is wrong by the nearest alternative, and by the nearest of its alternatives in turn.
fn alternatives(error: &ValidationError<'_>, context: &[Vec<ValidationError<'_>>]) -> String {
    let mut fault = nearest(error, context);
    while let Some(Kind::AnyOf { context } | Kind::OneOfNotValid { context }) =
        fault.map(ValidationError::kind)
    {
        let Some(deeper) = fault.and_then(|fault| nearest(fault, context)) else { break };
        fault = Some(deeper);
    }
    let count = context.len();
    match fault {
        None => format!("fits none of the {count} forms allowed, is {}", shown(error.instance())),
        Some(fault) if fault.instance_path() == error.instance_path() => {
            format!(
                "fits none of the {count} forms allowed; for the nearest, it {}",
                describe(fault)
            )
        }
        Some(fault) => {
            let (path, message) = (path(fault), describe(fault));
            format!("fits none of the {count} forms allowed; for the nearest, {path} {message}")
        }
    }
}

/// The first fault of that alternative which was most likely meant: one for values of this type; of those
/// one whose constants, which are often tags, are right; and of those the one with the fewest faults.
fn nearest<'c, 'e>(
    error: &ValidationError<'_>,
    context: &'c [Vec<ValidationError<'e>>],
) -> Option<&'c ValidationError<'e>> {
    let here = error.instance_path();
    let is_other = |fault: &ValidationError<'_>| {
        fault.instance_path() == here && matches!(fault.kind(), Kind::Type { .. })
    };
    let is_choice = |fault: &ValidationError<'_>| {
        matches!(fault.kind(), Kind::Constant { .. } | Kind::Enum { .. })
    };
    let fitting = context.iter().filter(|faults| !faults.iter().any(is_other));
    fitting.min_by_key(|faults| (faults.iter().any(is_choice), faults.len()))?.first()
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => type_name(*kind).into(),
        TypeKind::Multiple(kinds) => kinds.iter().map(type_name).collect::<Vec<_>>().join(" or "),
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// What was found. Containers are named, not shown.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
        Value::String(text) => quoted(text),
        scalar => scalar.to_string(),
    }
}

/// What the schema asks for.
fn constant(value: &Value) -> String {
    excerpt(&value.to_string())
}

/// Names and values that one message lists.
const MAX_LIST: usize = 16;

fn list(mut items: impl Iterator<Item = String>) -> String {
    let mut list = items.by_ref().take(MAX_LIST).collect::<Vec<_>>().join(", ");
    let rest = items.count();
    if rest > 0 {
        list.push_str(&format!(" and {rest} more"));
    }
    list
}
