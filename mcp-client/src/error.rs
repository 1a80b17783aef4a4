//! `Error`: why a call has no result, sorted by who is to blame.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
#[cfg(feature = "validation")]
use mcp_transport::schema::Faults;
use mcp_types::{CallToolResult, ContentBlock, ErrorObject, InputRequired, RequestId};

use crate::limits::Limits;
#[cfg(feature = "oauth")]
use crate::oauth::OAuthError;

/// Any error, as tower and hyper have it.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a call has no result, or a client could not be built.
///
/// Ask it what happened: each predicate names one party. Its text is one clause without the cause, which
/// [`source`](StdError::source) has. What a server sent is cut to [`Limits::EXCERPT`] characters there, and
/// header values appear nowhere.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    head: Option<Head>,
    source: Option<BoxError>,
    is_legacy: bool,
}

/// What is known of the HTTP response.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

pub(crate) enum Kind {
    /// The caller's, found before anything is sent. Says what.
    Usage(Box<str>),
    /// The transport was stopped, or not started.
    Stopped,
    /// No answer for that long.
    Idle(Duration),
    /// No answer for that long, whatever else arrived.
    Total(Duration),
    Connect,
    /// There is a server or proxy, but it does not prove who it is.
    #[cfg(feature = "tls")]
    Untrusted,
    /// The request could not be sent or its response not be read.
    Exchange,
    /// The body broke off.
    Body,
    /// The byte stream to the server has ended.
    Closed,
    /// The server's process has ended, and will be started again.
    Died,
    /// The server's process could not be started.
    Spawn,
    /// A subscription that was not read in time.
    Behind,
    /// An HTTP status without a JSON-RPC error.
    Status {
        url: Box<str>,
        excerpt: Box<str>,
    },
    Redirect {
        location: Box<str>,
        why: &'static str,
    },
    Rpc(ErrorObject),
    InputRequired(InputRequired, Unanswered),
    /// An input handler failed, or gave what cannot be sent.
    Input,
    /// A layer around the call failed.
    Layer,
    /// A tool that failed where its structured content is wanted.
    Tool(CallToolResult),
    Protocol(Fault),
    /// No access token for the server.
    #[cfg(feature = "oauth")]
    OAuth,
    TooLarge {
        what: &'static str,
        limit: usize,
    },
}

/// Why the server did not get the input it asks for.
pub(crate) enum Unanswered {
    NoHandler,
    TooManyRounds(usize),
    TooMany(usize),
}

/// How an answer is wrong.
pub(crate) enum Fault {
    /// A status that says that there is no answer.
    NoAnswer,
    EmptyBody,
    /// Neither JSON nor a stream; what it is.
    MediaType(Option<Box<str>>),
    NotAMessage,
    NotAResponse,
    WrongId {
        sent: RequestId,
        found: Option<RequestId>,
    },
    StreamEnded,
    Undecodable,
    InputNotAllowed,
    /// A tool gives no structured content.
    NotStructured,
    /// What a tool gives is not what it promised.
    #[cfg(feature = "validation")]
    BreaksSchema,
    /// What it promised cannot be read.
    #[cfg(feature = "validation")]
    UnreadableSchema,
    /// A page that was there already follows.
    PagesInCircles,
    TooManyPages,
    /// The stream of a subscription did not begin.
    NotAcknowledged,
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self(Box::new(Inner { kind, head: None, source: None, is_legacy: false }))
    }

    pub(crate) fn usage(what: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Usage(what.into()))
    }

    pub(crate) fn protocol(fault: Fault) -> Self {
        Self::new(Kind::Protocol(fault))
    }

    pub(crate) fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn of_legacy_server(mut self) -> Self {
        self.0.is_legacy = true;
        self
    }

    pub(crate) fn with_head(self, status: StatusCode, headers: HeaderMap) -> Self {
        self.with_head_of(Some(Head { status, headers }))
    }

    pub(crate) fn with_head_of(mut self, head: Option<Head>) -> Self {
        self.0.head = head;
        self
    }

    /// The caller asked for something that cannot be sent, such as arguments that are no object or a
    /// header that is the protocol's own. Nothing was sent.
    pub fn is_usage(&self) -> bool {
        matches!(self.0.kind, Kind::Usage(_))
    }

    /// The [`HttpTransport`](crate::HttpTransport) was not started, or stopped before there was an answer.
    pub fn is_stopped(&self) -> bool {
        matches!(self.0.kind, Kind::Stopped)
    }

    /// The call's timeout or total timeout is over. The server may have done the work.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, Kind::Idle(_) | Kind::Total(_))
    }

    /// The network failed: no connection, or one that broke off. The server may have done the work unless
    /// [`is_connect`](Self::is_connect).
    pub fn is_transport(&self) -> bool {
        self.is_connect()
            || matches!(self.0.kind, Kind::Exchange | Kind::Body | Kind::Closed | Kind::Died)
    }

    /// No connection could be made, or none to a server whose certificate is trusted, so that the server has seen
    /// nothing of the call.
    pub fn is_connect(&self) -> bool {
        matches!(self.0.kind, Kind::Connect | Kind::Spawn) || self.is_untrusted()
    }

    /// A certificate does not verify.
    pub(crate) const fn is_untrusted(&self) -> bool {
        #[cfg(feature = "tls")]
        return matches!(self.0.kind, Kind::Untrusted);
        #[cfg(not(feature = "tls"))]
        false
    }

    /// The server, or something in between, broke the protocol: the answer is missing, to another request,
    /// of another kind, or no MCP at all.
    pub fn is_protocol(&self) -> bool {
        matches!(self.0.kind, Kind::Protocol(_) | Kind::Redirect { .. })
    }

    /// The server speaks earlier revisions only, which begin with an `initialize` handshake, as far as its answer
    /// tells: it says so, or it refuses with 400 and no error of this revision, or it does not know
    /// `server/discover`. What it answered is there all the same, such as the [`rpc`](Self::rpc) error.
    ///
    /// Over a byte stream, where there is no status, the [probe](crate::ClientBuilder::probe) or
    /// [`Client::discover`](crate::Client::discover) finds out. Specification: Versioning, Backward Compatibility with
    /// Initialization-Based Versions.
    pub fn is_legacy(&self) -> bool {
        self.0.is_legacy
    }

    /// The HTTP status says that something is wrong, and nothing else does.
    pub(crate) const fn is_status(&self) -> bool {
        matches!(self.0.kind, Kind::Status { .. })
    }

    /// What kind of error it is, in one word, for telemetry.
    pub(crate) fn class(&self) -> &'static str {
        match &self.0.kind {
            Kind::Usage(_) => "usage",
            Kind::Stopped => "stopped",
            Kind::Idle(_) | Kind::Total(_) => "timeout",
            Kind::Connect | Kind::Spawn => "connect",
            #[cfg(feature = "tls")]
            Kind::Untrusted => "certificate",
            Kind::Exchange | Kind::Body | Kind::Closed | Kind::Died => "transport",
            Kind::Behind => "behind",
            Kind::Status { .. } => "status",
            Kind::Rpc(_) => "rpc",
            Kind::InputRequired(..) | Kind::Input => "input",
            Kind::Layer => "layer",
            Kind::Tool(_) => "tool_error",
            Kind::Redirect { .. } | Kind::Protocol(_) => "protocol",
            #[cfg(feature = "oauth")]
            Kind::OAuth => "auth",
            Kind::TooLarge { .. } => "too_large",
        }
    }

    /// The byte stream to the server has ended, for good.
    pub(crate) const fn is_closed(&self) -> bool {
        matches!(self.0.kind, Kind::Closed)
    }

    /// A stream ended without what it was open for.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Behind | Kind::Protocol(Fault::StreamEnded | Fault::NotAcknowledged)
        )
    }

    /// Nothing is known of the answer, for reasons that may pass: the network, the time, a server out of order or busy.
    pub(crate) fn is_outage(&self) -> bool {
        let is_out_of_order = |status: StatusCode| {
            status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
        };
        self.is_transport()
            || self.is_timeout()
            || self.is_lost()
            || self.status().is_some_and(is_out_of_order)
    }

    /// The answer exceeds one of the client's [`Limits`].
    pub fn is_too_large(&self) -> bool {
        matches!(self.0.kind, Kind::TooLarge { .. })
    }

    /// An input handler of this client failed, or gave an answer that does not follow the form; the source says
    /// how. The server waits for nothing.
    pub fn is_input(&self) -> bool {
        matches!(self.0.kind, Kind::Input)
    }

    /// A [layer](crate::ClientBuilder::layer) around the call failed by itself; the source says how.
    pub fn is_layer(&self) -> bool {
        matches!(self.0.kind, Kind::Layer)
    }

    /// The server wants other credentials: status 401 or 403, see
    /// [`www_authenticate`](Self::www_authenticate); or there is no access token for it.
    pub fn is_auth(&self) -> bool {
        #[cfg(feature = "oauth")]
        if matches!(self.0.kind, Kind::OAuth) {
            return true;
        }
        matches!(self.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
    }

    /// Why there is no access token for the server, if that is what is wrong.
    #[cfg(feature = "oauth")]
    pub fn oauth(&self) -> Option<&OAuthError> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// The JSON-RPC error, if the server answered with one, whatever the status.
    pub fn rpc(&self) -> Option<&ErrorObject> {
        match &self.0.kind {
            Kind::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// What the server asks for before it can finish, if that is all that is in the way: nobody was set to
    /// answer it, or it was asked for in as many rounds as [`Limits::input_rounds`] allows. Answer it by calling
    /// again through [`Client::call`](crate::Client::call) with the answers in the parameters.
    pub fn input_required(&self) -> Option<&InputRequired> {
        match &self.0.kind {
            Kind::InputRequired(input, _) => Some(input),
            _ => None,
        }
    }

    /// What a tool said that failed, if a call wanted its [structured](crate::Call::structured) result.
    pub fn tool_failure(&self) -> Option<&CallToolResult> {
        match &self.0.kind {
            Kind::Tool(result) => Some(result),
            _ => None,
        }
    }

    /// Where a result breaks the output schema of its tool, if that is what is wrong.
    #[cfg(feature = "validation")]
    pub fn schema_faults(&self) -> Option<&Faults> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// The HTTP status, if there was a response. It may be 200: an answer can be wrong under any.
    pub fn status(&self) -> Option<StatusCode> {
        self.0.head.as_ref().map(|head| head.status)
    }

    /// The headers of the HTTP response, if there was one.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.0.head.as_ref().map(|head| &head.headers)
    }

    /// The challenges of the `WWW-Authenticate` headers. Specification: Authorization.
    pub fn www_authenticate(&self) -> impl Iterator<Item = &HeaderValue> {
        self.headers().into_iter().flat_map(|headers| headers.get_all(WWW_AUTHENTICATE))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status().map_or(0, |status| status.as_u16());
        if self.0.is_legacy {
            f.write_str("the server seems to speak earlier revisions of the protocol only: ")?;
        }
        match &self.0.kind {
            Kind::Usage(what) => f.write_str(what),
            Kind::Stopped => f.write_str("the transport is not running"),
            Kind::Idle(time) => write!(f, "no answer within {time:?}"),
            Kind::Total(time) => write!(f, "no answer within {time:?} in total"),
            Kind::Connect => f.write_str("cannot connect to the server"),
            #[cfg(feature = "tls")]
            Kind::Untrusted => f.write_str("the certificate of the server is not trusted"),
            Kind::Exchange => f.write_str("the HTTP exchange failed"),
            Kind::Body => f.write_str("the connection broke off within the reply"),
            Kind::Closed => f.write_str("the connection to the server has ended"),
            Kind::Died => f.write_str("the server's process has ended"),
            Kind::Spawn => f.write_str("the server's process cannot be started"),
            Kind::Behind => f.write_str("the subscription was not read in time"),
            Kind::Status { url, excerpt } if excerpt.is_empty() => {
                write!(f, "{url} answered with status {status}")
            }
            Kind::Status { url, excerpt } => {
                write!(f, "{url} answered with status {status}: {excerpt}")
            }
            Kind::Redirect { location, why } => {
                write!(f, "status {status} redirects to {location:?}, which {why}")
            }
            Kind::Rpc(error) => {
                let message = excerpt(error.message.as_bytes());
                write!(f, "the server answered: {message} ({})", error.code)
            }
            Kind::InputRequired(_, Unanswered::NoHandler) => {
                f.write_str("the server asks for input first")
            }
            Kind::InputRequired(_, Unanswered::TooManyRounds(rounds)) => {
                write!(f, "the server still asks for input after {rounds} rounds")
            }
            Kind::InputRequired(_, Unanswered::TooMany(requests)) => {
                write!(f, "the server asks {requests} things at once")
            }
            Kind::Input => f.write_str("the input that the server asks for could not be given"),
            Kind::Layer => f.write_str("a layer around the call failed"),
            Kind::Tool(result) => {
                let text = result.content.iter().find_map(ContentBlock::as_text);
                let text = text.unwrap_or("(no text)");
                write!(f, "the tool failed: {}", excerpt(text.as_bytes()))
            }
            Kind::Protocol(fault) => fault.fmt(f, status),
            #[cfg(feature = "oauth")]
            Kind::OAuth => f.write_str("there is no access token for the server"),
            Kind::TooLarge { what, limit } => write!(f, "{what} is longer than {limit} bytes"),
        }
    }
}

impl Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, status: u16) -> fmt::Result {
        match self {
            Self::NoAnswer => write!(f, "a request was answered with status {status} alone"),
            Self::EmptyBody => write!(f, "the answer with status {status} is empty"),
            Self::MediaType(None) => {
                write!(f, "the answer with status {status} has no Content-Type")
            }
            Self::MediaType(Some(found)) => {
                write!(f, "the answer with status {status} is of type {found:?}")
            }
            Self::NotAMessage => f.write_str("the answer is no JSON-RPC message"),
            Self::NotAResponse => f.write_str("the answer is no response"),
            Self::WrongId { sent, found } => match found {
                Some(found) => {
                    let found = excerpt(found.to_string().as_bytes());
                    write!(f, "the answer is to request {found}, not {sent}")
                }
                None => write!(f, "the answer to request {sent} has no id"),
            },
            Self::StreamEnded => f.write_str("the stream ended without a response"),
            Self::Undecodable => f.write_str("the result is not what the method gives"),
            Self::InputNotAllowed => {
                f.write_str("the server asks for input where the method does not allow it")
            }
            Self::NotStructured => f.write_str("the tool gave no structured content"),
            #[cfg(feature = "validation")]
            Self::BreaksSchema => f.write_str("the result breaks the output schema of its tool"),
            #[cfg(feature = "validation")]
            Self::UnreadableSchema => {
                f.write_str("the output schema of the tool is one that cannot be read")
            }
            Self::NotAcknowledged => f.write_str("the subscription ended before it began"),
            Self::PagesInCircles => f.write_str("the pages of the list go round in circles"),
            Self::TooManyPages => write!(f, "the list has more than {} pages", Limits::PAGES),
        }
    }
}

/// Says what it says and no more: headers may be secrets.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("message", &self.to_string())
            .field("status", &self.status())
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// A result that is not what the method gives. The cause is kept as text, which is cut: serde quotes what
/// it cannot read, and that may be most of the result.
pub(crate) fn undecodable(cause: &dyn fmt::Display) -> Error {
    let cause = excerpt(cause.to_string().as_bytes()).into_string();
    Error::protocol(Fault::Undecodable).caused_by(cause)
}

/// The beginning of a peer's text, fit for one line of a log.
pub(crate) fn excerpt(text: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(text);
    let mut out = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if let Some((cut, _)) = out.char_indices().nth(Limits::EXCERPT) {
        out.truncate(cut);
        out.push_str("...");
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn the_cause_is_told_once() {
        let error = Error::new(Kind::Connect).caused_by("the door is shut");
        assert_eq!(error.to_string(), "cannot connect to the server");
        assert_eq!(error.source().unwrap().to_string(), "the door is shut");
    }

    #[test]
    fn headers_are_not_told() {
        let mut headers = HeaderMap::new();
        headers.insert("set-cookie", HeaderValue::from_static("s3cret"));
        let error = Error::protocol(Fault::EmptyBody).with_head(StatusCode::OK, headers);
        assert!(!format!("{error:?} {error}").contains("s3cret"));
        assert_eq!(error.headers().unwrap()["set-cookie"], "s3cret");
    }

    #[test]
    fn texts_of_peers_are_short_and_on_one_line() {
        assert_eq!(&*excerpt(b" <html>\r\n\t<p>\x1b[31m hi\xff "), "<html> <p> [31m hi\u{fffd}");
        let long = excerpt("ä".repeat(100_000).as_bytes());
        assert_eq!(long.chars().count(), Limits::EXCERPT + 3);
    }
}
