//! Foreign text in messages: enough to recognise it, never more.

/// Characters of a foreign text that a message repeats.
const MAX_EXCERPT: usize = 64;

/// `text` if it is short, else its beginning and an ellipsis.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The same in quotes, with what a terminal or a log would interpret escaped.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}
