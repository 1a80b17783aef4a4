//! Asking the client, in the middle of a handler.
//!
//! A handler that takes an [`Ask`] can put questions to the user, sample the client's model, or look at its roots,
//! and reads as if it simply waited for the answers:
//!
//! ```
//! use mcp_server::{Ask, Elicited, Tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Name { name: String }
//!
//! async fn greet(ask: Ask) -> String {
//!     match ask.form::<Name>("name", "What is your name?").await {
//!         Elicited::Accept(Name { name }) => format!("Hello, {name}!"),
//!         Elicited::Decline | Elicited::Cancel => "Hello, whoever you are!".to_owned(),
//!     }
//! }
//! # Tool::new("greet", greet);
//! ```
//!
//! On the wire there is no waiting. When the handler waits for answers that are not there yet, its future is dropped and
//! the request ends with `input_required`; the client calls again with the answers, the handler runs again from
//! its beginning, and the same asks are ready at once. So:
//!
//! - Code before an ask runs in every round. Keep what must happen once in [`Ask::remember`], and even that happens
//!   at least once: give payments an idempotency key.
//! - Several asks are joined in one round with `join!`. Other work joined with an ask is dropped and repeated.
//! - An answer belongs to its key, its kind and its question. Asks may come in another order; a changed question is
//!   asked again; one key for two questions is an error.
//! - Nothing is kept on the server. Earlier answers and remembered values travel in a sealed `requestState`
//!   that opens only for the same caller, method, target and arguments, within the hour. Where there is more than one
//!   instance, or a restart must not matter, give all of them the same
//!   [keys](crate::ServerBuilder::state_keys).
//! - A state can be used more than once within that hour, by whoever sends the same request again. Where nothing may
//!   be redeemed twice, have the server [remember](crate::ServerBuilder::single_use_states) which were used.
//! - A round may also end without a question, with [`Ask::come_back`]: the client takes along what is known, and brings
//!   it to whichever instance serves it next.
//! - Answers that do not fit are asked for again, up to [`MAX_ROUNDS`] rounds.
//! - A client that did not declare what an ask needs is answered with -32021.
//!
//! Specification: Multi Round-Trip Requests.

mod asks;
mod form;
mod seal;
mod spent;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use mcp_types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams, ElicitParams,
    ElicitResult, ElicitUrlParams, ElicitationSchema, InputRequest, JsonMap, ListRootsParams,
    ListRootsResult, RawJson, Root,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use asks::MAX_ROUNDS;
pub(crate) use asks::{Asks, Request};
pub use form::{InvalidForm, assert_form};
pub(crate) use seal::Sealer;
pub use seal::{InvalidKey, Key, KeyRing};
pub(crate) use spent::claim;
pub use spent::{Claiming, LocalSpentStates, SpentStates, StateId};

use crate::context::Context;
use crate::handler::{FromContext, HandlerError, Needs};

/// Asks the client. Take it as an argument of a handler of a tool, a prompt or a resource; see [the
/// module](self) for how it works.
///
/// The futures are to be awaited in the handler itself, not in a task of their own, which the end of a round would not
/// reach: that is a fault of the handler, and ends the request with -32603.
#[derive(Clone, Debug)]
pub struct Ask(Context);

/// What came of a question to the user. To decline and to cancel are answers as good as any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the specification has these three")]
pub enum Elicited<T> {
    /// The user agreed, and gave this.
    Accept(T),
    /// The user said no.
    Decline,
    /// The user went away without saying.
    Cancel,
}

impl<T> Elicited<T> {
    /// What the user gave, if they agreed.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accept(given) => Some(given),
            Self::Decline | Self::Cancel => None,
        }
    }
}

impl Ask {
    /// Asks the user to fill in a form with the fields of `T`.
    ///
    /// `T` is a flat struct of strings, numbers, booleans, enums without data, and lists of such enums; what is an
    /// `Option` need not be filled in, and a struct without fields asks for consent alone. [`assert_form`] tells in
    /// a test whether it is one; here a `T` that is none ends the request with -32603, unless the tool
    /// [said](crate::Tool::asks) that it asks for it: then the server is not built.
    pub fn form<T>(&self, key: &str, message: impl Into<String>) -> Asking<Elicited<T>>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let question = form::schema::<T>().map(|schema| {
            InputRequest::Elicit(ElicitParams::Form(ElicitFormParams {
                message: message.into(),
                requested_schema: schema,
            }))
        });
        self.ask(key, question, |question, response| elicited(form_of(question), response))
    }

    /// Asks the user to fill in a form that is described by hand, and gives what was filled in as JSON.
    pub fn form_of(
        &self,
        key: &str,
        message: impl Into<String>,
        schema: ElicitationSchema,
    ) -> Asking<Elicited<RawJson>> {
        let params = ElicitFormParams { message: message.into(), requested_schema: schema };
        let question = InputRequest::Elicit(ElicitParams::Form(params));
        self.ask(key, Ok(question), |question, response| elicited(form_of(question), response))
    }

    /// Sends the user to a web page, for what must not pass through the client. That the user agreed does not mean that
    /// they have finished there: to look again, use [`again`](Self::again).
    pub fn url(
        &self,
        key: &str,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Asking<Elicited<()>> {
        let params = ElicitUrlParams { message: message.into(), url: url.into() };
        let question = InputRequest::Elicit(ElicitParams::Url(params));
        self.ask(key, Ok(question), |_, response| {
            let result: ElicitResult = response.decode().ok()?;
            Some(match result.action {
                ElicitAction::Accept => Elicited::Accept(()),
                ElicitAction::Decline => Elicited::Decline,
                ElicitAction::Cancel => Elicited::Cancel,
            })
        })
    }

    /// Has the client's model write a message. The specification deprecates sampling as of 2026-07-28.
    pub fn sample(&self, key: &str, params: CreateMessageParams) -> Asking<CreateMessageResult> {
        let question = InputRequest::CreateMessage(Box::new(params));
        self.ask(key, Ok(question), |_, response| response.decode().ok())
    }

    /// The directories that the client works in. The specification deprecates roots as of 2026-07-28.
    pub fn roots(&self, key: &str) -> Asking<Vec<Root>> {
        let question = InputRequest::ListRoots(ListRootsParams::default());
        self.ask(key, Ok(question), |_, response| {
            response.decode::<ListRootsResult>().ok().map(|result| result.roots)
        })
    }

    /// Keeps what `future` gives for the rounds to come, in which it is not run again. It is run at least once, and
    /// again if the request does not come back. A `Result` is kept as it is, be it an error: what is to be tried
    /// again in the next round should not be kept.
    ///
    /// The value travels through the client, sealed, as JSON that a `T` can be read from again; one that cannot ends the
    /// request with -32603. All that is kept must fit into 64 KiB.
    pub async fn remember<T, F>(&self, key: &str, future: F) -> T
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        if let Some(value) = self.0.asks().and_then(|asks| asks.remembered(key)) {
            return value;
        }
        let value = future.await;
        if let Some(asks) = self.0.asks() {
            asks.remember(key, &value);
        }
        value
    }

    /// Forgets the answer to `key`, so that the next ask of that key is put to the client again. It has to be the same
    /// question; another one needs a key of its own.
    pub fn again(&self, key: &str) {
        if let Some(asks) = self.0.asks() {
            asks.forget(key);
        }
    }

    /// Ends the round without a question: the client is to send the request again, and what was answered and
    /// remembered goes with it. It may arrive at another instance, where there is less to do. In the rounds to come this
    /// is ready at once, until [`again`](Self::again) forgets it.
    ///
    /// A client may come back at once and need not come back at all.
    pub fn come_back(&self, key: &str) -> ComingBack {
        ComingBack(self.wait(key))
    }

    fn ask<T>(
        &self,
        key: &str,
        question: Result<InputRequest, InvalidForm>,
        read: Read<T>,
    ) -> Asking<T> {
        Asking { wait: self.wait(key), question, read }
    }

    fn wait(&self, key: &str) -> Wait {
        Wait { context: self.0.clone(), key: key.to_owned(), waits: false }
    }
}

/// An answer that may be there already. Await it in the handler.
#[derive(Debug)]
#[must_use = "nothing is asked until it is awaited"]
pub struct Asking<T> {
    wait: Wait,
    question: Result<InputRequest, InvalidForm>,
    read: Read<T>,
}

/// Takes the answer out of a response, or finds that it does not fit the question.
type Read<T> = fn(&InputRequest, &RawJson) -> Option<T>;

impl<T> Future for Asking<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<T> {
        let Self { wait, question, read } = self.get_mut();
        match question {
            Ok(question) => {
                let answer = wait.asks().and_then(|asks| asks.answer(&wait.key, question, *read));
                wait.until(answer, Some(question))
            }
            Err(error) => {
                if let Some(asks) = wait.asks() {
                    asks.fail(&wait.key, error);
                }
                Poll::Pending
            }
        }
    }
}

/// A client that may have come back already. Await it in the handler.
#[derive(Debug)]
#[must_use = "nobody is sent away until it is awaited"]
pub struct ComingBack(Wait);

impl Future for ComingBack {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<()> {
        let wait = &mut self.get_mut().0;
        let back = wait.asks().is_some_and(|asks| asks.came_back(&wait.key));
        wait.until(back.then_some(()), None)
    }
}

/// A future that waits for the client. It ends the round only while it lives: what lost a race is not asked.
#[derive(Debug)]
struct Wait {
    context: Context,
    key: String,
    waits: bool,
}

impl Wait {
    fn asks(&self) -> Option<&Asks> {
        self.context.asks()
    }

    /// Nobody has to be woken: whoever polls the handler looks whether it waits for the client.
    fn until<T>(&mut self, answer: Option<T>, question: Option<&InputRequest>) -> Poll<T> {
        if let Some(answer) = answer {
            return Poll::Ready(answer);
        }
        if !std::mem::replace(&mut self.waits, true)
            && let Some(asks) = self.asks()
        {
            asks.wait(&self.key, question);
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if self.waits
            && let Some(asks) = self.asks()
        {
            asks.give_up(&self.key);
        }
    }
}

impl FromContext for Ask {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        // Building the server looked at what it needs; a handler that hides it would wait for ever.
        if context.asks().is_none() {
            tracing::error!(target = context.target(), "asks, and did not say so: `Ask::needs`");
            return Err(HandlerError::generic());
        }
        Ok(Self(context.clone()))
    }

    fn needs(needs: &mut Needs) {
        needs.asks = true;
    }
}

/// What a client reads of a state that is not honoured, whatever the reason.
pub(crate) const REFUSED: &str = "the request state is not one of this request, or expired";

fn form_of(question: &InputRequest) -> Option<&ElicitationSchema> {
    match question {
        InputRequest::Elicit(ElicitParams::Form(params)) => Some(&params.requested_schema),
        _ => None,
    }
}

/// Reads the response to a form: what is accepted has to fit its schema.
fn elicited<T: DeserializeOwned>(
    schema: Option<&ElicitationSchema>,
    response: &RawJson,
) -> Option<Elicited<T>> {
    let result: ElicitResult = response.decode().ok()?;
    match result.action {
        ElicitAction::Decline => Some(Elicited::Decline),
        ElicitAction::Cancel => Some(Elicited::Cancel),
        ElicitAction::Accept => {
            let content: JsonMap = result.decode().ok()?;
            let schema = schema?;
            let mut content = schema.complete(content).ok()?;
            form::write_integers(schema, &mut content);
            RawJson::from(&content).decode().ok().map(Elicited::Accept)
        }
    }
}
