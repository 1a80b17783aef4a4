//! The one pass over a message: is it JSON, of what kind, and where are its parts?
//!
//! [`scan`] proves what decoding later relies on (UTF-8, the grammar, bounded depth, unique keys
//! where they matter) and finds the parts of the envelope; `params` and `result` stay slices of
//! the body, to be decoded once, into their own types.

mod cursor;
mod envelope;
mod error;
mod object;

pub use cursor::SyntaxError;
pub use envelope::{Message, Notification, Outcome, Request, Response, scan};
pub use error::ScanError;
pub use object::{InvalidObject, Object, decode_string};

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use envelope::fuzz_scan;

#[cfg(test)]
mod tests;
