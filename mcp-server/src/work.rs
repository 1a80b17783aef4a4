//! A handler at work: claimed, called through its layers, its panics caught, its reply encoded.

use std::any::Any;
use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use mcp_types::{Completion, ErrorObject, Outcome};
use tokio::sync::oneshot;
use tracing::Span;

use crate::completion::{Completer, Completing, completed};
use crate::context::{Context, Subject};
use crate::detached::{Unheard, run_to_completion};
use crate::handler::{ErasedHandler, Input, Reply, Work};
use crate::layer::{Call, CallFuture, CallOutcome, Next};
use crate::permit::{Permit, SharedPermit};
use crate::reply::Answer;
use crate::template::Variables;

/// What a handler is given besides the context of the call.
#[derive(Clone)]
pub(crate) enum Given<'b> {
    /// The JSON text of an object, the arguments of a tool.
    Json(Cow<'b, str>),
    /// The same, the parameters of a custom method.
    Params(Cow<'b, str>),
    /// The arguments of a prompt, or the variables of a resource template.
    Texts(Variables),
    /// What is being typed, to be completed.
    Typed { value: String, settled: Variables },
}

impl Given<'_> {
    pub(crate) fn into_owned(self) -> Given<'static> {
        match self {
            Self::Json(json) => Given::Json(json.into_owned().into()),
            Self::Params(json) => Given::Params(json.into_owned().into()),
            Self::Texts(texts) => Given::Texts(texts),
            Self::Typed { value, settled } => Given::Typed { value, settled },
        }
    }
}

/// What has to come true before a handler is called; otherwise what is answered in its place.
pub(crate) type Claim = Pin<Box<dyn Future<Output = Result<(), CallOutcome>> + Send>>;

/// A handler's work, which ends with an answer whatever the handler does.
pub(crate) struct Working {
    context: Context,
    /// Current while the handler is polled.
    span: Span,
    state: State,
}

enum State {
    /// The handler is not called yet; what it gets once that is allowed.
    Claiming(Claim, Option<Box<Later>>),
    Running(Work),
    /// The handler is behind layers.
    Layered(CallFuture),
    /// The handler runs in a task of its own, which sends what it comes to.
    Detached(oneshot::Receiver<Box<Unheard>>),
    /// The handler never began, or has just ended.
    Ended(Option<Box<CallOutcome>>),
}

/// What a handler is called with after a claim.
struct Later {
    given: Given<'static>,
    permit: Option<SharedPermit>,
}

impl Working {
    /// Lets the call go on to its handler, through the layers around it. A handler that may outlive the exchange
    /// shares its `permit`.
    pub(crate) fn begin(
        context: &Context,
        given: Given<'_>,
        span: &Span,
        permit: &mut Option<Permit>,
    ) -> Self {
        let tool = context.subject().tool();
        let outlives = tool.is_some_and(|tool| tool.to_completion);
        let permit = if outlives { Permit::share(permit) } else { None };
        let own = tool.and_then(|tool| tool.layers.as_ref());
        match context.shared().hooks.layers.as_ref().or(own) {
            None => Self::handle(context, given, span, permit),
            Some(layers) => {
                let call = Call::new(context.clone(), given, span.clone(), permit);
                Self::layered(layers, call, context, span)
            }
        }
    }

    /// The same without layers: at once, unless the request has to be [let in](Context::claim) first. That is not done
    /// before the layers, which may have the client come again.
    pub(crate) fn handle(
        context: &Context,
        given: Given<'_>,
        span: &Span,
        permit: Option<SharedPermit>,
    ) -> Self {
        let Some(claim) = context.claim() else { return Self::call(context, given, span, permit) };
        let later = Box::new(Later { given: given.into_owned(), permit });
        let state = State::Claiming(claim, Some(later));
        Self { context: context.clone(), span: span.clone(), state }
    }

    fn call(
        context: &Context,
        given: Given<'_>,
        span: &Span,
        permit: Option<SharedPermit>,
    ) -> Self {
        let work = Self::start(context, given, span);
        if !context.subject().tool().is_some_and(|tool| tool.to_completion) {
            return work;
        }
        let state = State::Detached(run_to_completion(context, work, permit));
        Self { context: context.clone(), span: span.clone(), state }
    }

    /// Decodes the arguments and calls the handler. Nothing of it runs yet but what it does before its future.
    fn start(context: &Context, given: Given<'_>, span: &Span) -> Self {
        // Not every caller polls, and a handler may do something before its future.
        let _entered = span.enter();
        let started = catch_unwind(AssertUnwindSafe(|| match context.subject() {
            Subject::Tool(tool) => started(&*tool.handler, context, &given),
            Subject::Prompt(prompt) => started(&*prompt.handler, context, &given),
            Subject::Resource(_, reader) => started(&*reader.handler, context, &given),
            Subject::Method(method) => started(&*method.handler, context, &given),
            Subject::Completion(completer, _) => complete(completer.as_deref(), context, given),
        }));
        let state = started.unwrap_or_else(|panic| State::replied(panicked(panic)));
        Self { context: context.clone(), span: span.clone(), state }
    }

    fn layered(layers: &Next, call: Call, context: &Context, span: &Span) -> Self {
        let started = catch_unwind(AssertUnwindSafe(|| layers.start(call)));
        let state = match started {
            Ok(work) => State::Layered(work),
            Err(panic) => State::replied(panicked(panic)),
        };
        Self { context: context.clone(), span: span.clone(), state }
    }

    /// Polls the handler, or the layers around it, until there is an outcome.
    pub(crate) fn poll_outcome(&mut self, cx: &mut TaskContext<'_>) -> Poll<CallOutcome> {
        if let Err(refused) = ready!(self.poll_claim(cx)) {
            return Poll::Ready(refused);
        }
        let Self { context, span, state } = self;
        let _entered = span.enter();
        let polled = match state {
            State::Running(work) => {
                context.begin_poll(cx.waker());
                let poll = || work.as_mut().poll(cx).map(CallOutcome::from);
                match catch_unwind(AssertUnwindSafe(poll)) {
                    // What waits for the client begins anew when the client comes back. Layers that wait do so for
                    // something else, whatever the handler inside has asked.
                    Ok(Poll::Pending) => match context.end_round() {
                        None => Ok(Poll::Pending),
                        Some(ended) => Ok(Poll::Ready(ended.map(Outcome::InputRequired).into())),
                    },
                    polled => polled,
                }
            }
            State::Layered(work) => {
                let poll = || work.as_mut().poll(cx).map(|outcome| fitting(outcome, context));
                catch_unwind(AssertUnwindSafe(poll))
            }
            State::Detached(receiver) => Ok(Pin::new(receiver).poll(cx).map(|received| {
                // The sender goes only when the runtime shuts down.
                received.map_or_else(|_| shut_down(), CallOutcome::from)
            })),
            State::Claiming(..) => return Poll::Pending,
            State::Ended(outcome) => {
                return outcome.take().map_or(Poll::Pending, |outcome| Poll::Ready(*outcome));
            }
        };
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => panicked(panic).into(),
        };
        state.discard();
        Poll::Ready(outcome)
    }

    /// Calls the handler once it may be called; until then there is nothing more to poll.
    fn poll_claim(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), CallOutcome>> {
        let State::Claiming(claim, later) = &mut self.state else { return Poll::Ready(Ok(())) };
        // It runs code of a user.
        let poll = || catch_unwind(AssertUnwindSafe(|| claim.as_mut().poll(cx)));
        let polled = self.span.in_scope(poll);
        let claimed = match polled {
            Ok(polled) => ready!(polled),
            Err(panic) => Err(panicked(panic).into()),
        };
        let later = later.take();
        self.state.discard();
        if claimed.is_ok()
            && let Some(later) = later
        {
            *self = Self::call(&self.context, later.given, &self.span, later.permit);
        }
        Poll::Ready(claimed)
    }

    /// Drops the handler, and says where it can be told how its request ended.
    pub(crate) fn stop(&mut self) -> &Span {
        let Self { span, state, .. } = self;
        span.in_scope(|| state.discard());
        span
    }
}

impl State {
    fn replied(reply: Reply) -> Self {
        Self::Ended(Some(Box::new(reply.into())))
    }

    /// Drops the handler's future, whose destructors may panic as well.
    fn discard(&mut self) {
        let state = std::mem::replace(self, Self::Ended(None));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(state))) {
            tracing::error!(panic = message(&*panic), "a handler panicked while it was dropped");
            dispose(panic);
        }
    }
}

impl Future for Working {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Answer> {
        self.poll_outcome(cx).map(|outcome| Answer::of(&self.context, outcome))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.stop();
    }
}

fn started(handler: &dyn ErasedHandler, context: &Context, given: &Given<'_>) -> State {
    let input = match given {
        Given::Json(json) => Input::Json(json),
        Given::Params(json) => Input::Params(json),
        Given::Texts(texts) | Given::Typed { settled: texts, .. } => Input::Texts(texts),
    };
    match handler.start(context, input) {
        Ok(work) => State::Running(work),
        Err(error) => State::replied(handler.refuse(error)),
    }
}

/// Starts a completer; without one there is nothing to suggest.
fn complete(completer: Option<&dyn Completer>, context: &Context, given: Given<'_>) -> State {
    match (completer, given) {
        (Some(completer), Given::Typed { value, settled }) => {
            let context = context.clone();
            State::Running(completer.start(Completing { value, arguments: settled, context }))
        }
        _ => State::replied(Ok(completed(Completion::default()))),
    }
}

fn fitting(outcome: Result<CallOutcome, Infallible>, context: &Context) -> CallOutcome {
    let Ok(outcome) = outcome;
    outcome.fitting(context)
}

#[cold]
fn shut_down() -> CallOutcome {
    ErrorObject::internal_error("The server is shutting down").into()
}

/// The answer to a call that took too long.
pub(crate) fn timed_out(context: &Context, limit: std::time::Duration) -> Answer {
    let seconds = limit.as_secs_f32();
    let error = ErrorObject::internal_error(format!("The call took longer than {seconds} s"));
    Answer::failed(context, error)
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> Reply {
    tracing::error!(panic = message(&*panic), "a handler or a layer panicked");
    dispose(panic);
    Err(ErrorObject::internal_error("Internal error"))
}

/// Drops what a panic was thrown with, which may panic in its turn.
pub(crate) fn dispose(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // Enough is enough.
        std::mem::forget(again);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(not a message)")
}
