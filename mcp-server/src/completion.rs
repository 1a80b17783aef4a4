//! Completion: suggestions for the arguments of prompts and the variables of resource templates.
//! Specification: Completion.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mcp_types::{CompleteResult, Completion, Outcome};

use crate::context::Context;
use crate::handler::{Handled, HandlerError, Work};
use crate::template::Variables;

/// What is being typed: the argument of a [completer](crate::Prompt::complete).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completing {
    /// What stands there so far.
    pub value: String,
    /// The arguments that are settled already, as far as the client told.
    pub arguments: Variables,
    /// The request.
    pub context: Context,
}

impl Completing {
    /// The value of type `T` that the server's handlers share, if it was
    /// [given](crate::ServerBuilder::state) one.
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.context.state()
    }
}

/// What a completer may return: texts, a [`Completion`] that tells how many more there are, or a `Result` of
/// one whose error becomes a [`HandlerError`].
///
/// Of more than 100 texts the first 100 are sent, and how many there are.
pub trait IntoCompletion {
    /// Turns it into suggestions.
    ///
    /// # Errors
    /// Why there are none.
    fn into_completion(self) -> Result<Completion, HandlerError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(Completion::of_all(self))
    }
}

impl<T: Into<String>, const N: usize> IntoCompletion for [T; N] {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(Completion::of_all(self))
    }
}

impl<T: IntoCompletion, E: Into<HandlerError>> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        self.map_err(Into::into)?.into_completion()
    }
}

/// The completers of one prompt or template, by the argument that they complete.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Arc<dyn Completer>>);

/// A completer behind a pointer.
pub(crate) trait Completer: Send + Sync {
    fn start(&self, completing: Completing) -> Work;
}

impl Completers {
    pub(crate) fn insert<F, Fut, R>(&mut self, argument: String, completer: F)
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoCompletion,
    {
        self.0.insert(argument, Arc::new(completer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, argument: &str) -> Option<&Arc<dyn Completer>> {
        self.0.get(argument)
    }

    /// The arguments that have one.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<F, Fut, R> Completer for F
where
    F: Fn(Completing) -> Fut + Send + Sync,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoCompletion,
{
    fn start(&self, completing: Completing) -> Work {
        let future = self(completing);
        Box::pin(async move {
            match future.await.into_completion() {
                Ok(completion) => Ok(completed(completion)),
                Err(error) => Err(error.into_error()),
            }
        })
    }
}

/// The outcome of a completion.
pub(crate) fn completed(mut completion: Completion) -> Outcome<Handled> {
    if completion.values.len() > Completion::MAX_VALUES {
        completion.values.truncate(Completion::MAX_VALUES);
        completion.has_more = Some(true);
    }
    let result = CompleteResult { completion, ..CompleteResult::default() };
    Outcome::Complete(Handled::Completion(result))
}
