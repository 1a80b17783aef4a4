//! `Fetcher`: the requests that it takes to get tokens.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use mcp_transport::media;
use serde::de::DeserializeOwned;

use super::dpop::Nonces;
use super::error::{Kind, OAuthError};
use super::form;
use super::guard::{Guard, Refused};
use super::policy::Policy;
use super::pools::Pools;
use super::url::{Url, shown};
use crate::body::{collect, skip};
use crate::endpoint::{HttpService, Network};
use crate::error::{BoxError, excerpt};
use crate::limits::Limits;

/// Sends the requests that it takes to get tokens for one server, over the HTTP that its client uses. A cheap clone.
///
/// Make one with [`ClientBuilder::build_fetcher`](crate::ClientBuilder::build_fetcher). Where the URLs come from
/// strangers it goes nowhere but to `https://`, or to this machine; and not to private networks,
/// unless the server is there itself or a [`Policy`] allows it. Where the application brought a
/// [connector](crate::ClientBuilder::connector) or a [service](crate::ClientBuilder::service), and where a proxy looks
/// names up, it is for them to see to which addresses names lead; literal addresses are looked at here all the same.
#[derive(Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

struct Shared {
    service: Arc<dyn HttpService>,
    guard: Arc<Guard>,
    server: Box<str>,
    policy: Policy,
    nonces: Nonces,
}

/// An answer.
pub(crate) struct Fetched {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Fetcher {
    /// Over what the application brought, a connector or a service.
    ///
    /// # Errors
    /// When `server` is none that tokens may be sent to.
    pub(crate) fn over(
        service: Arc<dyn HttpService>,
        server: &str,
        policy: Policy,
    ) -> Result<Self, OAuthError> {
        let guard = Guard::of(server, &policy)?;
        Ok(Self::new(service, guard.into(), server, policy))
    }

    /// Over connections of its own, made as those of `network` are.
    ///
    /// # Errors
    /// When `server` is none that tokens may be sent to.
    pub(crate) fn of_network(
        network: &Network,
        server: &str,
        policy: Policy,
    ) -> Result<Self, OAuthError> {
        let guard = Arc::new(Guard::of(server, &policy)?);
        let url = without_fragment(server);
        let url = Url::parse(url).map_err(|why| usage(url, why))?;
        let pools = Pools::new(network, &url, guard.clone());
        Ok(Self::new(Arc::new(pools), guard, server, policy))
    }

    fn new(service: Arc<dyn HttpService>, guard: Arc<Guard>, server: &str, policy: Policy) -> Self {
        let server = without_fragment(server).into();
        let nonces = Nonces::default();
        Self { shared: Arc::new(Shared { service, guard, server, policy, nonces }) }
    }

    /// The URL of the server, as it was set.
    pub fn server(&self) -> &str {
        &self.shared.server
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// What servers want to see in proofs of keys.
    pub(crate) fn nonces(&self) -> &Nonces {
        &self.shared.nonces
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// Gets a document. Redirects are followed within the origin.
    ///
    /// # Errors
    /// When it must not be asked for, or there is no answer in time.
    pub(crate) async fn get(&self, url: &str) -> Result<Fetched, OAuthError> {
        let mut url = url.to_owned();
        for _ in 0..=Limits::REDIRECTS {
            let fetched = self.send(Method::GET, &url, HeaderMap::new(), Bytes::new()).await?;
            match redirect(&url, &fetched) {
                Some(next) => url = next,
                None => return Ok(fetched),
            }
        }
        Err(OAuthError::new(Kind::Exchange, format!("{} redirects too often", shown(&url))))
    }

    /// Posts a form. Redirects are not followed: what is sent is for one place alone.
    ///
    /// # Errors
    /// As of [`get`](Self::get).
    pub(crate) async fn post_form(
        &self,
        url: &str,
        mut headers: HeaderMap,
        params: &[(&str, &str)],
    ) -> Result<Fetched, OAuthError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        let body = form::encode(params.iter().copied());
        self.send(Method::POST, url, headers, body.into()).await
    }

    /// Posts JSON, in the same way.
    ///
    /// # Errors
    /// As of [`get`](Self::get).
    pub(crate) async fn post_json(
        &self,
        url: &str,
        body: &serde_json::Value,
    ) -> Result<Fetched, OAuthError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
        self.send(Method::POST, url, headers, body.to_string().into()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, OAuthError> {
        self.shared.guard.check(url)?;
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = url.parse().map_err(|error| failed(url, "cannot be asked", error))?;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(media::JSON));
        let answer = tokio::time::timeout(Limits::OAUTH_TIME, self.exchange(url, request)).await;
        answer.unwrap_or_else(|_| {
            let time = Limits::OAUTH_TIME;
            Err(OAuthError::new(
                Kind::Exchange,
                format!("{} gave no answer within {time:?}", shown(url)),
            ))
        })
    }

    async fn exchange(
        &self,
        url: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Fetched, OAuthError> {
        let sent = self.shared.service.send(request).await;
        let (head, mut body) = sent.map_err(|error| unsent(url, error))?.into_parts();
        if head.status.is_redirection() {
            skip(body).await;
            return Ok(Fetched { status: head.status, headers: head.headers, body: Bytes::new() });
        }
        let read = collect(&mut body, Limits::OAUTH_BODY).await;
        let read = read.map_err(|error| failed(url, "broke off its answer", error))?;
        if !read.is_whole {
            let text =
                format!("{} answers with more than {} bytes", shown(url), Limits::OAUTH_BODY);
            return Err(OAuthError::new(Kind::Protocol, text));
        }
        Ok(Fetched { status: head.status, headers: head.headers, body: read.bytes })
    }
}

impl Fetched {
    /// What the answer says, if it is one and says that.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        self.status.is_success().then(|| serde_json::from_slice(&self.body).ok()).flatten()
    }

    /// Whether the answer may be another next time.
    pub(crate) fn may_pass(&self) -> bool {
        self.status.is_server_error() || self.status == StatusCode::TOO_MANY_REQUESTS
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("server", &shown(self.server())).finish_non_exhaustive()
    }
}

/// Where a document is that is not where it was asked for, if that is at the same origin.
fn redirect(url: &str, fetched: &Fetched) -> Option<String> {
    if !fetched.status.is_redirection() {
        return None;
    }
    let target = without_fragment(fetched.headers.get(LOCATION)?.to_str().ok()?);
    let from = Url::parse(url).ok()?;
    let next = if target.starts_with('/') && !target.starts_with("//") {
        from.join(target)
    } else {
        target.to_owned()
    };
    let is_same = Url::parse(&next).is_ok_and(|next| next.has_origin_of(&from));
    is_same.then_some(next)
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

fn usage(url: &str, why: &str) -> OAuthError {
    OAuthError::new(Kind::Usage, format!("{} {why}", shown(url)))
}

fn failed(url: &str, what: &str, error: impl Into<BoxError>) -> OAuthError {
    OAuthError::new(Kind::Exchange, format!("{} {what}", shown(url))).caused_by(error)
}

/// A request that was not answered, perhaps since nobody may answer it.
fn unsent(url: &str, error: BoxError) -> OAuthError {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&*error);
    while let Some(found) = cause {
        if let Some(refused) = found.downcast_ref::<Refused>() {
            return OAuthError::new(
                Kind::Unsafe,
                format!("{:?} is not asked: it {refused}", shown(url)),
            );
        }
        cause = found.source();
    }
    failed(url, "cannot be reached", error)
}

/// What an answer says that is none of those that were expected.
pub(crate) fn told(fetched: &Fetched) -> String {
    let said = excerpt(fetched.body.get(..Limits::EXCERPT_BYTES).unwrap_or(&fetched.body));
    let between = if said.is_empty() { "" } else { ": " };
    format!("status {}{between}{said}", fetched.status.as_u16())
}

const FORM: &str = "application/x-www-form-urlencoded";

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use tokio::net::TcpListener;

    use super::*;
    use crate::endpoint::Vet;

    /// Takes no address.
    struct Nobody(Guard);

    impl Vet for Nobody {
        fn vet(&self, host: &str, _address: IpAddr) -> Result<(), BoxError> {
            // As if the name led there.
            self.0.vet(host, IpAddr::from([10, 0, 0, 1]))
        }
    }

    /// Asks for a document at a host whose name leads to a private network.
    async fn ask(network: &Network, url: &str) -> OAuthError {
        let server = "https://mcp.example.com/mcp";
        let vet = Nobody(Guard::of(server, &Policy::new()).unwrap());
        let pools = Pools::new(network, &Url::parse(server).unwrap(), Arc::new(vet));
        let guard = Guard::of("http://localhost/", &Policy::new()).unwrap();
        let fetcher = Fetcher::new(Arc::new(pools), Arc::new(guard), server, Policy::new());
        fetcher.get(url).await.err().unwrap()
    }

    /// The listener has seen no connection.
    async fn is_untouched(listener: TcpListener) -> bool {
        let accepted = tokio::time::timeout(std::time::Duration::ZERO, listener.accept());
        accepted.await.is_err()
    }

    #[tokio::test]
    async fn what_a_name_leads_to_is_looked_at_before_it_is_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // Proxies of the environment do not concern this machine.
        let error = ask(&Network::default(), &format!("http://localhost:{port}/x?s3cret")).await;
        assert!(error.is_unsafe(), "{error:?}");
        assert!(error.to_string().contains("has an address that is private"), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"));
        assert!(is_untouched(listener).await);
    }

    #[cfg(feature = "proxy")]
    #[tokio::test]
    async fn what_is_looked_up_here_for_a_proxy_is_looked_at_as_well() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("socks5://{}", proxy.local_addr().unwrap());
        let proxies = crate::endpoint::Proxies::only(&url);
        let network = Network { proxies, ..Network::default() };
        let error = ask(&network, "http://localhost:1/").await;
        assert!(error.is_unsafe(), "{error:?}");
        assert!(is_untouched(proxy).await);
    }
}
