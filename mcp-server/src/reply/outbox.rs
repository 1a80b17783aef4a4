//! `Outbox`: what an exchange has to say, between the handler that says it and the reply that
//! carries it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_types::Number;

use super::{Answer, Framing};

/// A bounded queue of events, and the answer behind them.
///
/// It never makes a handler wait: when the queue is full, progress takes the place of the progress before
/// it, and otherwise the oldest event makes room.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Whether a stream may come of it at all; in JSON mode events are dropped before they are encoded.
    streams: bool,
    capacity: usize,
    state: Mutex<State>,
}

/// One frame that is not the answer.
#[derive(Debug)]
pub(crate) enum Event {
    /// The JSON of a progress notification; a later one says all that an earlier one did.
    Progress(String),
    /// The JSON of any other notification.
    Message(String),
    /// The text of a comment.
    Comment(String),
}

/// What there is to send while nothing has been sent.
#[derive(Debug)]
pub(crate) enum Held {
    Nothing,
    Events,
    Answer(Answer),
    Closed,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    queue: VecDeque<Event>,
    answer: Option<Answer>,
    /// Who sends: the response future first, then the body of the stream.
    sender: Option<Waker>,
    /// The last progress reported; the next has to be more.
    progress: Option<Number>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was sent; status and media type are still open.
    Held,
    /// A stream is open.
    Streaming,
    /// The answer was handed over to be sent.
    Answered,
    /// Closed before the answer.
    Closed,
}

impl Outbox {
    pub(crate) const fn new(streams: bool, capacity: usize) -> Self {
        let state = State {
            phase: Phase::Held,
            queue: VecDeque::new(),
            answer: None,
            sender: None,
            progress: None,
        };
        Self { streams, capacity, state: Mutex::new(state) }
    }

    /// Whether an event would go anywhere: asked before one is encoded.
    pub(crate) fn is_open(&self) -> bool {
        self.streams && self.lock().is_open()
    }

    /// Queues the event that `encode` writes, if `progress` is above the last one.
    pub(crate) fn report(&self, progress: Number, encode: impl FnOnce() -> Option<String>) -> bool {
        let progress = Some(progress);
        if !self.is_open() || progress <= self.lock().progress {
            return false;
        }
        // Encoded outside of the lock; asked again under it, since a clone of the handle may have been
        // quicker.
        let Some(json) = encode() else { return false };
        let mut state = self.lock();
        if progress <= state.progress {
            return false;
        }
        state.progress = progress;
        self.push(state, Event::Progress(json))
    }

    /// Queues `event`; `false` when nobody will read it.
    pub(crate) fn emit(&self, event: Event) -> bool {
        self.push(self.lock(), event)
    }

    fn push(&self, mut state: MutexGuard<'_, State>, event: Event) -> bool {
        if !self.streams || !state.is_open() {
            return false;
        }
        if state.queue.len() >= self.capacity {
            state.make_room(&event);
        }
        state.queue.push_back(event);
        wake(state);
        true
    }

    /// Hands the answer over; the first one counts.
    pub(crate) fn finish(&self, answer: Answer) -> bool {
        let mut state = self.lock();
        if !state.is_open() {
            return false;
        }
        state.answer = Some(answer);
        wake(state);
        true
    }

    /// Ends it from either side: what was queued is dropped, what comes is refused.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        let answer = state.close();
        wake(state);
        // Dropping it may run code of a user.
        drop(answer);
    }

    /// Ends it if nothing was sent yet: nobody waits for the response any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        let answer = if state.phase == Phase::Held { state.close() } else { None };
        drop(state);
        drop(answer);
    }

    /// Takes the events that wait and ends it, when an answer is at hand before anything was sent. An answer
    /// that was handed over before takes the place of `answer`.
    pub(crate) fn settle(&self, answer: Answer) -> (VecDeque<Event>, Answer) {
        let mut state = self.lock();
        state.phase = Phase::Answered;
        let events = std::mem::take(&mut state.queue);
        let first = state.answer.take();
        // Dropping an answer may run code of a user.
        drop(state);
        (events, first.unwrap_or(answer))
    }

    /// Looks, before anything was sent, at what there is to send; arranges to be woken if nothing.
    pub(crate) fn poll_held(&self, cx: &Context<'_>) -> Held {
        let mut state = self.lock();
        if state.phase != Phase::Held {
            return Held::Closed;
        }
        if !state.queue.is_empty() {
            return Held::Events;
        }
        if let Some(answer) = state.answer.take() {
            state.phase = Phase::Answered;
            return Held::Answer(answer);
        }
        state.wait(cx);
        Held::Nothing
    }

    /// Commits the reply to a stream, which [`poll_frames`](Self::poll_frames) feeds.
    pub(crate) fn commit(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Held {
            state.phase = Phase::Streaming;
        }
    }

    /// Whether the reply is committed to a stream that is still open.
    pub(crate) fn is_streaming(&self) -> bool {
        self.lock().phase == Phase::Streaming
    }

    /// Whether there is no way left for an answer.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lock().phase, Phase::Answered | Phase::Closed)
    }

    /// Whether it was closed before its answer.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().phase == Phase::Closed
    }

    /// Takes everything that waits as the bytes of one write, the answer last; then the end, `None`. An
    /// error when it was closed before the answer.
    pub(crate) fn poll_frames(
        &self,
        cx: &Context<'_>,
        framing: Framing,
    ) -> Poll<Option<Result<Vec<u8>, Closed>>> {
        let mut state = self.lock();
        match state.phase {
            Phase::Answered => return Poll::Ready(None),
            Phase::Closed => return Poll::Ready(Some(Err(Closed))),
            Phase::Held | Phase::Streaming => {}
        }
        if state.queue.is_empty() && state.answer.is_none() {
            state.wait(cx);
            return Poll::Pending;
        }
        let queue = std::mem::take(&mut state.queue);
        let answer = state.answer.take();
        if answer.is_some() {
            state.phase = Phase::Answered;
        }
        drop(state);
        Poll::Ready(Some(Ok(encode(queue, answer, framing))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of a user runs under the lock, and every change leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closed before the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

impl State {
    fn is_open(&self) -> bool {
        self.answer.is_none() && matches!(self.phase, Phase::Held | Phase::Streaming)
    }

    /// Makes room for `event` where it hurts least.
    fn make_room(&mut self, event: &Event) {
        let superseded = match event {
            Event::Progress(_) => self.queue.iter().rposition(|e| matches!(e, Event::Progress(_))),
            Event::Message(_) | Event::Comment(_) => {
                self.queue.iter().position(|e| !matches!(e, Event::Progress(_)))
            }
        };
        self.queue.remove(superseded.unwrap_or(0));
    }

    /// Returns the answer that was not sent, to be dropped outside of the lock.
    fn close(&mut self) -> Option<Answer> {
        if self.phase != Phase::Answered {
            self.phase = Phase::Closed;
        }
        self.queue = VecDeque::new();
        self.answer.take()
    }

    fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.sender {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }
}

/// Wakes whoever sends, outside of the lock.
fn wake(mut state: MutexGuard<'_, State>) {
    let sender = state.sender.take();
    drop(state);
    if let Some(waker) = sender {
        waker.wake();
    }
}

/// The frames of some events, and of the answer behind them.
pub(super) fn encode(
    events: impl IntoIterator<Item = Event>,
    answer: Option<Answer>,
    framing: Framing,
) -> Vec<u8> {
    let answer_len = answer.as_ref().map_or(0, |answer| answer.json.len() + 32);
    let events = events.into_iter();
    let per_event = 160 * events.size_hint().0;
    let mut out = Vec::with_capacity(per_event + answer_len);
    for event in events {
        match event {
            Event::Progress(json) | Event::Message(json) => {
                framing.write(&mut out, json.as_bytes())
            }
            Event::Comment(text) => framing.write_comment(&mut out, &text),
        }
    }
    if let Some(answer) = answer {
        answer.write_frame(&mut out, framing);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(capacity: usize) -> Outbox {
        Outbox::new(true, capacity)
    }

    fn report(outbox: &Outbox, progress: impl Into<Number>) -> bool {
        let progress = progress.into();
        outbox.report(progress, || Some(format!("{{\"p\":{progress}}}")))
    }

    fn log(outbox: &Outbox, n: usize) -> bool {
        outbox.emit(Event::Message(format!("{{\"log\":{n}}}")))
    }

    /// The data of every frame that waits, and whether that was the end.
    fn frames(outbox: &Outbox) -> (Vec<String>, bool) {
        let cx = Context::from_waker(Waker::noop());
        match outbox.poll_frames(&cx, Framing::Sse) {
            Poll::Ready(Some(Ok(bytes))) => {
                let text = String::from_utf8(bytes).unwrap();
                let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
                (data.map(str::to_owned).collect(), false)
            }
            Poll::Ready(Some(Err(Closed))) => panic!("closed"),
            Poll::Ready(None) => (Vec::new(), true),
            Poll::Pending => (Vec::new(), false),
        }
    }

    fn answer() -> Answer {
        Answer::new("{}".into(), None)
    }

    #[test]
    fn progress_only_goes_up() {
        let outbox = outbox(8);
        for (progress, sent) in [
            (0.0, true),
            (0.0, false),
            (-1.0, false),
            (f64::NAN, false),
            (0.5, true),
            (50.0, true),
            (49.9, false),
        ] {
            assert_eq!(report(&outbox, progress), sent, "{progress}");
        }
        assert_eq!(frames(&outbox).0, [r#"{"p":0}"#, r#"{"p":0.5}"#, r#"{"p":50}"#]);
    }

    #[test]
    fn a_full_queue_coalesces_progress_and_drops_the_oldest_log() {
        let outbox = outbox(4);
        assert!(log(&outbox, 0));
        for n in 0..1000 {
            assert!(report(&outbox, n));
        }
        assert!(log(&outbox, 1));
        let waiting = frames(&outbox).0;
        assert_eq!(waiting, [r#"{"p":0}"#, r#"{"p":1}"#, r#"{"p":999}"#, r#"{"log":1}"#]);
    }

    #[test]
    fn a_queue_of_progress_alone_makes_room_for_a_log() {
        let outbox = outbox(2);
        assert!(report(&outbox, 1.0) && report(&outbox, 2.0) && log(&outbox, 0));
        assert_eq!(frames(&outbox).0, [r#"{"p":2}"#, r#"{"log":0}"#]);
    }

    #[test]
    fn nothing_comes_after_the_answer() {
        let outbox = outbox(4);
        assert!(report(&outbox, 1.0));
        assert!(outbox.finish(answer()));
        assert!(!report(&outbox, 2.0) && !log(&outbox, 0) && !outbox.finish(answer()));
        assert_eq!(frames(&outbox).0, [r#"{"p":1}"#, "{}"]);
        assert!(frames(&outbox).1);
        outbox.close();
        assert!(frames(&outbox).1, "a finished stream is not lost by closing it");
    }

    #[test]
    fn a_closed_outbox_is_an_error_to_its_reader() {
        let outbox = outbox(4);
        outbox.commit();
        outbox.close();
        assert!(!log(&outbox, 0) && outbox.is_closed());
        let cx = Context::from_waker(Waker::noop());
        let polled = outbox.poll_frames(&cx, Framing::Sse);
        assert!(matches!(polled, Poll::Ready(Some(Err(Closed)))));
    }

    #[test]
    fn json_mode_encodes_nothing() {
        let outbox = Outbox::new(false, 4);
        assert!(!outbox.report(1.into(), || panic!("encoded")));
        assert!(!log(&outbox, 0));
    }
}
