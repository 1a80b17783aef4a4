//! `Connection`: one client at the other end of a stream, from its first line to its last.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use mcp_transport::json::{self, Message, scan};
use mcp_transport::line::LineTooLong;
use mcp_types::{Method, NotificationMethod, RequestId};
use tokio::time::{Instant, Sleep};

use super::in_flight::InFlight;
use super::input::Input;
use super::output::Output;
use super::{Reader, Writer};
use crate::caller::RequestParts;
use crate::dispatch::{Begun, begin};
use crate::rejection::{Reason, Rejection};
use crate::reply::{Framing, Plan, ResponseMode, Source, drive};
use crate::serve::Signal;
use crate::server::Shared;
use crate::subscription::Group;

pub(super) struct Connection {
    shared: Arc<Shared>,
    /// What handlers see of every message.
    parts: RequestParts,
    /// Its subscriptions.
    group: Group,
    input: Input,
    output: Output,
    in_flight: InFlight,
    /// Until it has come.
    signal: Option<Signal>,
    was_signalled: bool,
    drain_time: Duration,
    /// Runs from the end of the input on.
    drain: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(
        shared: Arc<Shared>,
        parts: RequestParts,
        (reader, writer): (Reader, Writer),
        stall: Option<Duration>,
    ) -> Self {
        let input = Input::new(reader, shared.limits.body);
        Self {
            shared,
            parts,
            group: Group::default(),
            input,
            output: Output::new(writer, stall),
            in_flight: InFlight::default(),
            signal: None,
            was_signalled: false,
            drain_time: Duration::ZERO,
            drain: None,
        }
    }

    /// Has it end on `signal`, and in this time once that or the end of the input has come.
    pub(super) fn end_on(&mut self, signal: Option<Signal>, drain_time: Duration) {
        self.signal = signal;
        self.drain_time = drain_time;
    }

    pub(super) const fn was_signalled(&self) -> bool {
        self.was_signalled
    }

    /// When the time to drain is over, which begins now if nothing began it before.
    pub(super) fn deadline(&mut self) -> Instant {
        self.drain().deadline()
    }

    /// Serves until the end.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub(super) async fn serve(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(signal) = &mut self.signal
            && signal.as_mut().poll(cx).is_ready()
        {
            self.signal = None;
            self.was_signalled = true;
            self.end_input();
        }
        if let Poll::Ready(ended) = self.poll_stream(cx) {
            return Poll::Ready(ended);
        }
        // Behind the rest, which may have set it.
        if let Some(drain) = &mut self.drain
            && drain.as_mut().poll(cx).is_ready()
        {
            tracing::warn!("a stream was still in use when the time to drain was over");
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..ROUNDS {
            let taken = self.poll_input(cx)?;
            self.collect(cx);
            let is_idle = taken.is_pending() && self.output.is_done();
            let written = self.output.poll_written(cx)?;
            if written.is_ready() && self.input.is_closed() && self.in_flight.is_empty() {
                return self.output.poll_shutdown(cx);
            }
            // Only what said itself that it waits wakes the task: once there is room again, input and requests are
            // asked again.
            if is_idle || (taken.is_pending() && written.is_pending()) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes lines, some at a time so that others get their turn; pending when there is none, or no room for what they
    /// are answered with.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for taken in 0..LINES {
            if self.input.is_closed() || self.output.is_full() {
                return if taken > 0 { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            match self.input.poll_line(cx)? {
                Poll::Ready(Some(line)) => self.take(line),
                Poll::Ready(None) => {}
                Poll::Pending if taken > 0 => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
            if self.input.is_closed() {
                self.end_input();
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the subscriptions, lets the rest end in time, and takes no more.
    fn end_input(&mut self) {
        self.input.close();
        self.shared.subscriptions.hub.end(&self.group);
        self.drain();
    }

    fn drain(&mut self) -> &mut Pin<Box<Sleep>> {
        self.drain.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.drain_time)))
    }

    /// Takes what the requests in flight have to say, unless the client has yet to read what it was sent before.
    fn collect(&mut self, cx: &Context<'_>) {
        while !self.output.is_stuck() && !self.output.is_full() {
            let Poll::Ready(frames) = self.in_flight.poll_frames(cx) else { break };
            self.output.push(frames);
        }
    }

    /// Whatever is wrong with a line is told to the client, unless that is a notification, and the next is taken all
    /// the same.
    fn take(&mut self, line: Result<Bytes, LineTooLong>) {
        let taken = match line {
            Ok(line) => self.hear(&line),
            Err(LineTooLong { limit }) => Err(Rejection::new(Reason::LineTooLong { limit })),
        };
        if let Err(rejection) = taken {
            if rejection.is_of_notification() {
                return tracing::debug!("a notification has wrong parameters");
            }
            // It is made of strings and numbers, which always encode.
            let message = serde_json::to_vec(&rejection.message()).unwrap_or_default();
            Framing::Lines.write(self.output.bytes(), &message);
        }
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Rejection> {
        match scan(line)? {
            Message::Request(request) => return self.begin(request),
            Message::Notification(notification) => self.note(&notification),
            // No answer: that could be answered in its turn, and so on.
            Message::Response(_) => tracing::debug!("a client sent a response"),
        }
        Ok(())
    }

    fn begin(&mut self, request: json::Request<'_>) -> Result<(), Rejection> {
        let id = request.id.clone();
        let limits = &self.shared.limits;
        let listens = Method::from_name(&request.method) == Some(Method::Listen);
        let admitted = self.in_flight.admit(&id, listens, limits);
        let permit = admitted.and_then(|()| self.shared.gate.enter(&self.parts, None));
        let permit = permit.map_err(|why| Rejection::of(id.clone(), &request.method, why))?;
        let (mut permit, call_time) = (Some(permit), limits.call_time);
        let message = Message::Request(request);
        let (parts, plan) = (self.parts.clone(), plan(call_time));
        match begin(&self.shared, message, parts, plan, &mut permit, Some(&self.group))? {
            Begun::Noted => {}
            Begun::Answered(answer) => answer.write_frame(self.output.bytes(), Framing::Lines),
            Begun::Working(context, work) => {
                let deadline = Instant::now() + call_time;
                let driven = tokio::spawn(drive(work, context.clone(), deadline, call_time));
                let work = Some(driven.abort_handle());
                self.in_flight.add(id, Source::Call { context, work }, permit);
            }
            Begun::Listening(subscription) => {
                self.in_flight.add(id, Source::Listen(subscription), permit);
            }
        }
        Ok(())
    }

    /// Hears the one notification that means something: that a request is cancelled. One that is malformed, or about
    /// no request in flight, is passed over. Specification: Cancellation, Error Handling.
    fn note(&mut self, notification: &json::Notification<'_>) {
        if NotificationMethod::from_name(&notification.method)
            != Some(NotificationMethod::Cancelled)
        {
            return;
        }
        let id = notification.params.get("requestId").and_then(|id| RequestId::from_json(id).ok());
        let cancelled = id.is_some_and(|id| self.in_flight.remove(&id));
        tracing::debug!(cancelled, "a client cancels a request");
    }
}

/// Everything that a handler says is sent, as it comes.
const fn plan(call_time: Duration) -> Plan {
    let mode = ResponseMode::Sse;
    Plan { mode, keep_alive: Duration::ZERO, call_time, http: false, sse: true }
}

/// How many lines are taken before what they led to is written: some 200 us of work.
const LINES: usize = 32;

/// How often lines are taken and frames written before other tasks get their turn, whatever the stream has at hand:
/// the second time there mostly is nothing.
const ROUNDS: usize = 2;
