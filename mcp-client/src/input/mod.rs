//! Answering a server that asks for input before it can finish. Specification: Multi Round-Trip Requests.

mod handlers;
mod rules;
mod setters;

use std::future::ready;

use mcp_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult,
    ElicitUrlParams, Root,
};

pub(crate) use handlers::Handlers;

use crate::error::BoxError;
use crate::future::BoxFuture;

/// Answers what servers ask a client for, as an alternative to functions given to the
/// [`ClientBuilder`](crate::ClientBuilder) one by one. Set it with
/// [`input_handler`](crate::ClientBuilder::input_handler).
///
/// Several may be asked at once, each by its own call of a method; the futures are polled where the call is
/// awaited, and dropped with it. An error ends the call.
///
/// ```
/// use mcp_client::types::{ClientCapabilities, ElicitAction, ElicitFormParams, ElicitResult};
/// use mcp_client::{BoxError, BoxFuture, Client, InputHandler};
///
/// /// Sends every form as it stands.
/// struct Defaults;
///
/// impl InputHandler for Defaults {
///     fn capabilities(&self) -> ClientCapabilities {
///         ClientCapabilities { elicitation: Some(Default::default()), ..Default::default() }
///     }
///
///     fn elicit(&self, form: ElicitFormParams) -> BoxFuture<'_, Result<ElicitResult, BoxError>> {
///         Box::pin(async move { Ok(form.accept(&form.requested_schema.defaults())?) })
///     }
/// }
///
/// # fn example() -> Result<(), mcp_client::Error> {
/// let client = Client::builder("http://127.0.0.1:8080/mcp").input_handler(Defaults).build()?;
/// # Ok(())
/// # }
/// ```
pub trait InputHandler: Send + Sync + 'static {
    /// What it can answer. Asked once; the client declares it in every request, and servers ask for nothing
    /// else. Each member needs its method below.
    fn capabilities(&self) -> ClientCapabilities;

    /// Shows a form to the user, for the capability `elicitation.form`. See
    /// [`on_elicit`](crate::ClientBuilder::on_elicit).
    ///
    /// # Errors
    /// Whatever ends the call. That the user refuses is no error but an answer.
    fn elicit(&self, form: ElicitFormParams) -> BoxFuture<'_, Result<ElicitResult, BoxError>> {
        let _ = form;
        unanswered()
    }

    /// Sends the user to a web page, for the capability `elicitation.url`. See
    /// [`on_elicit_url`](crate::ClientBuilder::on_elicit_url).
    ///
    /// # Errors
    /// As of [`elicit`](Self::elicit).
    fn elicit_url(&self, page: ElicitUrlParams) -> BoxFuture<'_, Result<ElicitResult, BoxError>> {
        let _ = page;
        unanswered()
    }

    /// Asks a model, for the capability `sampling`. Deprecated by this revision.
    ///
    /// # Errors
    /// Whatever ends the call.
    fn sample(
        &self,
        params: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, BoxError>> {
        let _ = params;
        unanswered()
    }

    /// Lists the roots, for the capability `roots`. Deprecated by this revision.
    ///
    /// # Errors
    /// Whatever ends the call.
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, BoxError>> {
        unanswered()
    }
}

fn unanswered<T: Send + 'static>() -> BoxFuture<'static, Result<T, BoxError>> {
    Box::pin(ready(Err("the handler declares what it has no method for".into())))
}

/// What an input function may give: the answer, or a `Result` of it.
pub trait IntoAnswer<T> {
    /// The answer.
    ///
    /// # Errors
    /// Whatever the function failed with.
    fn into_answer(self) -> Result<T, BoxError>;
}

impl<T> IntoAnswer<T> for T {
    fn into_answer(self) -> Result<T, BoxError> {
        Ok(self)
    }
}

impl<T, E: Into<BoxError>> IntoAnswer<T> for Result<T, E> {
    fn into_answer(self) -> Result<T, BoxError> {
        self.map_err(Into::into)
    }
}
