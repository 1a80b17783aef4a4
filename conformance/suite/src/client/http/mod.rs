//! Streamable HTTP: what clients send, and what they make of what comes.

mod answers;
mod events;
mod params;
mod posts;

pub(super) use answers::CHECKS as ANSWER_CHECKS;
pub(super) use events::CHECKS as EVENT_CHECKS;
pub(super) use params::CHECKS as PARAM_CHECKS;
pub(super) use posts::{CHECKS as POST_CHECKS, request};

/// What a header value stands for. Nothing if it is wrapped in a wrong way.
/// Specification: Streamable HTTP, Value Encoding.
fn decoded(value: &str) -> Option<String> {
    use base64::Engine as _;
    let wrapped = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        None => Some(value.to_owned()),
        Some(text) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            String::from_utf8(bytes).ok()
        }
    }
}

/// Whether a value may go as it is.
fn is_plain(value: &str) -> bool {
    crate::wire::http::encoded(value) == value
}
