//! Why a message was refused, and the one map from there to an HTTP status and an error object.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use mcp_transport::header::HeaderMismatch;
use mcp_transport::json::ScanError;
use mcp_transport::limits::MAX_QUOTED;
use mcp_types::{
    ClientCapabilities, ErrorCode, ErrorMessage, ErrorObject, ProtocolVersion, RequestId,
};

use crate::reply::Body;

/// The versions served, in the order of preference.
pub(crate) const SUPPORTED: &[ProtocolVersion] = &[ProtocolVersion::V2026_07_28];

/// A message that stopped at one of the checks, with the id that its answer must echo.
#[derive(Debug)]
pub struct Rejection {
    id: Option<RequestId>,
    reason: Box<Reason>,
    /// An `initialize` request: whatever refuses it has to name the versions served, since a legacy client
    /// has no other way to learn them. Specification: Versioning, Backward Compatibility.
    initialize: bool,
}

/// The checks that can fail, in the order of the ladder.
#[derive(Debug)]
pub(crate) enum Reason {
    /// None, or several, of which whatever stands before the server may have looked at another.
    NotOneHost,
    Host,
    Origin,
    Path,
    NotPost,
    NotJson,
    NotAcceptable,
    BodyTooLarge {
        limit: usize,
    },
    BodyTimeout {
        limit: Duration,
    },
    BodyUnreadable,
    LineTooLong {
        limit: usize,
    },
    Scan(ScanError),
    /// An answer, which no client sends over HTTP.
    Response,
    Header(HeaderMismatch),
    Version {
        requested: String,
    },
    Meta(String),
    Method(String),
    /// The reply has to be a stream.
    NeedsSse,
    Params(&'static str),
    UnknownTool(String),
    UnknownPrompt(String),
    /// One that the prompt requires.
    MissingArgument(String),
    UnknownResource(String),
    Capability(Box<ClientCapabilities>),
    /// Another request with this id is not answered yet, on a stream that they share.
    IdInFlight,
    CallerBusy,
    ServerBusy,
    TooManyListens {
        of_caller: bool,
    },
    /// A token, a better one, or scopes are wanted.
    #[cfg(feature = "auth")]
    Denied(Box<crate::auth::Denied>),
    /// The exchange was closed before its answer.
    Closed,
}

impl Rejection {
    pub(crate) fn new(reason: Reason) -> Self {
        Self { id: None, reason: Box::new(reason), initialize: false }
    }

    /// The rejection of the request `id` of `method`.
    pub(crate) fn of(id: RequestId, method: &str, reason: Reason) -> Self {
        Self { id: Some(id), reason: Box::new(reason), initialize: method == "initialize" }
    }

    /// The status that says it over HTTP.
    pub fn status(&self) -> StatusCode {
        match *self.reason {
            Reason::Host | Reason::Origin => StatusCode::FORBIDDEN,
            Reason::Path | Reason::Method(_) => StatusCode::NOT_FOUND,
            Reason::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Reason::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Reason::NotAcceptable | Reason::NeedsSse => StatusCode::NOT_ACCEPTABLE,
            Reason::BodyTooLarge { .. } | Reason::LineTooLong { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Reason::BodyTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
            Reason::NotOneHost
            | Reason::BodyUnreadable
            | Reason::Scan(_)
            | Reason::Response
            | Reason::Header(_)
            | Reason::Version { .. }
            | Reason::Meta(_)
            | Reason::Params(_)
            | Reason::UnknownTool(_)
            | Reason::UnknownPrompt(_)
            | Reason::MissingArgument(_)
            | Reason::UnknownResource(_)
            | Reason::Capability(_)
            | Reason::IdInFlight => StatusCode::BAD_REQUEST,
            Reason::CallerBusy | Reason::TooManyListens { of_caller: true } => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Reason::ServerBusy | Reason::TooManyListens { of_caller: false } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            #[cfg(feature = "auth")]
            Reason::Denied(ref denied) => denied.status(),
            Reason::Closed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The error object that says it in JSON-RPC.
    pub fn error(&self) -> ErrorObject {
        let mut error = self.reason.error();
        if self.initialize && error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
            let versions = SUPPORTED.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>();
            error.message =
                format!("{} (supported protocol versions: {})", error.message, versions.join(", "))
                    .into();
        }
        error
    }

    /// The message that says it, which is logged as well.
    pub(crate) fn message(&self) -> ErrorMessage {
        let error = self.error();
        tracing::debug!(status = %self.status(), code = %error.code, "request refused");
        // The reason quotes the request, which may be confidential.
        tracing::trace!(reason = ?self.reason, "why it was refused");
        ErrorMessage::new(self.id.clone(), error)
    }

    /// The whole answer over HTTP.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::json(&self.message()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, crate::reply::JSON);
        match *self.reason {
            Reason::NotPost => {
                headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            Reason::CallerBusy | Reason::ServerBusy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Reason::TooManyListens { .. } => {
                headers.insert(header::RETRY_AFTER, LISTEN_AGAIN);
            }
            #[cfg(feature = "auth")]
            Reason::Denied(ref denied) => denied.apply(headers),
            // What is left of the body would be read as the next request.
            Reason::BodyTooLarge { .. } | Reason::BodyTimeout { .. } => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// 30 s: subscriptions last, so that another attempt soon after would fail as well.
const LISTEN_AGAIN: HeaderValue = HeaderValue::from_static("30");

/// As much of a name as an error message has use for.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    cut(name, MAX_QUOTED)
}

/// At most `chars` of a text that may quote what a peer sent.
pub(crate) fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.split_at(end).0).into(),
    }
}

/// As much of a decoder's complaint as tells what is wrong: it may quote a value of any length.
pub(crate) const MAX_WHY: usize = 300;

impl Rejection {
    /// Whether it is one of a notification, which has no answer where none is due for the transport's sake.
    pub(crate) fn is_of_notification(&self) -> bool {
        matches!(&*self.reason, Reason::Scan(error) if error.is_of_notification())
    }
}

impl From<ScanError> for Rejection {
    fn from(error: ScanError) -> Self {
        Self { id: error.id.clone(), reason: Box::new(Reason::Scan(error)), initialize: false }
    }
}

impl Reason {
    pub(crate) fn error(&self) -> ErrorObject {
        let invalid = |message: &'static str| ErrorObject::invalid_request(message);
        match self {
            Self::NotOneHost => invalid("The request must have one Host"),
            Self::Host => invalid("The Host of the request is not one that this server answers to"),
            Self::Origin => invalid("The Origin of the request is not allowed"),
            Self::Path => invalid("There is no MCP endpoint at this path"),
            Self::NotPost => invalid("The MCP endpoint accepts POST only"),
            Self::NotJson => invalid("The Content-Type must be application/json, given once"),
            Self::NotAcceptable => invalid("Accept takes no application/json or text/event-stream"),
            Self::BodyTooLarge { limit } => ErrorObject::invalid_request(format!(
                "The request body is larger than {limit} bytes"
            )),
            Self::BodyTimeout { limit } => ErrorObject::invalid_request(format!(
                "The request body did not arrive within {} s",
                limit.as_secs_f32()
            )),
            Self::BodyUnreadable => ErrorObject::parse_error("The request body could not be read"),
            Self::LineTooLong { limit } => {
                ErrorObject::invalid_request(format!("The message is longer than {limit} bytes"))
            }
            Self::Scan(error) if error.is_parse() => {
                ErrorObject::parse_error(format!("Parse error: {error}"))
            }
            Self::Scan(error) => ErrorObject::invalid_request(format!("Invalid request: {error}")),
            Self::Response => invalid("A response cannot be sent to a server"),
            Self::Header(mismatch) => ErrorObject::header_mismatch(mismatch.to_string()),
            Self::Version { requested } => ErrorObject::unsupported_version(SUPPORTED, requested),
            Self::Meta(why) => {
                ErrorObject::invalid_params(format!("Invalid _meta: {}", cut(why, MAX_WHY)))
            }
            Self::Method(method) => ErrorObject::method_not_found(&shortened(method)),
            Self::Params(why) => ErrorObject::invalid_params(format!("Invalid params: {why}")),
            Self::UnknownTool(name) => {
                ErrorObject::invalid_params(format!("Unknown tool: {}", shortened(name)))
            }
            Self::UnknownPrompt(name) => {
                ErrorObject::invalid_params(format!("Unknown prompt: {}", shortened(name)))
            }
            Self::MissingArgument(name) => {
                ErrorObject::invalid_params(format!("Missing argument: {}", shortened(name)))
            }
            Self::UnknownResource(uri) => ErrorObject::resource_not_found(uri),
            Self::Capability(required) => {
                ErrorObject::missing_capability(required.as_ref().clone())
            }
            Self::IdInFlight => invalid("Another request with this id is still in flight"),
            Self::CallerBusy => invalid("Too many requests of this caller are under way"),
            Self::ServerBusy => invalid("Too many requests are under way"),
            Self::NeedsSse => invalid(
                "This method is answered by a stream: the Accept header must take text/event-stream",
            ),
            Self::TooManyListens { of_caller } => ErrorObject::internal_error(match of_caller {
                true => "Too many subscriptions of this caller are open",
                false => "Too many subscriptions are open",
            }),
            #[cfg(feature = "auth")]
            Self::Denied(denied) => denied.error(),
            Self::Closed => ErrorObject::internal_error("The exchange was closed"),
        }
    }
}
