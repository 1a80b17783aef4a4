//! `Record`: what the tested side has sent in the whole run, for the checks that judge all of it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Head;

/// What was seen, by all checks so far. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    all: Vec<Noted>,
    /// How long the messages are, as JSON.
    bytes: usize,
}

/// One message of the tested side.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// What it answers, where it answers something: the method of a request.
    pub(crate) method: String,
    /// The head that it came under, over HTTP.
    pub(crate) head: Option<Head>,
    pub(crate) message: Value,
}

/// Messages that are kept, and bytes of them.
const KEPT: usize = 20_000;
const BYTES: usize = 32 * 1024 * 1024;

impl Record {
    /// Notes a message, unless it answers `initialize`: what a server says to clients of earlier revisions, where it
    /// has some, is not judged by this one.
    pub(crate) fn add(&self, noted: Noted) {
        if noted.message.pointer("/result/protocolVersion").is_some() {
            return;
        }
        let length = noted.message.to_string().len();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.all.len() < KEPT && kept.bytes + length <= BYTES {
            kept.bytes += length;
            kept.all.push(noted);
        }
    }

    /// All that was noted so far.
    pub(crate) fn all(&self) -> Vec<Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }
}
