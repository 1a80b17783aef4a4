//! `Cors`: how web pages of allowed origins get to call the server and read what it answers.
//!
//! A browser asks first, by a *preflight*, whether a page may send a request like ours, and shows the page no
//! answer, errors included, without the server's leave. Which origins have it is decided where requests are let in,
//! by [`HeadPolicy`]; here it is only said. (Fetch standard, CORS protocol.)

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use mcp_transport::header::PARAM_PREFIX;
use mcp_transport::limits::{MAX_PARAM_HEADER_NAME, MAX_PARAM_HEADERS};

use crate::error::BuildError;
use crate::ladder::head::{self, HeadPolicy};
use crate::reply::Body;

/// What pages of allowed origins may send and read, for [`ServerBuilder::cors`](crate::ServerBuilder::cors).
///
/// To begin with they may send what the protocol has, mirrored `Mcp-Param-*` parameters included, `Authorization` and
/// the headers of trace context; and read `WWW-Authenticate` and `Retry-After` besides what every page may read.
/// Cookies are not for them: `Access-Control-Allow-Credentials` is never sent.
#[derive(Clone, Debug, Default)]
pub struct Cors {
    allowed: Vec<String>,
    exposed: Vec<String>,
}

impl Cors {
    /// 2 h, for which a browser may remember a preflight: the most that Chromium does.
    pub const MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);

    /// What the protocol needs.
    pub fn new() -> Self {
        Self::default()
    }

    /// More header fields that pages may send, such as those of an API key. A name that is none is an error when the
    /// server is built.
    #[must_use]
    pub fn allow_headers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.allowed.extend(names.into_iter().map(Into::into));
        self
    }

    /// More header fields of a response that pages may read, such as those that a layer sets. A name that is none is
    /// an error when the server is built.
    #[must_use]
    pub fn expose_headers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.exposed.extend(names.into_iter().map(Into::into));
        self
    }
}

/// A [`Cors`], encoded.
#[derive(Debug)]
pub(crate) struct CorsPolicy {
    allowed: HeaderValue,
    exposed: HeaderValue,
    /// Whether pages of public networks may call a server in a private one.
    private_network: bool,
}

impl CorsPolicy {
    /// `any_origin` for a server that nobody has told which pages may call it.
    pub(crate) fn new(cors: &Cors, any_origin: bool) -> Result<Self, BuildError> {
        Ok(Self {
            allowed: list(ALLOWED, &cors.allowed)?,
            exposed: list(EXPOSED, &cors.exposed)?,
            private_network: !any_origin,
        })
    }

    /// What is said to the page that `headers` come from.
    pub(crate) fn grant(&self, policy: &HeadPolicy, headers: &HeaderMap) -> Grant {
        let origin = head::origin(&policy.origins, headers).ok().flatten();
        Grant { page: origin.map(|origin| (origin.clone(), self.exposed.clone())) }
    }

    /// The answer to a preflight that has passed the checks of hosts, origins and paths; `None` for anything else.
    pub(crate) fn preflight(&self, policy: &HeadPolicy, head: &Parts) -> Option<Response<Body>> {
        let asks = |name: &HeaderName| head.headers.contains_key(name);
        let preflight = head.method == Method::OPTIONS
            && asks(&ORIGIN)
            && asks(&ACCESS_CONTROL_REQUEST_METHOD)
            && head::admit(policy, head).is_ok();
        if !preflight {
            return None;
        }
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(VARY, VARY_PREFLIGHT);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
        headers.insert(ACCESS_CONTROL_MAX_AGE, Cors::MAX_AGE.as_secs().into());
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.allowed_of(&head.headers));
        if self.private_network && head.headers.get(REQUEST_PRIVATE).is_some_and(|v| v == "true") {
            headers.insert(ALLOW_PRIVATE, HeaderValue::from_static("true"));
        }
        Some(response)
    }

    /// The headers that may be sent, with those of mirrored parameters that are asked for.
    fn allowed_of(&self, headers: &HeaderMap) -> HeaderValue {
        let lines = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
        let names = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
        // A name is a token, and so nothing that could end the header or begin another.
        let names = names.filter_map(|name| HeaderName::try_from(name.trim()).ok());
        let mut params = names.filter(is_param).take(MAX_PARAM_HEADERS).peekable();
        if params.peek().is_none() {
            return self.allowed.clone();
        }
        let mut list = String::new();
        for name in params {
            list.push_str(name.as_str());
            list.push_str(", ");
        }
        list.push_str(self.allowed.to_str().unwrap_or_default());
        value(list)
    }
}

/// Whether it is the header of a mirrored parameter, of a name that a tool of ours could have.
fn is_param(name: &HeaderName) -> bool {
    let param = name.as_str().strip_prefix(PARAM_PREFIX);
    param.is_some_and(|param| (1..=MAX_PARAM_HEADER_NAME).contains(&param.len()))
}

/// What a page is told with every response.
#[derive(Debug)]
pub(crate) struct Grant {
    /// The origin, if it is allowed, and which headers it may read.
    page: Option<(HeaderValue, HeaderValue)>,
}

impl Grant {
    pub(crate) fn apply(self, headers: &mut HeaderMap) {
        // A cache must not show one page what another was told, nor what nobody was told.
        if !headers.contains_key(VARY) {
            headers.insert(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some((origin, exposed)) = self.page {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// The names of `always` and `more`, joined.
fn list(always: &str, more: &[String]) -> Result<HeaderValue, BuildError> {
    let mut list = always.to_owned();
    for name in more {
        let Ok(name) = HeaderName::try_from(name) else {
            return Err(BuildError::HeaderName(name.clone()));
        };
        list.push_str(", ");
        list.push_str(name.as_str());
    }
    Ok(value(list))
}

/// Names of header fields are text that a header can carry.
fn value(names: String) -> HeaderValue {
    HeaderValue::try_from(names).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// What clients of the protocol send, and what instrumented pages add to every request.
const ALLOWED: &str = "content-type, accept, authorization, mcp-protocol-version, mcp-method, mcp-name, \
                       traceparent, tracestate, baggage";

/// What says how to go on after a 401, a 403, a 429 or a 503.
const EXPOSED: &str = "www-authenticate, retry-after";

const VARY_PREFLIGHT: HeaderValue = HeaderValue::from_static(
    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers, \
     Access-Control-Request-Private-Network",
);

/// Private Network Access, which browsers that have it ask about when a page of a public network calls into a private
/// one. Whoever listed the page's origin has answered that; who lets any origin in has not.
const REQUEST_PRIVATE: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");
