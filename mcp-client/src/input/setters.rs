//! How a client is told who answers what.

use mcp_types::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams, Root,
};

use super::{InputHandler, IntoAnswer};
use crate::builder::ClientBuilder;

/// Who answers what servers ask for.
impl ClientBuilder {
    /// Answers a server that asks the user by a form, and declares that the client can. Default is not to.
    /// Specification: Elicitation, Form Mode.
    ///
    /// `handler` shows the form, together with which server asks, and gives what the user did: an
    /// [`accept`](ElicitFormParams::accept) of what was filled in, or that the user declined or turned away. What
    /// was accepted is completed from the defaults and checked before it is sent, as
    /// [`ElicitationSchema::complete`](mcp_types::ElicitationSchema::complete) does; an answer that does not
    /// follow the form ends the call, like any error.
    ///
    /// It is called where the call is awaited, several times at once if the server asks several things. While it
    /// waits, the call's timeout stands still; the total timeout goes on.
    ///
    /// ```
    /// use mcp_client::Client;
    /// use mcp_client::types::{ElicitAction, ElicitResult};
    ///
    /// # fn ask(_: &str) -> Option<String> { None }
    /// # fn example() -> Result<(), mcp_client::Error> {
    /// let client = Client::builder("http://127.0.0.1:8080/mcp")
    ///     .on_elicit(async |form| match ask(&form.message) {
    ///         Some(name) => form.accept(&serde_json::json!({ "name": name })),
    ///         None => Ok(ElicitResult::of(ElicitAction::Decline)),
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_elicit<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ElicitResult>> + Send + 'static,
    {
        self.handlers.on_form(handler);
        self
    }

    /// Answers a server that sends the user to a web page, and declares that the client can. Default is not to.
    /// Specification: Elicitation, URL Mode.
    ///
    /// `handler` shows the whole address and opens it only if the user agrees. Accepting means that the user
    /// went there, not that all is done there.
    pub fn on_elicit_url<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitUrlParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ElicitResult>> + Send + 'static,
    {
        self.handlers.on_url(handler);
        self
    }

    /// Answers a server that asks a model, and declares that the client can. Default is not to. For servers
    /// that let the model use tools, declare `sampling.tools` as [`capabilities`](Self::capabilities) as
    /// well. Messages that are no conversation, such as a use of a tool without its result, end the call before `handler`
    /// sees them. Specification: Sampling, which this revision deprecates.
    pub fn on_sample<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<CreateMessageResult>> + Send + 'static,
    {
        self.handlers.on_sample(handler);
        self
    }

    /// Answers a server that asks where it may work, and declares that the client can. Default is not to. A root that is no
    /// `file://` URI, or whose path has `.` or `..` in it, in whatever way they are written, ends the call.
    /// Specification: Roots, which this revision deprecates.
    pub fn on_roots<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Vec<Root>>> + Send + 'static,
    {
        self.handlers.on_roots(handler);
        self
    }

    /// Answers whatever `handler` declares, in place of functions set for it before.
    pub fn input_handler(mut self, handler: impl InputHandler) -> Self {
        let declared = handler.capabilities();
        self.handlers.take(handler, &declared);
        self.handlers.declare(&mut self.capabilities);
        if let Some(tools) = declared.sampling.and_then(|sampling| sampling.tools) {
            self.capabilities.sampling.get_or_insert_default().tools = Some(tools);
        }
        self
    }
}
