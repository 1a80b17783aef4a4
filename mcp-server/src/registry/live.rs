//! `Live`: the snapshot of the moment, and how another takes its place.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::edit::{Changes, Touched};
use super::{Listing, Registry, Snapshot};
use crate::error::BuildError;
use crate::state::States;

/// The registry of a server that is built.
pub(crate) struct Live {
    current: RwLock<Arc<Snapshot>>,
    /// Held by whoever makes the next one.
    editing: Mutex<()>,
    pub(crate) states: Arc<States>,
}

impl Live {
    pub(crate) fn build(mut registry: Registry, listing: Listing) -> Result<Self, BuildError> {
        if listing.page_size == 0 {
            return Err(BuildError::PageSize);
        }
        let states = Arc::new(std::mem::take(&mut registry.states));
        let snapshot = Snapshot::build(registry, &states, listing)?;
        Ok(Self { current: RwLock::new(Arc::new(snapshot)), editing: Mutex::new(()), states })
    }

    /// What is registered at this moment.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes all of `changes`, or none. With what has changed comes what was there before.
    ///
    /// No entry is dropped here, neither old nor new, whatever comes of it: that may run code of a user, which may need
    /// the locks.
    pub(super) fn apply(&self, changes: &Changes) -> Result<(Touched, Arc<Snapshot>), BuildError> {
        // No code of a user runs under the locks, and a snapshot takes the place of another as a whole.
        let _editing = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Snapshot::clone(&self.snapshot());
        let touched = changes.apply(&mut next)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        Ok((touched, std::mem::replace(&mut *current, Arc::new(next))))
    }
}
