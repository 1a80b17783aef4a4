//! `InFlight`: the requests of one connection that are not answered yet, and which of them have something to say.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker, ready};

use mcp_types::RequestId;

use crate::limits::Limits;
use crate::permit::Permit;
use crate::rejection::Reason;
use crate::reply::{Framing, Source};
use crate::subscription;

#[derive(Default)]
pub(super) struct InFlight {
    requests: HashMap<RequestId, Request>,
    /// How many of them are subscriptions.
    listens: usize,
    rung: Arc<Rung>,
}

struct Request {
    source: Source,
    bell: Arc<Bell>,
    _permit: Option<Permit>,
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether one more request fits in, which may be a subscription.
    pub(super) fn admit(
        &self,
        id: &RequestId,
        listens: bool,
        limits: &Limits,
    ) -> Result<(), Reason> {
        if self.requests.contains_key(id) {
            Err(Reason::IdInFlight)
        } else if listens && self.listens >= limits.listens_per_caller {
            Err(Reason::TooManyListens { of_caller: true })
        } else if !listens && self.requests.len() - self.listens >= limits.exchanges_per_caller {
            Err(Reason::CallerBusy)
        } else {
            Ok(())
        }
    }

    /// Adds the request `id`, which is none of those in flight.
    pub(super) fn add(&mut self, id: RequestId, source: Source, permit: Option<Permit>) {
        self.listens += usize::from(is_listen(&source));
        let rung = Arc::downgrade(&self.rung);
        let bell = Arc::new(Bell { id: id.clone(), is_rung: AtomicBool::new(false), rung });
        bell.wake_by_ref();
        self.requests.insert(id, Request { source, bell, _permit: permit });
    }

    /// Ends a request without another word of it; returns whether it was in flight.
    pub(super) fn remove(&mut self, id: &RequestId) -> bool {
        let Some(request) = self.requests.remove(id) else { return false };
        self.listens -= usize::from(is_listen(&request.source));
        self.rung.silence(&request.bell);
        true
    }

    /// Waits for what the requests have to say, and takes all that the next of them has. With its answer a request
    /// is no longer in flight.
    pub(super) fn poll_frames(&mut self, cx: &Context<'_>) -> Poll<Vec<u8>> {
        loop {
            let bell = ready!(self.rung.poll(cx));
            let Some(request) = self.requests.get_mut(&bell.id) else { continue };
            let waker = Waker::from(Arc::clone(&bell));
            match request.source.poll_frames(&Context::from_waker(&waker), Framing::Lines) {
                Poll::Pending => {}
                Poll::Ready(Some(Ok(frames))) => {
                    if request.source.is_over() {
                        self.remove(&bell.id);
                    } else {
                        // It has to be asked again before it rings by itself.
                        bell.wake();
                    }
                    return Poll::Ready(frames);
                }
                Poll::Ready(None) => {
                    self.remove(&bell.id);
                }
                Poll::Ready(Some(Err(_))) => {
                    self.remove(&bell.id);
                    // Of a subscription, since nothing else is broken off here.
                    let mut frame = Vec::new();
                    Framing::Lines.write(&mut frame, &subscription::cancellation(&bell.id));
                    return Poll::Ready(frame);
                }
            }
        }
    }
}

fn is_listen(source: &Source) -> bool {
    matches!(source, Source::Listen(_))
}

/// Wakes the connection and tells it which request it is about.
struct Bell {
    id: RequestId,
    /// Changed under the lock of `rung` only. Set for good when the request is no longer in flight.
    is_rung: AtomicBool,
    rung: Weak<Rung>,
}

/// The bells that have rung, in their order. None is there twice, so requests in flight bound it.
#[derive(Default)]
struct Rung(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    bells: VecDeque<Arc<Bell>>,
    connection: Option<Waker>,
}

impl Rung {
    fn poll(&self, cx: &Context<'_>) -> Poll<Arc<Bell>> {
        let mut waiting = self.lock();
        if let Some(bell) = waiting.bells.pop_front() {
            bell.is_rung.store(false, Ordering::Relaxed);
            return Poll::Ready(bell);
        }
        match &mut waiting.connection {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Has nobody hear `bell` any more.
    fn silence(&self, bell: &Arc<Bell>) {
        let mut waiting = self.lock();
        if bell.is_rung.swap(true, Ordering::Relaxed) {
            waiting.bells.retain(|rung| !Arc::ptr_eq(rung, bell));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code of a user runs under the lock, and every change leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let Some(rung) = self.rung.upgrade() else { return };
        let mut waiting = rung.lock();
        if self.is_rung.swap(true, Ordering::Relaxed) {
            return;
        }
        waiting.bells.push_back(self);
        let connection = waiting.connection.take();
        drop(waiting);
        if let Some(waker) = connection {
            waker.wake();
        }
    }
}
