//! `Log`: what passed between a check and what it tested.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// What passed, in order. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<String>>);

/// Bytes of a log that are kept; what exceeds them is counted.
const KEPT: usize = 64 * 1024;
/// Bytes of one entry that are kept.
const ENTRY: usize = 4 * 1024;

impl Log {
    /// What was sent to the tested side.
    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.add('>', bytes);
    }

    /// What the tested side sent.
    pub(crate) fn seen(&self, bytes: &[u8]) {
        self.add('<', bytes);
    }

    /// What happened besides.
    pub(crate) fn note(&self, what: &str) {
        self.add('#', what.as_bytes());
    }

    fn add(&self, mark: char, bytes: &[u8]) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() > KEPT {
            return;
        }
        let (shown, cut) = bytes.split_at(bytes.len().min(ENTRY));
        for line in String::from_utf8_lossy(shown).lines() {
            let _ = writeln!(log, "{mark} {}", line.escape_debug());
        }
        if !cut.is_empty() {
            let _ = writeln!(log, "{mark} ... and {} bytes more", cut.len());
        }
    }

    /// All of it, a mark and a line each.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
