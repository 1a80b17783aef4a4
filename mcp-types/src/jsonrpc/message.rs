//! The four message shapes. `P` and `T` are whatever the method carries; `&P` serves for writing.

use std::borrow::Cow;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use super::{ErrorObject, RequestId};

/// The member `"jsonrpc": "2.0"`, which every message carries; nothing else decodes into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonRpc;

impl Serialize for JsonRpc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("2.0")
    }
}

impl<'de> Deserialize<'de> for JsonRpc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match &*Cow::<str>::deserialize(deserializer)? {
            "2.0" => Ok(Self),
            other => Err(de::Error::invalid_value(de::Unexpected::Str(other), &"\"2.0\"")),
        }
    }
}

/// A message that wants an answer. Specification: Overview, Requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct RequestMessage<P> {
    /// Always `"2.0"`.
    pub jsonrpc: JsonRpc,
    /// Chosen by the sender, not in use for another of its requests.
    pub id: RequestId,
    /// What is asked for.
    pub method: Cow<'static, str>,
    /// An object; in this protocol every request has one, since it carries `_meta`.
    pub params: P,
}

impl<P> RequestMessage<P> {
    /// A request of `method` with `params`.
    pub fn new(id: RequestId, method: impl Into<Cow<'static, str>>, params: P) -> Self {
        Self { jsonrpc: JsonRpc, id, method: method.into(), params }
    }
}

/// A message that wants no answer. Specification: Overview, Notifications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct NotificationMessage<P> {
    /// Always `"2.0"`.
    pub jsonrpc: JsonRpc,
    /// What happened.
    pub method: Cow<'static, str>,
    /// An object; a method without parameters may leave it out.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub params: Option<P>,
}

impl<P> NotificationMessage<P> {
    /// A notification of `method` with `params`.
    pub fn new(method: impl Into<Cow<'static, str>>, params: P) -> Self {
        Self { jsonrpc: JsonRpc, method: method.into(), params: Some(params) }
    }
}

// `#[serde(default)]` alone would ask for `P: Default`.
const fn none<P>() -> Option<P> {
    None
}

/// An answer that succeeded. Specification: Overview, Result Responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ResultMessage<T> {
    /// Always `"2.0"`.
    pub jsonrpc: JsonRpc,
    /// The request's id, with its type.
    pub id: RequestId,
    /// An [`Outcome`](crate::Outcome) in this protocol.
    pub result: T,
}

impl<T> ResultMessage<T> {
    /// The answer `result` to the request `id`.
    pub const fn new(id: RequestId, result: T) -> Self {
        Self { jsonrpc: JsonRpc, id, result }
    }
}

/// An answer that failed. Specification: Overview, Error Responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ErrorMessage {
    /// Always `"2.0"`.
    pub jsonrpc: JsonRpc,
    /// The request's id; absent when it could not be read. A `null`, which this revision does not
    /// allow, is read as absent, since JSON-RPC peers send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// What went wrong.
    pub error: ErrorObject,
}

impl ErrorMessage {
    /// The answer `error` to the request `id`, if that is known.
    pub const fn new(id: Option<RequestId>, error: ErrorObject) -> Self {
        Self { jsonrpc: JsonRpc, id, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_two_is_json_rpc() {
        for text in [r#""1.0""#, r#""2""#, "2.0", "null"] {
            assert!(serde_json::from_str::<JsonRpc>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<JsonRpc>(r#""2.0""#).is_ok());
    }

    #[test]
    fn absent_null_and_empty_params_of_a_notification_are_read() {
        for params in ["", r#","params":null"#, r#","params":{}"#] {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"n"{params}}}"#);
            serde_json::from_str::<NotificationMessage<crate::JsonMap>>(&text).unwrap();
        }
    }

    #[test]
    fn an_error_without_id_writes_none() {
        let message = ErrorMessage::new(None, ErrorObject::parse_error("x"));
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(text, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#);
        let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#;
        assert_eq!(serde_json::from_str::<ErrorMessage>(null).unwrap().id, None);
    }
}
