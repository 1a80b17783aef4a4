//! `Respond`: the future of a response, which polls the handler itself until something has to be sent.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use http::{Response, StatusCode};
use mcp_transport::media::Accepts;
use tokio::time::{Instant, Sleep};

use super::outbox::Closed;
use super::{Answer, Body, Event, Framing, Held, ResponseMode, SSE_SILENCE};
use crate::context::Context;
use crate::dispatch::Begun;
use crate::rejection::Rejection;
use crate::span;
use crate::work::{Working, timed_out};

/// How one exchange is to be replied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// As far as the client goes along.
    pub(crate) mode: ResponseMode,
    /// Zero is never.
    pub(crate) keep_alive: Duration,
    pub(crate) call_time: Duration,
    /// Whether the message came over HTTP, so that its headers are checked.
    pub(crate) http: bool,
    /// Whether the client takes a stream, where the mode has no say.
    pub(crate) sse: bool,
}

impl Plan {
    pub(crate) fn limited_to(self, accepts: Accepts) -> Self {
        Self { mode: self.mode.limited_to(accepts), sse: accepts.sse, ..self }
    }

    /// Whether events may be sent before the answer.
    pub(crate) fn streams(&self) -> bool {
        self.mode != ResponseMode::Json
    }

    /// The reply of an answer that was there at once.
    pub(crate) fn reply(&self, answer: Answer) -> Response<Body> {
        match self.mode {
            ResponseMode::Sse if answer.status == StatusCode::OK => stream([], answer),
            _ => answer.into_json(),
        }
    }

    /// How long nothing has to happen for a stream to be opened.
    fn silence(&self) -> Option<Duration> {
        match self.mode {
            ResponseMode::Json => None,
            ResponseMode::Sse => Some(SSE_SILENCE),
            ResponseMode::Auto => (!self.keep_alive.is_zero()).then_some(self.keep_alive),
        }
    }
}

/// How a message that came over HTTP is responded to: a whole response, or one still to be made.
pub(crate) enum Responding {
    Ready(Response<Body>),
    Working(Respond),
}

impl Responding {
    pub(crate) fn new(begun: Result<Begun, Rejection>, plan: Plan) -> Self {
        Self::Ready(match begun {
            Ok(Begun::Working(context, work)) => {
                return Self::Working(Respond::new(context, work, plan));
            }
            Ok(Begun::Answered(answer)) => plan.reply(answer),
            Ok(Begun::Noted) => super::accepted(),
            Ok(Begun::Listening(subscription)) => {
                super::stream(Body::listening(subscription, plan.keep_alive))
            }
            Err(rejection) => rejection.into_response(),
        })
    }
}

/// A response in the making.
///
/// On the JSON path the handler is polled inline: no task, no channel, and dropping the response drops the
/// handler. The first event, or silence for long enough, commits the reply to a stream; from then on the handler
/// runs in a task of its own, since a handler polled only while its body is read would stand still with its
/// locks held when nobody reads.
pub(crate) struct Respond {
    context: Context,
    /// `None` once it has come to its end, or into a task of its own.
    work: Option<Working>,
    plan: Plan,
    timer: Option<Timer>,
}

/// Runs from the first time that the handler had to wait.
struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// Whether it is silence that it waits for, or the deadline.
    silence: bool,
    deadline: Instant,
}

impl Respond {
    pub(crate) const fn new(context: Context, work: Working, plan: Plan) -> Self {
        Self { context, work: Some(work), plan, timer: None }
    }

    /// The reply of an answer that came while nothing had been sent.
    fn answered(&mut self, answer: Answer) -> Result<Response<Body>, Closed> {
        let mut work = self.work.take();
        let span = work.as_mut().map(Working::stop);
        let outbox = self.context.outbox();
        if outbox.is_closed() {
            return Err(Closed);
        }
        // A status other than 200 says something that a stream cannot.
        let (events, answer) = outbox.settle(answer);
        if let Some(span) = span {
            span::ended(span, answer.fault);
        }
        if events.is_empty() || answer.status != StatusCode::OK {
            return Ok(self.plan.reply(answer));
        }
        Ok(stream(events, answer))
    }

    /// Opens a stream, with the handler in a task of its own.
    fn commit(&mut self) -> Response<Body> {
        self.context.outbox().commit();
        let deadline = self
            .timer
            .as_ref()
            .map_or_else(|| Instant::now() + self.plan.call_time, |timer| timer.deadline);
        let work = self.work.take().map(|work| {
            let driven = drive(work, self.context.clone(), deadline, self.plan.call_time);
            tokio::spawn(driven).abort_handle()
        });
        let keep_alive = self.plan.keep_alive;
        super::stream(Body::stream(self.context.clone(), work, keep_alive))
    }

    /// What time itself brings about.
    fn poll_timer(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Response<Body>, Closed>> {
        let timer = self.timer.get_or_insert_with(|| Timer::new(&self.plan));
        ready!(timer.sleep.as_mut().poll(cx));
        if timer.silence {
            return Poll::Ready(Ok(self.commit()));
        }
        let answer = timed_out(&self.context, self.plan.call_time);
        Poll::Ready(self.answered(answer))
    }
}

impl Timer {
    fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        let deadline = now + plan.call_time;
        let silence = plan.silence().map(|silence| now + silence).filter(|at| *at < deadline);
        let sleep = Box::pin(tokio::time::sleep_until(silence.unwrap_or(deadline)));
        Self { sleep, silence: silence.is_some(), deadline }
    }
}

impl Future for Respond {
    type Output = Result<Response<Body>, Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Some(work) = &mut self.work
            && let Poll::Ready(answer) = Pin::new(work).poll(cx)
        {
            return Poll::Ready(self.answered(answer));
        }
        match self.context.outbox().poll_held(cx) {
            Held::Closed => Poll::Ready(Err(Closed)),
            Held::Answer(answer) => {
                if let Some(work) = &mut self.work {
                    span::ended(work.stop(), answer.fault);
                }
                Poll::Ready(Ok(self.plan.reply(answer)))
            }
            Held::Events => Poll::Ready(Ok(self.commit())),
            Held::Nothing => self.poll_timer(cx),
        }
    }
}

impl Drop for Respond {
    fn drop(&mut self) {
        // Where a stream was opened its body ends it.
        self.context.outbox().abandon();
    }
}

/// A whole stream.
fn stream(events: impl IntoIterator<Item = Event>, answer: Answer) -> Response<Body> {
    super::stream(Body::full(super::outbox::encode(events, Some(answer), Framing::Sse)))
}

/// Runs the handler of an open stream until it answers, or the call has taken too long.
pub(crate) async fn drive(
    mut work: Working,
    context: Context,
    deadline: Instant,
    call_time: Duration,
) {
    let answer = match tokio::time::timeout_at(deadline, &mut work).await {
        Ok(answer) => answer,
        Err(_) => timed_out(&context, call_time),
    };
    span::ended(work.stop(), answer.fault);
    context.outbox().finish(answer);
}
