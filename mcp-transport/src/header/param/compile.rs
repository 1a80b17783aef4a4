//! From a tool's input schema to its plan.

use http::HeaderName;
use serde_json::{Map, Value};

use super::{Node, ParamHeaders, Target};
use crate::header::PARAM_PREFIX;
use crate::limits::{MAX_PARAM_HEADER_NAME, MAX_PARAM_HEADERS};
use crate::media::is_tchar;
use crate::quote;

impl ParamHeaders {
    /// Finds the `x-mcp-header` annotations of a tool's input schema and checks each.
    ///
    /// A schema without annotations is not checked at all. Values of `const`, `default`, `enum` and
    /// `examples` are data: what looks like an annotation there is none. Below every keyword but
    /// `properties`, known or not, an annotation is an error.
    ///
    /// # Errors
    /// When any annotation breaks a rule (specification: Streamable HTTP, Schema Extension): the
    /// tool definition is then invalid as a whole.
    pub fn compile(input_schema: &str) -> Result<Self, InvalidAnnotation> {
        // Most tools have none. Only \u can spell the keyword in another way.
        if !input_schema.contains(KEYWORD) && !input_schema.contains("\\u") {
            return Ok(Self::default());
        }
        let schema = serde_json::from_str(input_schema).map_err(InvalidAnnotation::NotJson)?;
        let Value::Object(schema) = schema else {
            return Ok(Self::default());
        };
        if schema.contains_key(KEYWORD) {
            return Err(InvalidAnnotation::Unreachable { keyword: KEYWORD.into() });
        }
        let mut compiler = Compiler::default();
        compiler.reachable(&schema).map(Self)
    }
}

/// Which rule an `x-mcp-header` annotation breaks. Properties are named by path, quoted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAnnotation {
    /// The schema is not JSON, or nests too deep.
    #[error("the input schema is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// The annotation is no string, empty, too long, or has characters that no header's name has.
    #[error("x-mcp-header of the property {property} is no header name")]
    Name {
        /// The annotated property.
        property: Box<str>,
    },
    /// Two annotations differ in nothing but capitals.
    #[error("x-mcp-header of the property {property} is used twice")]
    Repeated {
        /// The second property of that name.
        property: Box<str>,
    },
    /// The property's type is not exactly one of `string`, `integer` and `boolean`. A list of types
    /// is refused even if the other one is `null`: what may be absent needs no `null`, and other
    /// clients drop such tools.
    #[error("the property {property} has x-mcp-header but not type string, integer or boolean")]
    Type {
        /// The annotated property.
        property: Box<str>,
    },
    /// The annotation is at the root or below a keyword other than `properties`.
    #[error("x-mcp-header stands below {keyword}, where no chain of properties leads")]
    Unreachable {
        /// The keyword that breaks the chain; the annotation's own at the root.
        keyword: Box<str>,
    },
    /// There are more than [`MAX_PARAM_HEADERS`].
    #[error("more than {MAX_PARAM_HEADERS} parameters have x-mcp-header")]
    TooMany,
}

#[derive(Default)]
struct Compiler {
    path: Vec<String>,
    names: Vec<HeaderName>,
}

impl Compiler {
    /// The nodes below a schema to which a chain of `properties` leads.
    fn reachable(&mut self, schema: &Map<String, Value>) -> Result<Vec<Node>, InvalidAnnotation> {
        let mut nodes = Vec::new();
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                // The schema's own, read in `property`.
                (KEYWORD, _) => {}
                ("properties", Value::Object(properties)) => {
                    for (key, property) in properties {
                        nodes.extend(self.property(key, property)?);
                    }
                }
                (keyword, value) => unannotated(keyword, value)?,
            }
        }
        Ok(nodes)
    }

    fn property(&mut self, key: &str, schema: &Value) -> Result<Option<Node>, InvalidAnnotation> {
        let Value::Object(schema) = schema else {
            return Ok(None);
        };
        self.path.push(key.to_owned());
        let target =
            schema.get(KEYWORD).map(|name| self.target(name, schema.get("type"))).transpose()?;
        let children = self.reachable(schema)?;
        self.path.pop();
        let node = Node { key: key.into(), target, children };
        Ok((node.target.is_some() || !node.children.is_empty()).then_some(node))
    }

    fn target(&mut self, name: &Value, kind: Option<&Value>) -> Result<Target, InvalidAnnotation> {
        let path = self.path.join(".");
        let property = || quote(&path);
        let name = name.as_str().filter(|name| is_name(name));
        let name = name.ok_or_else(|| InvalidAnnotation::Name { property: property() })?;
        if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err(InvalidAnnotation::Type { property: property() });
        }
        let header = HeaderName::from_bytes(format!("{PARAM_PREFIX}{name}").as_bytes());
        let header = header.expect("a token behind a prefix of token characters is a token");
        if self.names.contains(&header) {
            return Err(InvalidAnnotation::Repeated { property: property() });
        }
        if self.names.len() == MAX_PARAM_HEADERS {
            return Err(InvalidAnnotation::TooMany);
        }
        self.names.push(header.clone());
        Ok(Target { header, spelling: format!("Mcp-Param-{name}").into(), path: property() })
    }
}

/// Checks that there is no annotation anywhere below a keyword that breaks the chain.
fn unannotated(keyword: &str, value: &Value) -> Result<(), InvalidAnnotation> {
    match (keyword, value) {
        // Data, or names of properties: nothing in there is a schema.
        ("const" | "default" | "enum" | "examples" | "required" | "dependentRequired", _) => Ok(()),
        // Here the keys are names that an author chose.
        (
            "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
            | "definitions",
            Value::Object(schemas),
        ) => schemas.values().try_for_each(|schema| no_annotation(keyword, schema)),
        _ => no_annotation(keyword, value),
    }
}

fn no_annotation(keyword: &str, value: &Value) -> Result<(), InvalidAnnotation> {
    match value {
        Value::Object(schema) if schema.contains_key(KEYWORD) => {
            Err(InvalidAnnotation::Unreachable { keyword: quote(keyword) })
        }
        Value::Object(schema) => {
            schema.iter().try_for_each(|(keyword, value)| unannotated(keyword, value))
        }
        Value::Array(schemas) => {
            schemas.iter().try_for_each(|schema| no_annotation(keyword, schema))
        }
        _ => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_PARAM_HEADER_NAME).contains(&name.len()) && name.bytes().all(is_tchar)
}

const KEYWORD: &str = "x-mcp-header";
