//! Content: base64 and media types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};

/// An image or a sound carries its data in base64 and a media type of its kind.
pub(super) fn is_encoded(block: &Value) -> Verdict {
    let kind = at(block, "/type").as_str().unwrap_or_default();
    let data = bytes(at(block, "/data"));
    let is_there = data.is_some_and(|data| !data.is_empty());
    expect(is_there, format!("{kind}: data in base64, padded"), shown(block))?;
    let media = at(block, "/mimeType").as_str().unwrap_or_default();
    let of_kind = is_media_type(media) && media.starts_with(&format!("{kind}/"));
    expect(of_kind, format!("a media type {kind}/..."), shown(block))
}

/// The contents of a resource are either a text or bytes in base64.
pub(super) fn has_one_form(contents: &Value) -> Verdict {
    let (text, blob) = (contents.get("text"), contents.get("blob"));
    let is_one = match (text, blob) {
        (Some(text), None) => text.is_string(),
        (None, Some(blob)) => bytes(blob).is_some(),
        _ => false,
    };
    expect(is_one, "either a text or a blob in base64, padded", shown(contents))
}

/// What base64 in its usual alphabet, with padding, stands for.
pub(super) fn bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.as_str()?).ok()
}

/// Whether a text is a media type, with parameters or without.
pub(super) fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let is_token = |part: &str| {
        let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !part.is_empty() && part.bytes().all(is_tchar)
    };
    essence.split_once('/').is_some_and(|(kind, name)| is_token(kind) && is_token(name))
}
