//! `Hub`: who listens to a server, and what waits to be told to each of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_types::SubscriptionFilter;
use tokio::sync::Notify;

use super::Change;
use crate::reply::Closed;

/// The subscriptions that are open.
#[derive(Debug)]
pub(crate) struct Hub {
    /// How many notes may wait for one reader.
    capacity: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The key of the next one.
    next: u64,
    subscribers: BTreeMap<u64, Arc<Subscriber>>,
}

/// Subscriptions that end together: those of one listener, which may be drained while others of the same server
/// go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group(Arc<End>);

#[derive(Debug, Default)]
struct End {
    over: AtomicBool,
    came: Notify,
}

impl Hub {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, open: Mutex::default() }
    }

    /// Adds a subscriber and returns the key to remove it with. One that can never hear anything, since nothing is
    /// granted to it or its group has ended, is over at once.
    pub(super) fn subscribe(
        &self,
        granted: SubscriptionFilter,
        group: Option<Group>,
    ) -> (u64, Arc<Subscriber>) {
        let mut open = self.lock();
        let over = granted.is_empty() || group.as_ref().is_some_and(Group::is_over);
        let subscriber = Arc::new(Subscriber::new(granted, group, over));
        let key = open.next;
        open.next += 1;
        if !over {
            open.subscribers.insert(key, Arc::clone(&subscriber));
        }
        (key, subscriber)
    }

    pub(super) fn unsubscribe(&self, key: u64) {
        self.lock().subscribers.remove(&key);
    }

    /// Leaves a note with everyone who is granted `change`.
    pub(super) fn publish(&self, change: &Change) {
        self.wake(|subscriber| subscriber.note(change, self.capacity));
    }

    /// Ends the subscriptions of `group` in good order; those that join it later end at once.
    pub(crate) fn end(&self, group: &Group) {
        let open = self.lock();
        // Under the lock: whoever subscribes next sees it, whoever did before is found below.
        group.0.over.store(true, Ordering::Relaxed);
        drop(open);
        group.0.came.notify_waiters();
        self.wake(|subscriber| {
            let joined = subscriber.group.as_ref().is_some_and(|joined| joined.is(group));
            if joined { subscriber.end() } else { None }
        });
    }

    /// Calls `change` with each subscriber and wakes whom it returns, outside of the lock.
    fn wake(&self, change: impl Fn(&Subscriber) -> Option<Waker>) {
        let wakers: Vec<Waker> =
            self.lock().subscribers.values().filter_map(|subscriber| change(subscriber)).collect();
        for waker in wakers {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // No code of a user runs under the lock, and every change leaves it whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group {
    /// Waits for its end. Dropping the future loses nothing.
    pub(crate) async fn ended(&self) {
        // Made first: an end that comes after the look is heard.
        let came = self.0.came.notified();
        if !self.is_over() {
            came.await;
        }
    }

    fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// One who listens: what is granted, and what waits to be read.
#[derive(Debug)]
pub(crate) struct Subscriber {
    /// Its URIs are sorted.
    granted: SubscriptionFilter,
    group: Option<Group>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// No two are equal.
    waiting: Vec<Note>,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The end has to be read yet.
    Ending,
    Ended,
    /// Broken off.
    Lost,
}

/// That something has changed: all that is kept of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Tools,
    Prompts,
    Resources,
    /// The place of the URI among those granted.
    Resource(usize),
}

/// What waited for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) notes: Vec<Note>,
    /// Whether nothing will follow.
    pub(super) last: bool,
}

impl Subscriber {
    fn new(mut granted: SubscriptionFilter, group: Option<Group>, over: bool) -> Self {
        if let Some(uris) = &mut granted.resource_subscriptions {
            uris.sort_unstable();
            uris.dedup();
            uris.shrink_to_fit();
        }
        let phase = if over { Phase::Ending } else { Phase::Open };
        let state = State { phase, waiting: Vec::new(), reader: None };
        Self { granted, group, state: Mutex::new(state) }
    }

    /// The URI that a note speaks of.
    pub(super) fn uri(&self, place: usize) -> Option<&str> {
        self.granted.resource_subscriptions.as_ref()?.get(place).map(String::as_str)
    }

    /// Breaks it off, so that its reader gets an error.
    pub(crate) fn lose(&self) {
        let reader = self.lock().leave(Phase::Lost);
        if let Some(waker) = reader {
            waker.wake();
        }
    }

    /// Takes all that waits, once there is something; then the end, `None`. An error when it was broken off.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Result<Notes, Closed>>> {
        let mut state = self.lock();
        let last = match state.phase {
            Phase::Open if state.waiting.is_empty() => {
                match &mut state.reader {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                return Poll::Pending;
            }
            Phase::Open => false,
            Phase::Ending => {
                state.phase = Phase::Ended;
                true
            }
            Phase::Ended => return Poll::Ready(None),
            Phase::Lost => return Poll::Ready(Some(Err(Closed))),
        };
        Poll::Ready(Some(Ok(Notes { notes: std::mem::take(&mut state.waiting), last })))
    }

    /// Whether nothing is left to be read of it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lock().phase, Phase::Ended | Phase::Lost)
    }

    /// Ends it in good order; returns whom to wake, who is nobody where its reader does it.
    pub(super) fn end(&self) -> Option<Waker> {
        self.lock().leave(Phase::Ending)
    }

    fn note(&self, change: &Change, capacity: usize) -> Option<Waker> {
        let note = self.granted(change)?;
        let mut state = self.lock();
        if state.phase != Phase::Open || state.waiting.contains(&note) {
            return None;
        }
        if state.waiting.len() >= capacity {
            tracing::debug!("the reader of a subscription is too slow; it is broken off");
            state.waiting = Vec::new();
            return state.leave(Phase::Lost);
        }
        state.waiting.push(note);
        state.reader.take()
    }

    /// The note of `change`, if it was asked for and granted.
    fn granted(&self, change: &Change) -> Option<Note> {
        let (granted, note) = match change {
            Change::ToolList => (self.granted.tools_list_changed, Note::Tools),
            Change::PromptList => (self.granted.prompts_list_changed, Note::Prompts),
            Change::ResourceList => (self.granted.resources_list_changed, Note::Resources),
            Change::Resource(uri) => {
                let uris = self.granted.resource_subscriptions.as_deref()?;
                let place = uris.binary_search_by(|granted| granted.as_str().cmp(uri)).ok()?;
                (Some(true), Note::Resource(place))
            }
        };
        granted.is_some_and(|granted| granted).then_some(note)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of a user runs under the lock, and every change leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Goes on from being open; returns whom to wake.
    fn leave(&mut self, phase: Phase) -> Option<Waker> {
        let open = matches!(self.phase, Phase::Open | Phase::Ending);
        if !open || self.phase == phase {
            return None;
        }
        self.phase = phase;
        self.reader.take()
    }
}

#[cfg(test)]
mod tests;
