//! A tool's handler between its schemas: arguments that do not match never reach it, and results that do not
//! match never leave.

use std::sync::Arc;

use mcp_transport::schema::{Faults, Validator};
use mcp_types::{CallToolResult, ErrorObject, Outcome, RawJson};

use crate::context::Context;
use crate::error::BuildError;
use crate::handler::{ErasedHandler, Handled, HandlerError, Input, Reply, Work};
use crate::tool::Tool;

struct Checked {
    handler: Arc<dyn ErasedHandler>,
    /// Where the schema says more than that the arguments are an object, which they are proved to be already.
    input: Option<Validator>,
    output: Option<Arc<Validator>>,
}

impl Tool {
    /// Compiles both schemas and puts the handler between them. A tool whose schemas say nothing stays as it
    /// is and pays nothing.
    pub(crate) fn checked(mut self) -> Result<Self, BuildError> {
        if self.unchecked {
            return Ok(self);
        }
        let compile = |which, schema: &RawJson| {
            Validator::compile(schema).map_err(|fault| BuildError::Schema {
                tool: self.definition.name.clone(),
                which,
                why: fault.to_string(),
            })
        };
        let input = compile("input", &self.definition.input_schema)?;
        let input = (!input.takes_every_object()).then_some(input);
        let output = self.definition.output_schema.as_ref();
        let output = output.map(|schema| compile("output", schema)).transpose()?.map(Arc::new);
        if input.is_some() || output.is_some() {
            self.handler = Arc::new(Checked { handler: self.handler, input, output });
        }
        Ok(self)
    }
}

impl ErasedHandler for Checked {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError> {
        if let (Some(validator), Input::Json(arguments)) = (&self.input, input) {
            validator.validate(arguments).map_err(|faults| invalid(&faults))?;
        }
        let work = self.handler.start(context, input)?;
        let Some(output) = &self.output else { return Ok(work) };
        let (output, context) = (Arc::clone(output), context.clone());
        Ok(Box::pin(async move {
            let outcome = work.await?;
            if let Outcome::Complete(Handled::Tool(result)) = &outcome {
                conforms(result, &output).map_err(|faults| broken(&context, &faults))?;
            }
            Ok(outcome)
        }))
    }

    fn refuse(&self, error: HandlerError) -> Reply {
        self.handler.refuse(error)
    }
}

/// Whether a result is what its tool promises. One that says that the tool failed promises nothing.
/// Specification: Tools, Output Schema.
fn conforms(result: &CallToolResult, output: &Validator) -> Result<(), Faults> {
    match &result.structured_content {
        _ if result.is_error == Some(true) => Ok(()),
        Some(json) => output.validate(json.get()),
        None => Err(Faults::whole("there is no structured content")),
    }
}

#[cold]
fn invalid(faults: &Faults) -> HandlerError {
    HandlerError::input(format!("Invalid arguments:\n{faults}"))
}

/// The tool's own fault: the client can do nothing about it and learns no more than that.
#[cold]
fn broken(context: &Context, faults: &Faults) -> ErrorObject {
    let (tool, rules) = (context.target(), faults.rules());
    tracing::error!(tool, rules, "a result breaks the tool's output schema");
    tracing::trace!(%faults, "how it breaks it");
    ErrorObject::internal_error("The result does not match the output schema of the tool")
}
