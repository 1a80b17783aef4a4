//! Server-sent events: how one HTTP reply carries many messages (specification: Streamable HTTP,
//! Receiving Messages; the wire format is the HTML standard's `text/event-stream`).

mod body;
mod decoder;
mod encoder;

pub use body::{EventStream, StreamError};
pub use decoder::{Decoder, Event, EventTooLong};
pub use encoder::{KEEP_ALIVE, write_comment, write_event, write_event_with};

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use decoder::fuzz_sse;
