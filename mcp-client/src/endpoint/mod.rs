//! `Endpoint`: where messages are posted to.

#[cfg(feature = "oauth")]
mod authorize;
mod connect;
mod dial;
mod network;
#[cfg(feature = "proxy")]
mod proxy;
mod redirect;
mod service;
mod setters;
#[cfg(feature = "tls")]
mod tls;
#[cfg(unix)]
mod unix;
#[cfg(feature = "oauth")]
mod vetted;
#[cfg(feature = "proxy")]
mod via;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use mcp_transport::media;

pub(crate) use connect::pool;
pub(crate) use network::Network;
#[cfg(all(test, feature = "oauth", feature = "proxy"))]
pub(crate) use proxy::Proxies;
#[cfg(feature = "oauth")]
pub(crate) use service::Sent;
pub(crate) use service::{HttpService, ReplyBody, Tower};
#[cfg(feature = "oauth")]
pub(crate) use vetted::Vet;

use crate::body::skip;
use crate::deadline::Deadline;
use crate::error::{Error, Kind};
use crate::headers::ExtraHeaders;
use crate::limits::Limits;
#[cfg(feature = "oauth")]
use crate::oauth::Keeper;

/// One MCP endpoint, how it is reached, and what every request to it says.
pub(crate) struct Endpoint {
    uri: Uri,
    /// The protocol's constants and the client's own headers.
    headers: HeaderMap,
    service: Arc<dyn HttpService>,
    /// How the address is told, where the URL alone does not say it.
    shown: Option<Box<str>>,
    /// Has the access token for it.
    #[cfg(feature = "oauth")]
    keeper: Option<Keeper>,
}

/// Makes the headers of one request.
pub(crate) type Headers<'a> = dyn Fn() -> Result<HeaderMap, Error> + Send + Sync + 'a;

/// The same for where it goes.
type HeadersTo<'a> = dyn Fn(&Uri) -> Result<HeaderMap, Error> + Send + Sync + 'a;

impl Endpoint {
    pub(crate) fn new(uri: Uri, extra: &ExtraHeaders, service: Box<dyn HttpService>) -> Self {
        let service = service.into();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
        headers.insert(ACCEPT, HeaderValue::from_static(media::ACCEPT_BOTH));
        extra.apply(&mut headers);
        Self {
            uri,
            headers,
            service,
            shown: None,
            #[cfg(feature = "oauth")]
            keeper: None,
        }
    }

    /// The same at an address that is told in this way.
    #[cfg(unix)]
    pub(crate) fn shown_as(self, shown: String) -> Self {
        Self { shown: Some(shown.into()), ..self }
    }

    /// The HTTP below, for other requests than calls.
    #[cfg(feature = "oauth")]
    pub(crate) fn service(&self) -> Arc<dyn HttpService> {
        Arc::clone(&self.service)
    }

    /// The same with the tokens that `keeper` has.
    #[cfg(feature = "oauth")]
    pub(crate) fn kept_by(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    /// What has the access token for it.
    #[cfg(feature = "oauth")]
    pub(crate) const fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref()
    }

    /// The headers that every request begins with.
    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// The address without its query, which may hold secrets.
    pub(crate) fn shown(&self) -> String {
        self.shown.as_deref().map_or_else(|| shown(&self.uri), str::to_owned)
    }

    /// Posts `body`, with an access token where there is one to be had, and follows redirects of the same origin that
    /// keep it. `headers` is asked once for each request.
    ///
    /// # Errors
    /// When there is no response in time, or it redirects elsewhere, or there is no access token.
    pub(crate) async fn post(
        &self,
        headers: &Headers<'_>,
        body: &Bytes,
        deadline: &mut Deadline,
    ) -> Result<Response<ReplyBody>, Error> {
        #[cfg(feature = "oauth")]
        if let Some(keeper) = &self.keeper {
            // Boxed, so that calls without it are no larger.
            return Box::pin(authorize::post(self, keeper, headers, body, deadline)).await;
        }
        self.send(&|_| headers(), body, deadline).await
    }

    /// Posts `body` as it is. `headers` is told where each request goes.
    async fn send(
        &self,
        headers: &HeadersTo<'_>,
        body: &Bytes,
        deadline: &mut Deadline,
    ) -> Result<Response<ReplyBody>, Error> {
        let mut uri = self.uri.clone();
        for _ in 0..=Limits::REDIRECTS {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = headers(&uri)?;
            let sent = deadline.race(self.service.send(request)).await?;
            let response = sent.map_err(connect::classify)?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            let (head, rest) = response.into_parts();
            uri = redirect::target(&uri, head)?;
            tracing::debug!(to = shown(&uri), "a request was redirected");
            skip(rest).await;
        }
        Err(Error::new(Kind::Redirect {
            location: shown(&uri).into(),
            why: "is one redirect too many",
        }))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Reads the address of an endpoint.
///
/// # Errors
/// When it is no absolute URL of HTTP, or holds credentials, which nothing would send.
pub(crate) fn parse_url(url: &str) -> Result<Uri, Error> {
    let uri: Uri =
        url.parse().map_err(|error| Error::usage("the URL cannot be read").caused_by(error))?;
    let known =
        uri.scheme().is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    let Some(authority) = uri.authority().filter(|_| known) else {
        return Err(Error::usage("the URL must begin with http:// or https://"));
    };
    if let Some(fault) = authority_fault(authority) {
        return Err(Error::usage(format!("the URL cannot be used: {fault}")));
    }
    if authority.as_str().contains('@') {
        return Err(Error::usage("the URL holds credentials: set an authorization header instead"));
    }
    Ok(uri)
}

/// What is wrong with host or port.
fn authority_fault(authority: &Authority) -> Option<&'static str> {
    if authority.host().is_empty() {
        return Some("it has no host");
    }
    // What is no port would be taken for none, and the request sent to another server.
    let port = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    let is_wrong = port.is_some_and(|(_, port)| !port.is_empty()) && authority.port_u16().is_none();
    is_wrong.then_some("it has a port that is none")
}

fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{authority}{}", uri.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for url in ["http://h", "https://h:1/p?q", "http://[::1]:8080/mcp", "HTTP://H/"] {
            parse_url(url).unwrap();
        }
        for url in ["http://h:65536/", "http://[::1]:99999/"] {
            assert!(parse_url(url).unwrap_err().is_usage(), "{url}");
        }
        for url in ["", "/mcp", "h:80", "localhost", "ftp://h/", "http://", "http://u:p@h/", "a b"]
        {
            assert!(parse_url(url).unwrap_err().is_usage(), "{url}");
        }
        let uri = parse_url("http://h:1/p?token=s3cret").unwrap();
        assert_eq!(shown(&uri), "http://h:1/p");
    }
}
