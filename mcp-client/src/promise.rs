//! `Promise`: what a tool says of its structured results. Specification: Tools, Output Schema.

use std::sync::Arc;

use mcp_types::{CallToolResult, Tool};

use crate::error::Error;

#[cfg(feature = "validation")]
pub(crate) use checked::Promise;

/// Nothing is promised where nothing is checked.
#[cfg(not(feature = "validation"))]
#[derive(Debug)]
pub(crate) enum Promise {}

#[cfg(not(feature = "validation"))]
impl Promise {
    pub(crate) const fn of(_tool: &Tool) -> Option<Arc<Self>> {
        None
    }

    pub(crate) const fn is_of(&self, _tool: &Tool) -> bool {
        match *self {}
    }

    pub(crate) const fn bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) const fn check(&self, _result: &CallToolResult) -> Result<(), Error> {
        match *self {}
    }
}

#[cfg(feature = "validation")]
mod checked {
    use std::fmt;
    use std::sync::OnceLock;

    use mcp_transport::schema::{Faults, SchemaFault, Validator};
    use mcp_types::RawJson;

    use super::{Arc, CallToolResult, Error, Tool};
    use crate::error::{Fault, excerpt};

    /// The output schema of a tool, compiled when the tool is called first: lists have many that never are.
    pub(crate) struct Promise {
        tool: Box<str>,
        schema: RawJson,
        validator: OnceLock<Result<Validator, Unusable>>,
    }

    /// What a schema is that cannot be compiled.
    enum Unusable {
        /// Nobody here can say what it asks for. Specification: JSON Schema Usage, Implementation Requirements and
        /// `$ref` Resolution, which have it told as an error.
        Unreadable(SchemaFault),
        /// More than is worth it, or broken: results pass unchecked.
        Passed,
    }

    impl Promise {
        /// `None` when the tool promises nothing.
        pub(crate) fn of(tool: &Tool) -> Option<Arc<Self>> {
            let schema = tool.output_schema.clone()?;
            let tool = tool.name.as_str().into();
            Some(Arc::new(Self { tool, schema, validator: OnceLock::new() }))
        }

        /// Whether the tool promises just this.
        pub(crate) fn is_of(&self, tool: &Tool) -> bool {
            tool.output_schema.as_ref().is_some_and(|schema| schema.get() == self.schema.get())
        }

        /// The size of its schema.
        pub(crate) fn bytes(&self) -> usize {
            self.schema.get().len()
        }

        /// Whether a result keeps it. One that says that the tool failed need not.
        pub(crate) fn check(&self, result: &CallToolResult) -> Result<(), Error> {
            if result.is_error() {
                return Ok(());
            }
            let validator = match self.validator.get_or_init(|| self.compile()) {
                Ok(validator) => validator,
                Err(Unusable::Passed) => return Ok(()),
                Err(Unusable::Unreadable(fault)) => {
                    return Err(Error::protocol(Fault::UnreadableSchema).caused_by(fault.clone()));
                }
            };
            let checked = match &result.structured_content {
                Some(content) => validator.validate(content.get()),
                None => Err(Faults::whole("there is no structured content")),
            };
            checked.map_err(|faults| Error::protocol(Fault::BreaksSchema).caused_by(faults))
        }

        fn compile(&self) -> Result<Validator, Unusable> {
            Validator::compile_foreign(&self.schema).map_err(|fault| match fault {
                SchemaFault::Dialect(_) | SchemaFault::ForeignReference { .. } => {
                    Unusable::Unreadable(fault)
                }
                _ => {
                    let tool = excerpt(self.tool.as_bytes());
                    let why = excerpt(format!("the schema {fault}").as_bytes());
                    tracing::warn!(tool, why, "the results of a tool are not checked");
                    Unusable::Passed
                }
            })
        }
    }

    impl fmt::Debug for Promise {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Promise").field("tool", &self.tool).finish_non_exhaustive()
        }
    }
}
