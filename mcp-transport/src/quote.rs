//! A peer's text in our messages.

use crate::limits::MAX_QUOTED;

/// Quotes, escapes and cuts a text, for a message that may end up in logs.
pub(crate) fn quote(text: &str) -> Box<str> {
    match text.char_indices().nth(MAX_QUOTED) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?} (cut)", text.split_at(cut).0),
    }
    .into()
}
