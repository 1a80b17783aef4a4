//! Judging JSON by a JSON Schema: arguments before a handler sees them, structured results before they leave and
//! when they arrive.
//!
//! The dialect is 2020-12 unless `$schema` names another (JSON Schema Usage, Schema Dialect); 2019-09,
//! draft-07, draft-06 and draft-04 are understood as well. References stay inside the schema and nothing is
//! ever fetched (`$ref` Resolution). Regular expressions run in linear time, so those with look-around or
//! back-references are refused. `format` is an annotation as far as the dialect says so: it is checked up
//! to draft-07.
//!
//! Every size has a ceiling (Composition-Keyword Resource Use): the constants of this module, and a budget
//! of work for each validation.

mod excerpt;
mod fault;
mod instance;
mod survey;
#[cfg(test)]
mod tests;

use jsonschema::PatternOptions;
use jsonschema::error::ValidationErrorKind;
use mcp_types::RawJson;
use serde_json::{Map, Value};

pub use self::fault::{Fault, Faults};
use self::instance::{Instance, Prices, TapeJson};
use self::survey::Met;
use crate::limits::MAX_DEPTH;
use crate::tape::{MAX_VALUES, Tape, TapeError};

/// Bytes of one schema: far above what is generated from types or written by hand, and it travels in every
/// list.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// How deep the containers of a schema nest, so that compiling it fits the stack of a thread. Two levels
/// are one level of the objects it describes; deeper structures are built with `$ref`.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Subschemas of one schema: the largest tools have some hundred.
pub const MAX_SUBSCHEMAS: usize = 4096;

/// Subschemas in a row that judge one and the same value, by reference or as parts of `allOf` and the like.
/// Generated schemas have three or four.
pub const MAX_CHAIN: usize = 64;

/// How often subschemas judge one and the same value: a subschema counts for every way of references and of `allOf` and
/// the like that leads to it, of which a few lines can make more than can be gone. Large unions have some hundred.
pub const MAX_JUDGEMENTS: usize = 16 * 1024;

/// Bytes of an instance. Most servers take less in one message.
pub const MAX_INSTANCE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of one compiled regular expression, of which a schema may have many: enough for some hundred
/// repetitions of "any letter".
pub const MAX_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// Bytes of one compiled regular expression of a peer's schema: enough for two hundred repetitions of "any letter". In
/// the worst case every byte of a text costs a look at every byte of it.
pub const MAX_FOREIGN_PATTERN_BYTES: usize = 1024 * 1024;

/// Bytes of all compiled regular expressions of a peer's schema: a thousand simple ones fit in.
pub const MAX_ALL_FOREIGN_PATTERN_BYTES: usize = 8 * 1024 * 1024;

/// A schema, ready to judge. Compile it once: that takes milliseconds, validation microseconds.
pub struct Validator(Compiled);

enum Compiled {
    /// Everything matches.
    Anything,
    /// Every object matches, and nothing else.
    AnyObject,
    Schema {
        validator: Box<jsonschema::Validator<TapeJson>>,
        max_depth: usize,
        prices: Prices,
    },
}

impl Validator {
    /// Compiles a schema, which may also be `true` or `false`.
    ///
    /// # Errors
    /// When the schema breaks the rules of its dialect, is written in an unknown one, refers to something
    /// that is not in it, has a regular expression that cannot be matched in linear time, or is larger than
    /// the limits of this module.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::compile_with(schema, |_| vec![(MAX_PATTERN_BYTES, 0)])
    }

    /// Compiles a schema that a peer wrote. All its regular expressions together get no more memory than a few of
    /// those of [`compile`](Self::compile), and so no more time to be compiled; and the larger they are, the less text is
    /// judged.
    ///
    /// # Errors
    /// As of [`compile`](Self::compile).
    pub fn compile_foreign(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::compile_with(schema, |schema| match patterns(schema) {
            0 => vec![(MAX_FOREIGN_PATTERN_BYTES, 0)],
            count => {
                let most = (MAX_ALL_FOREIGN_PATTERN_BYTES / count).min(MAX_FOREIGN_PATTERN_BYTES);
                let sizes = [most / 512, most / 64, most / 8, most];
                sizes.iter().map(|size| (*size, size / PATTERN_BYTES_PER_STEP)).collect()
            }
        })
    }

    /// Compiles a schema whose regular expressions get as many bytes each as the first of `sizes` that suffices. Each
    /// comes with the steps that a byte of text then costs.
    fn compile_with(
        schema: &RawJson,
        sizes: impl FnOnce(&Value) -> Vec<(usize, usize)>,
    ) -> Result<Self, SchemaFault> {
        let text = schema.get();
        if text.len() > MAX_SCHEMA_BYTES {
            return Err(SchemaFault::TooLarge);
        }
        match Tape::parse(text) {
            Ok(tape) if tape.depth() > MAX_SCHEMA_DEPTH => return Err(SchemaFault::TooDeep),
            Err(TapeError::TooDeep) => return Err(SchemaFault::TooDeep),
            // Decoding has better words for what else may be wrong.
            Ok(_) | Err(TapeError::Syntax | TapeError::TooMany) => {}
        }
        let invalid = |error: serde_json::Error| SchemaFault::Invalid {
            path: String::new(),
            message: error.to_string(),
        };
        let schema: Value = schema.decode().map_err(invalid)?;
        let Met { chain, judgements } = survey::survey(&schema)?;
        let (validator, price) = fit(&schema, &sizes(&schema))?;
        Ok(Self(trivial(&schema).unwrap_or_else(|| Compiled::Schema {
            validator: Box::new(validator),
            max_depth: (MAX_FRAMES / chain.max(1)).min(MAX_DEPTH),
            prices: Prices::new(judgements, names(&schema, judgements), price),
        })))
    }

    /// Whether every object matches, so that there is no need to look at one.
    pub const fn takes_every_object(&self) -> bool {
        matches!(self.0, Compiled::Anything | Compiled::AnyObject)
    }

    /// Judges a JSON text. Schemas that accept every object, or everything, cost nothing.
    ///
    /// A member that is there twice has to be right both times.
    ///
    /// # Errors
    /// All that is wrong with the text, or that it is too large or too deep to be judged.
    pub fn validate(&self, text: &str) -> Result<(), Faults> {
        let (validator, max_depth, prices) = match &self.0 {
            Compiled::Anything => return Ok(()),
            Compiled::AnyObject if text.trim_ascii_start().starts_with('{') => return Ok(()),
            Compiled::AnyObject => return Err(Faults::whole("must be an object")),
            Compiled::Schema { validator, max_depth, prices } => (validator, *max_depth, *prices),
        };
        if text.len() > MAX_INSTANCE_BYTES {
            return Err(Faults::whole(format!("must have at most {MAX_INSTANCE_BYTES} bytes")));
        }
        let tape = Tape::parse(text).map_err(|error| {
            Faults::whole(match error {
                TapeError::Syntax => "must be JSON".to_owned(),
                TapeError::TooDeep => format!("must not nest deeper than {max_depth}"),
                TapeError::TooMany => format!("must have at most {MAX_VALUES} values"),
            })
        })?;
        if max_depth < MAX_DEPTH && tape.depth() > max_depth {
            return Err(Faults::whole(format!("must not nest deeper than {max_depth}")));
        }
        let instance = Instance::new(&tape, prices, MAX_STEPS);
        let valid = validator.is_valid(instance.root());
        if instance.is_spent() {
            return Err(Faults::whole("is too much work to check: make it smaller or flatter"));
        }
        if valid { Ok(()) } else { Err(explain(validator, &tape, prices)) }
    }
}

/// Compiles a schema within the first of `sizes` that its regular expressions fit in, and gives what stands with that.
fn fit(
    schema: &Value,
    sizes: &[(usize, usize)],
) -> Result<(jsonschema::Validator<TapeJson>, usize), SchemaFault> {
    let mut sizes = sizes.iter().peekable();
    loop {
        let (size, price) = sizes.next().copied().unwrap_or_default();
        let built = jsonschema::options_for::<TapeJson>()
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(size))
            .build(schema)
            .map_err(|error| SchemaFault::new(&error));
        match built {
            Err(SchemaFault::Pattern { .. }) if sizes.peek().is_some() => {}
            built => return Ok((built?, price)),
        }
    }
}

/// How many regular expressions there may be in a schema, counted generously: whatever looks like one is one.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(keyword, value)| {
                let here = match (keyword.as_str(), value) {
                    ("pattern", Value::String(_)) => 1,
                    ("patternProperties", Value::Object(named)) => named.len(),
                    _ => 0,
                };
                here + patterns(value)
            })
            .sum(),
        _ => 0,
    }
}

/// How often the name of a member is judged as a text, at the most, where a value is judged so often.
fn names(schema: &Value, judgements: usize) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(|item| names(item, judgements)).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(keyword, value)| {
                let here = match (keyword.as_str(), value) {
                    ("patternProperties", Value::Object(named)) => named.len(),
                    ("propertyNames", _) => judgements,
                    _ => 0,
                };
                here + names(value, judgements)
            })
            .sum(),
        _ => 0,
    }
}

/// All faults; if listing them is too much work, the first; and if even that is, none.
#[cold]
fn explain(validator: &jsonschema::Validator<TapeJson>, tape: &Tape<'_>, prices: Prices) -> Faults {
    let instance = Instance::new(tape, prices, MAX_STEPS_TO_EXPLAIN);
    let all =
        Faults::collect(validator.iter_errors(instance.root())).filter(|_| !instance.is_spent());
    all.or_else(|| {
        let instance = Instance::new(tape, prices, MAX_STEPS_TO_EXPLAIN);
        let first = validator.validate(instance.root()).err();
        Faults::collect(first.into_iter()).filter(|_| !instance.is_spent())
    })
    .unwrap_or_else(|| Faults::whole("does not match the schema, and is too large to say where"))
}

/// What accepts everything, or every object, when all it has are annotations.
fn trivial(schema: &Value) -> Option<Compiled> {
    let members = match schema {
        Value::Bool(true) => return Some(Compiled::Anything),
        Value::Object(members) => members,
        _ => return None,
    };
    let says_nothing = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "$schema" | "$id" | "$comment" | "$defs" | "definitions" | "title" | "description"
        | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" => true,
        "properties" | "patternProperties" => value.as_object().is_some_and(Map::is_empty),
        "additionalProperties" | "unevaluatedProperties" => *value == Value::Bool(true),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "type" => value == "object",
        _ => keyword.starts_with("x-"),
    };
    let trivial = members.iter().all(says_nothing);
    trivial.then(|| {
        if members.contains_key("type") { Compiled::AnyObject } else { Compiled::Anything }
    })
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What jsonschema compiles a schema to is pages long.
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

/// Why a schema cannot be used. The text goes on behind "the schema ...".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It has more than [`MAX_SCHEMA_BYTES`].
    #[error("is larger than {MAX_SCHEMA_BYTES} bytes")]
    TooLarge,
    /// It nests deeper than [`MAX_SCHEMA_DEPTH`].
    #[error("nests deeper than {MAX_SCHEMA_DEPTH}")]
    TooDeep,
    /// It has more than [`MAX_SUBSCHEMAS`].
    #[error("has more than {MAX_SUBSCHEMAS} subschemas")]
    TooManySubschemas,
    /// More than [`MAX_CHAIN`] subschemas judge one value, or one refers to itself without going inside the
    /// value.
    #[error("refers to itself for the same value, or for more than {MAX_CHAIN} steps, at {path:?}")]
    LongChain {
        /// JSON pointer to a subschema on the way.
        path: String,
    },
    /// Subschemas judge one value more than [`MAX_JUDGEMENTS`] times.
    #[error("judges one value more than {MAX_JUDGEMENTS} times at {path:?}")]
    TooManyJudgements {
        /// JSON pointer to a subschema that does.
        path: String,
    },
    /// `$schema` names a dialect that is not supported.
    #[error("is written in the dialect {0:?}, but only {SUPPORTED} are supported")]
    Dialect(String),
    /// A reference leads out of the schema.
    #[error(
        "refers to {reference:?} at {path:?}, but only references inside the schema (#...) are followed"
    )]
    ForeignReference {
        /// JSON pointer to the reference.
        path: String,
        /// Where it leads, cut if it is long.
        reference: String,
    },
    /// A reference leads nowhere.
    #[error("refers to {reference:?} at {path:?}, where nothing is")]
    UnresolvedReference {
        /// JSON pointer to the subschema that has the reference.
        path: String,
        /// Where it leads, cut if it is long.
        reference: String,
    },
    /// A regular expression cannot be used.
    #[error(
        "has the pattern {pattern:?} at {path:?}, which is no regular expression that can be matched in linear \
         time: look-around and back-references are not supported, nor is what compiles to more than \
         {MAX_PATTERN_BYTES} bytes, or less in the schema of a peer"
    )]
    Pattern {
        /// JSON pointer to the pattern.
        path: String,
        /// The pattern, cut if it is long.
        pattern: String,
    },
    /// It breaks a rule of its dialect.
    #[error("is not valid at {path:?}: {message}")]
    Invalid {
        /// JSON pointer to what is wrong.
        path: String,
        /// What is wrong with it.
        message: String,
    },
}

const SUPPORTED: &str = "2020-12, 2019-09, draft-07, draft-06 and draft-04";

/// The supported dialects, without scheme and empty fragment, which authors spell as they like.
const DIALECTS: [&str; 5] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
];

/// Steps of the validator's recursion that fit into half of the two MiB that a thread of tokio has, with
/// the large frames of a build without optimisation. A chain of subschemas takes as many for each level of
/// the instance.
const MAX_FRAMES: usize = 640;

/// Bytes of a compiled regular expression that a byte of text is matched against in the time of one other step, in the
/// worst case: by the budget that is some seconds, and in all other cases far less.
const PATTERN_BYTES_PER_STEP: usize = 16 * 1024;

/// Looks at a value in one validation: a hundred thousand values under a dozen keywords. Some ten
/// milliseconds.
const MAX_STEPS: u32 = 2_000_000;

/// The same while faults are listed, where a step may leave half a KiB behind: at most some 25 MiB for the
/// moment.
const MAX_STEPS_TO_EXPLAIN: u32 = 50_000;

impl SchemaFault {
    fn new(error: &jsonschema::ValidationError<'_>) -> Self {
        let path = fault::path(error);
        match (error.kind(), error.instance().as_str()) {
            (ValidationErrorKind::Format { format }, Some(pattern)) if format == "regex" => {
                Self::Pattern { path, pattern: excerpt::excerpt(pattern) }
            }
            // The validator's own words, since it is no peer: references and vocabularies.
            (ValidationErrorKind::Referencing(_) | ValidationErrorKind::Custom { .. }, _) => {
                Self::Invalid { path, message: error.to_string() }
            }
            _ => Self::Invalid { path, message: fault::describe(error) },
        }
    }
}
