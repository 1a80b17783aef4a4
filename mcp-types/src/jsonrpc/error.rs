//! Error objects: the code, its allocation policy, and the typed `data` of the codes that have one.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{ClientCapabilities, ProtocolVersion, RawJson, raw};

/// The number that says what kind of error it is. Any integer may arrive.
///
/// Specification: Overview, Error Codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The message is no JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is no request that may be sent here.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// No such method, or its capability was not declared by the server.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters do not fit the method, or name something unknown.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The receiver failed.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// An HTTP header is missing, malformed, or says something else than the body.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The server does not serve the requested protocol version.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// What revisions up to 2025-11-25 sent for an unknown resource. To be understood, never sent.
    pub const LEGACY_RESOURCE_NOT_FOUND: Self = Self(-32002);

    /// Whether the code lies where implementations once chose their own, -32000 to -32019. No
    /// meaning may be assumed, [`LEGACY_RESOURCE_NOT_FOUND`](Self::LEGACY_RESOURCE_NOT_FOUND) aside.
    pub const fn is_legacy(self) -> bool {
        matches!(self.0, -32019..=-32000)
    }

    /// Whether the code lies in the range that only the specification allocates, -32020 to -32099.
    pub const fn is_reserved(self) -> bool {
        matches!(self.0, -32099..=-32020)
    }

    /// Whether an implementation of this revision may send the code: everything but the legacy
    /// range, codes of the reserved range that the revision does not define, and codes of JSON-RPC's
    /// own reserved range that mean nothing there.
    pub const fn may_be_sent(self) -> bool {
        match self {
            Self::PARSE_ERROR
            | Self::INVALID_REQUEST
            | Self::METHOD_NOT_FOUND
            | Self::INVALID_PARAMS
            | Self::INTERNAL_ERROR
            | Self::HEADER_MISMATCH
            | Self::MISSING_REQUIRED_CLIENT_CAPABILITY
            | Self::UNSUPPORTED_PROTOCOL_VERSION => true,
            Self(code) => !matches!(code, -32768..=-32000),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `error` member of a response that failed. Schema `Error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorObject {
    /// The kind of error.
    pub code: ErrorCode,
    /// One concise sentence.
    pub message: Cow<'static, str>,
    /// More about it, in a form that the code or the sender defines; any JSON value.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl ErrorObject {
    /// An error of `code` that says `message`, without data.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with `data`. Data that cannot be written as JSON (a map with keys that are no
    /// strings) is left out, since an error should not fail for the sake of its details.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = RawJson::new(data).ok();
        self
    }

    /// -32700: what arrived is no JSON.
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::PARSE_ERROR, message)
    }

    /// -32600: what arrived is no request that may be sent here.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// -32601: there is no such method, or its capability was not declared.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// -32602: the parameters do not fit, or name something unknown.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// -32603: the receiver failed.
    pub fn internal_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// -32020: a header and the body disagree.
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::HEADER_MISMATCH, message)
    }

    /// -32021: the request needs `required`, which the client did not declare.
    pub fn missing_capability(required: ClientCapabilities) -> Self {
        Self::new(
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            "The client did not declare a capability that this request needs",
        )
        .with_data(&MissingRequiredClientCapability { required_capabilities: required })
    }

    /// -32022: `requested` is not among the `supported` versions.
    pub fn unsupported_version(supported: &[ProtocolVersion], requested: &str) -> Self {
        Self::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version")
            .with_data(&UnsupportedProtocolVersion {
                supported: supported.to_vec(),
                requested: requested.to_owned().into(),
            })
    }

    /// -32602 for a resource that does not exist, with its URI as data.
    pub fn resource_not_found(uri: &str) -> Self {
        Self::invalid_params("Resource not found").with_data(&ResourceNotFound { uri: uri.into() })
    }

    /// Whether it says that the server does not serve the version, and which ones it does.
    pub fn as_unsupported_version(&self) -> Option<UnsupportedProtocolVersion> {
        self.data_of(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
    }

    /// Whether it says that the client lacks capabilities, and which.
    pub fn as_missing_capability(&self) -> Option<MissingRequiredClientCapability> {
        self.data_of(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY)
    }

    /// Whether it says that a resource does not exist, and which: this revision's form, or that of
    /// the revisions up to 2025-11-25.
    pub fn as_resource_not_found(&self) -> Option<ResourceNotFound> {
        self.data_of(ErrorCode::INVALID_PARAMS)
            .or_else(|| self.data_of(ErrorCode::LEGACY_RESOURCE_NOT_FOUND))
    }

    fn data_of<T: DeserializeOwned>(&self, code: ErrorCode) -> Option<T> {
        if self.code != code {
            return None;
        }
        self.data.as_ref()?.decode().ok()
    }
}

/// The `data` of -32022. Schema `UnsupportedProtocolVersionError`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsupportedProtocolVersion {
    /// What the server serves, for the client to choose from.
    pub supported: Vec<ProtocolVersion>,
    /// What the request asked for.
    pub requested: ProtocolVersion,
}

/// The `data` of -32021. Schema `MissingRequiredClientCapabilityError`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingRequiredClientCapability {
    /// What the request needs of the client.
    pub required_capabilities: ClientCapabilities,
}

/// The `data` of -32602 for a resource that does not exist. Specification: Resources, Error Handling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceNotFound {
    /// The URI that was asked for.
    pub uri: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocation_policy() {
        // (code, legacy, reserved, may be sent)
        let table = [
            (-32700, false, false, true),
            (-32603, false, false, true),
            (-32600, false, false, true),
            (-32000, true, false, false),
            (-32002, true, false, false),
            (-32019, true, false, false),
            (-32020, false, true, true),
            (-32021, false, true, true),
            (-32022, false, true, true),
            (-32023, false, true, false),
            (-32042, false, true, false),
            (-32099, false, true, false),
            (-32100, false, false, false),
            (-32768, false, false, false),
            (-32769, false, false, true),
            (-31999, false, false, true),
            (0, false, false, true),
            (1, false, false, true),
        ];
        for (number, legacy, reserved, sent) in table {
            let code = ErrorCode(number);
            assert_eq!(code.is_legacy(), legacy, "{number}");
            assert_eq!(code.is_reserved(), reserved, "{number}");
            assert_eq!(code.may_be_sent(), sent, "{number}");
        }
    }

    #[test]
    fn both_forms_of_an_unknown_resource_are_understood() {
        for code in [-32602, -32002] {
            let text = format!(r#"{{"code":{code},"message":"m","data":{{"uri":"a:b"}}}}"#);
            let error: ErrorObject = serde_json::from_str(&text).unwrap();
            assert_eq!(error.as_resource_not_found().unwrap().uri, "a:b");
        }
        let sent = ErrorObject::resource_not_found("a:b");
        assert_eq!(sent.code, ErrorCode::INVALID_PARAMS);
        assert_eq!(sent.as_resource_not_found().unwrap().uri, "a:b");
    }

    #[test]
    fn data_of_another_code_is_not_mistaken() {
        let error = ErrorObject::unsupported_version(&[ProtocolVersion::V2026_07_28], "x");
        assert_eq!(error.as_unsupported_version().unwrap().requested.as_str(), "x");
        assert_eq!(error.as_missing_capability(), None);
        assert_eq!(error.as_resource_not_found(), None);
    }
}
