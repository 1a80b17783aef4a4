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

    /// Makes all of `changes`, or none.
    pub(super) fn apply(&self, changes: Changes) -> Result<Touched, BuildError> {
        // No code of a user runs under the locks, and a snapshot takes the place of another as a whole.
        let editing = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Snapshot::clone(&self.snapshot());
        let touched = changes.apply(&mut next)?;
        let last = std::mem::replace(
            &mut *self.current.write().unwrap_or_else(PoisonError::into_inner),
            Arc::new(next),
        );
        // Dropping what nobody refers to any more may run code of a user; the locks may be needed for that.
        drop(editing);
        drop(last);
        Ok(touched)
    }
}
