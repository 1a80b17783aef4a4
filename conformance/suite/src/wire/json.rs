//! Looking into JSON without ceremony.

use serde_json::Value;

/// The value at a path of members, such as `/result/resultType`; null where there is none.
pub(crate) fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// A value on one line, cut where it gets long.
pub(crate) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// A text cut where it gets long.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", text.split_at(end).0),
        None => text.to_owned(),
    }
}
