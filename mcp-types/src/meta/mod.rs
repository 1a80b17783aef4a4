//! `_meta`: what travels beside the payload of a request, a result or a notification.
//!
//! Each of the three has a typed head, the keys that the protocol defines for it, and keeps every
//! other key as it came. Reading takes any key; [`insert`](RequestMeta::insert) checks the name,
//! since what is written must be right.
//!
//! Specification: Overview, `_meta`.

mod key;

use serde::Serialize;

pub use key::{InvalidMetaKey, MetaKey};

use crate::object::open_object;
use crate::{
    ClientCapabilities, Implementation, LoggingLevel, ProgressToken, ProtocolVersion, RawJson,
    RequestId,
};

open_object! {
    /// The `_meta` of a request. Schema `RequestMetaObject`.
    ///
    /// A request on the wire must have `protocol_version` and `client_capabilities`; they are optional
    /// here because a client fills them in, and because a server has to say which one is missing.
    pub struct RequestMeta {
        /// Asks for progress notifications that carry this token.
        "progressToken" => progress_token: ProgressToken;
        /// The revision that the request follows; on HTTP also in a header.
        "io.modelcontextprotocol/protocolVersion" => protocol_version: ProtocolVersion;
        /// Who asks, for display and logs only; a malformed one is read as absent.
        "io.modelcontextprotocol/clientInfo" => client_info: Implementation, lenient;
        /// What the client can do for the server while this request is served.
        "io.modelcontextprotocol/clientCapabilities" => client_capabilities: ClientCapabilities;
        /// Asks for log messages of this level and above; without it none are sent.
        "io.modelcontextprotocol/logLevel" => log_level: LoggingLevel;
    }
}

open_object! {
    /// The `_meta` of a result. Schemas `ResultMetaObject` and `SubscriptionsListenResultMetaObject`.
    pub struct ResultMeta {
        /// Who answers, for display and logs only; a malformed one is read as absent.
        "io.modelcontextprotocol/serverInfo" => server_info: Implementation, lenient;
        /// The request that opened the subscription whose end this result is.
        "io.modelcontextprotocol/subscriptionId" => subscription_id: RequestId;
    }
}

open_object! {
    /// The `_meta` of a notification. Schema `NotificationMetaObject`.
    pub struct NotificationMeta {
        /// The request that opened the subscription this arrives on.
        "io.modelcontextprotocol/subscriptionId" => subscription_id: RequestId;
    }
}

open_object! {
    /// The `_meta` of anything else that has one: a tool, a resource, a content block. Schema
    /// `MetaObject`.
    pub struct Meta {
    }
}

/// W3C Trace Context and Baggage, as `_meta` carries them. Specification: Overview, OpenTelemetry
/// trace context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// The `traceparent` field: version, trace id, parent id and flags.
    pub traceparent: Option<String>,
    /// The `tracestate` field: what tracing systems add for themselves.
    pub tracestate: Option<String>,
    /// The `baggage` field: properties that go along with the trace.
    pub baggage: Option<String>,
}

macro_rules! insert {
    ($($name:ident),*) => {$(
        impl $name {
            /// Sets the key to the JSON of `value`, replacing what was there.
            ///
            /// # Errors
            /// [`InvalidMetaKey`] when `key` breaks the naming rules or has a typed field of its own, or
            /// when `value` has no form in JSON.
            pub fn insert<T: Serialize + ?Sized>(
                &mut self,
                key: &str,
                value: &T,
            ) -> Result<(), InvalidMetaKey> {
                let key = MetaKey::new(key)?;
                if Self::KEYS.contains(&key.as_str()) {
                    return Err(InvalidMetaKey::Typed);
                }
                let value = RawJson::new(value).or(Err(InvalidMetaKey::Value))?;
                self.other.insert(key.as_str(), value);
                Ok(())
            }
        }
    )*};
}
insert!(RequestMeta, ResultMeta, NotificationMeta, Meta);

macro_rules! trace_context {
    ($($name:ident),*) => {$(
        impl $name {
            /// The trace that this belongs to; fields that are absent or no strings are `None`.
            pub fn trace_context(&self) -> TraceContext {
                TraceContext {
                    traceparent: self.other.decode("traceparent"),
                    tracestate: self.other.decode("tracestate"),
                    baggage: self.other.decode("baggage"),
                }
            }

            /// Sets those fields of `trace` that are there.
            pub fn set_trace_context(&mut self, trace: &TraceContext) {
                for (key, value) in [
                    ("traceparent", &trace.traceparent),
                    ("tracestate", &trace.tracestate),
                    ("baggage", &trace.baggage),
                ] {
                    if let Some(value) = value {
                        self.other.insert(key, serde_json::Value::from(value.as_str()).into());
                    }
                }
            }
        }
    )*};
}
trace_context!(RequestMeta, NotificationMeta);

/// Something that carries a `_meta`: the parameters of a request or notification, or a result.
pub trait HasMeta {
    /// The kind of `_meta` it carries.
    type Meta;
    /// The `_meta`.
    fn meta(&self) -> &Self::Meta;
    /// The `_meta`, to change.
    fn meta_mut(&mut self) -> &mut Self::Meta;
}

/// Implements [`HasMeta`] for types with a field `meta`, such as the parameters and results of a method of your own:
/// `has_meta!(RequestMeta: MyParams);`.
#[macro_export]
macro_rules! has_meta {
    ($meta:ty: $($type:ty),+ $(,)?) => {$(
        impl $crate::HasMeta for $type {
            type Meta = $meta;
            fn meta(&self) -> &$meta {
                &self.meta
            }
            fn meta_mut(&mut self) -> &mut $meta {
                &mut self.meta
            }
        }
    )+};
}
pub(crate) use has_meta;

#[cfg(test)]
mod tests;
