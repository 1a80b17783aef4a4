//! `Tool`: a handler and what clients are told about it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_types::{ClientCapabilities, Icon, RawJson, ToolAnnotations};
use serde::Serialize;

#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::handler::{ErasedHandler, ErasedTool, Needs, ToolHandler};
use crate::layer::Next;
use crate::state::States;

/// A tool: its handler, and the definition that clients list.
///
/// The handler's type gives the schemas; everything else is set here. Names and schemas are checked
/// when the server is built.
pub struct Tool {
    pub(crate) definition: mcp_types::Tool,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) needs: Needs,
    /// Shared values that come before those of the server.
    pub(crate) states: Option<Arc<States>>,
    pub(crate) required: ClientCapabilities,
    pub(crate) to_completion: bool,
    pub(crate) layers: Option<Next>,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
    #[cfg(feature = "validation")]
    pub(crate) unchecked: bool,
}

impl Tool {
    /// A tool of this name that calls `handler`; see [the handler module](crate::handler) for what that
    /// may be.
    ///
    /// Names should have 1 to 128 letters, digits, `_`, `-` and `.`; others are served with a warning,
    /// an empty one is an error when the server is built.
    pub fn new<M: 'static, H: ToolHandler<M>>(name: impl Into<String>, handler: H) -> Self {
        let signature = H::signature();
        let input = signature.input.unwrap_or_else(crate::schema::nothing);
        let definition = mcp_types::Tool {
            output_schema: signature.output.map(RawJson::from),
            ..mcp_types::Tool::new(name, input)
        };
        Self {
            definition,
            handler: Arc::new(ErasedTool(handler, PhantomData)),
            needs: signature.needs,
            states: None,
            required: ClientCapabilities::default(),
            to_completion: false,
            layers: None,
            #[cfg(feature = "auth")]
            scopes: Required::default(),
            #[cfg(feature = "validation")]
            unchecked: false,
        }
    }

    /// A name for people to read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it does, for the model to decide when to call it.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Adds an icon for user interfaces.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.get_or_insert_default().push(icon);
        self
    }

    /// Hints about how it behaves: whether it only reads, destroys, may be repeated.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// Sets a key of the definition's `_meta`. A key that breaks the naming rules is left out, with a
    /// warning.
    #[must_use]
    pub fn meta<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        if let Err(error) = self.definition.meta.insert(key, value) {
            tracing::warn!(tool = self.definition.name, key, %error, "not a _meta key");
        }
        self
    }

    /// Replaces the input schema that the handler's type gave. It is passed on as it is, and with the
    /// feature `validation` arguments have to match it; its root must be an object with `"type": "object"`.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<RawJson>) -> Self {
        self.definition.input_schema = schema.into();
        self
    }

    /// Replaces the output schema that the handler's type gave. It is passed on as it is, and with the
    /// feature `validation` every result that is no error has to match it.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<RawJson>) -> Self {
        self.definition.output_schema = Some(schema.into());
        self
    }

    /// Requires that the client declares these capabilities. A call by one that does not is answered
    /// with -32021 before the handler is called.
    #[must_use]
    pub fn requires(mut self, capabilities: ClientCapabilities) -> Self {
        self.required = capabilities;
        self
    }

    /// Says that the handler asks the user for a `T` by [`Ask::form`](crate::Ask::form), so that a `T` which no form
    /// can have is an error when the server is built, not when somebody is to be asked.
    #[cfg(feature = "asking")]
    #[must_use]
    pub fn asks<T: schemars::JsonSchema>(mut self) -> Self {
        self.needs.form::<T>();
        self
    }

    /// Lets the handler run to its end even when the client leaves or the call takes too long: for
    /// payments and the like. It runs in a task of its own; a result that nobody waits for any more goes to
    /// [`ServerBuilder::on_abandoned`](crate::ServerBuilder::on_abandoned).
    #[must_use]
    pub const fn run_to_completion(mut self) -> Self {
        self.to_completion = true;
        self
    }

    /// Passes the schemas on without compiling them or checking anything against them: for a gateway, whose
    /// tools are checked by the server behind it and may have schemas that this one refuses.
    ///
    /// The handler then has to check its arguments and the structure of its results itself, as the
    /// specification demands it (Tools, Security Considerations).
    #[cfg(feature = "validation")]
    #[must_use]
    pub const fn danger_skip_validation(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// What clients list.
    pub const fn definition(&self) -> &mcp_types::Tool {
        &self.definition
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}
