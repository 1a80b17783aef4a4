//! `Inbox`: what has arrived for one request and was not read yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::error::{Error, Kind};
use crate::limits::Limits;

/// A bounded queue of messages, written by the connection's reader, which never waits: a call that nobody polls
/// must not hold up the others.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Bytes>,
    bytes: usize,
    end: Option<End>,
    waker: Option<Waker>,
}

/// Why nothing more will arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The response is there, or what stands for it.
    Answered,
    Closed,
    /// Likewise, but another process takes the place of the one that ended it.
    Died,
    /// A notification had no room that must not be missed.
    Behind,
    /// A line of more bytes than this was passed over, and it can have been for no other request.
    TooLong(usize),
}

impl End {
    /// What those are told who wait.
    pub(super) fn error(self) -> Error {
        Error::new(match self {
            Self::Answered | Self::Closed => Kind::Closed,
            Self::Died => Kind::Died,
            Self::Behind => Kind::Behind,
            Self::TooLong(limit) => Kind::TooLarge { what: "a line of the server", limit },
        })
    }
}

impl Inbox {
    /// Takes a message in; returns whether there was room. Behind one that had none there is never again.
    pub(super) fn push(&self, message: Bytes) -> bool {
        let mut state = self.state();
        let bytes = state.bytes + message.len();
        let is_full = state.messages.len() >= Limits::PIPE_MESSAGES || bytes > Limits::PIPE_BYTES;
        if is_full || state.end.is_some() {
            return false;
        }
        state.put(message);
        state.wake();
        true
    }

    /// Takes the last message in, for which there is always room.
    pub(super) fn answer(&self, response: Bytes) {
        let mut state = self.state();
        state.put(response);
        state.end.get_or_insert(End::Answered);
        state.wake();
    }

    pub(super) fn close(&self, end: End) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        state.wake();
    }

    /// Waits for the next message; `None` behind the response. Cancel safe.
    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let mut state = self.state();
        if let Some(message) = state.messages.pop_front() {
            state.bytes -= message.len();
            return Poll::Ready(Some(Ok(message)));
        }
        match state.end {
            Some(End::Answered) => Poll::Ready(None),
            Some(end) => Poll::Ready(Some(Err(end.error()))),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics between two changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, message: Bytes) {
        self.bytes += message.len();
        self.messages.push_back(message);
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn nothing_follows_what_was_missed() {
        let inbox = Inbox::default();
        while inbox.push(Bytes::from_static(b"n")) {}
        inbox.close(End::Behind);
        let next = || poll_fn(|cx| inbox.poll_next(cx));
        for _ in 0..Limits::PIPE_MESSAGES {
            next().await.unwrap().unwrap();
            assert!(!inbox.push(Bytes::from_static(b"later")));
        }
        assert!(next().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_full_one_takes_the_response_alone() {
        let inbox = Inbox::default();
        for _ in 0..Limits::PIPE_MESSAGES {
            assert!(inbox.push(Bytes::from_static(b"n")));
        }
        assert!(!inbox.push(Bytes::from_static(b"n")));
        inbox.answer(Bytes::from_static(b"r"));
        inbox.close(End::Closed);
        let next = || poll_fn(|cx| inbox.poll_next(cx));
        for _ in 0..Limits::PIPE_MESSAGES {
            assert_eq!(next().await.unwrap().unwrap(), "n");
        }
        assert_eq!(next().await.unwrap().unwrap(), "r");
        assert!(next().await.is_none());
        assert_eq!(inbox.state().bytes, 0);
        let big = Bytes::from(vec![b' '; Limits::PIPE_BYTES]);
        let inbox = Inbox::default();
        assert!(inbox.push(big) && !inbox.push(Bytes::from_static(b"n")));
    }
}
