//! `McpService`: a server as a function from an HTTP request to an HTTP response.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use mcp_transport::media::Accepts;

#[cfg(feature = "auth")]
use crate::auth::{Access, Scheme, Token};
#[cfg(feature = "auth")]
use crate::caller::PeerAddr;
use crate::caller::{Connection, RequestParts};
use crate::dispatch::begin;
use crate::ladder::head::HeadPolicy;
use crate::ladder::{body, head};
use crate::permit::Permit;
use crate::rejection::{Reason, Rejection};
use crate::reply::{Body, Closed, Plan, Responding};
use crate::server::{Server, Shared};
use crate::subscription::Group;

/// The future of a response. Dropping it cancels the call.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// A server as a [`tower_service::Service`], to be mounted in axum or put behind tower layers. A cheap
/// clone; always ready.
///
/// It makes every check that [`Server::serve`] makes but that of the path, since whatever called it has
/// routed the request. Layers hand things to handlers through the request's extensions: a
/// [`Caller`](crate::Caller), a [`PeerAddr`](crate::PeerAddr), anything else.
#[derive(Clone, Debug)]
pub struct McpService {
    server: Server,
    head: Arc<HeadPolicy>,
    /// The subscriptions opened through it and its clones.
    group: Group,
}

impl McpService {
    /// Ends every subscription that was opened through this service and its clones, with the result by which
    /// clients see that it was meant; what is opened later ends at once.
    ///
    /// Call it when the HTTP server around begins to shut down, which would wait for them for ever.
    /// [`serve`](Server::serve) does so by itself. Specification: Subscriptions, Graceful Closure.
    pub fn end_subscriptions(&self) {
        self.server.shared.subscriptions.hub.end(&self.group);
    }
}

impl Server {
    /// This server as a service.
    pub fn service(&self) -> McpService {
        let head = HeadPolicy { path: None, ..self.shared.head.clone() };
        McpService { server: self.clone(), head: Arc::new(head), group: Group::default() }
    }
}

impl<B> tower_service::Service<Request<B>> for McpService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let (head, body) = request.into_parts();
        let shared = Arc::clone(&self.server.shared);
        respond(shared, &self.head, self.group.clone(), head, None, body::boxed(body))
    }
}

/// The whole exchange of one HTTP request, and what a page is told about it.
pub(crate) fn respond<B>(
    shared: Arc<Shared>,
    policy: &HeadPolicy,
    group: Group,
    head: http::request::Parts,
    connection: Option<&Connection>,
    body: B,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    #[cfg(feature = "auth")]
    if let Some(auth) = &shared.auth
        && let Some(response) = auth.document().answer(policy, &head)
    {
        return Box::pin(std::future::ready(Ok(response)));
    }
    let Some(cors) = &shared.cors else {
        return exchange(shared, policy, group, head, connection, body);
    };
    let grant = cors.grant(policy, &head.headers);
    let responding = match cors.preflight(policy, &head) {
        Some(response) => Box::pin(std::future::ready(Ok(response))),
        None => exchange(shared, policy, group, head, connection, body),
    };
    Box::pin(async move {
        let mut response = responding.await?;
        grant.apply(response.headers_mut());
        Ok(response)
    })
}

/// The same without what is said to pages.
fn exchange<B>(
    shared: Arc<Shared>,
    policy: &HeadPolicy,
    group: Group,
    head: http::request::Parts,
    connection: Option<&Connection>,
    body: B,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let accepts = head::check(policy, &head);
    #[cfg(feature = "auth")]
    if shared.auth.is_some() && !matches!(accepts, Err(Reason::Host | Reason::Origin)) {
        return protected(shared, group, head, accepts, connection.cloned(), body);
    }
    admitted(shared, group, head, accepts, connection, body)
}

/// The same from the head on, whose checks have come to `accepts`.
fn admitted<B>(
    shared: Arc<Shared>,
    group: Group,
    head: http::request::Parts,
    accepts: Result<Accepts, Reason>,
    connection: Option<&Connection>,
    body: B,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let mut parts = RequestParts::from(head);
    if let Some(connection) = connection {
        parts.peer_addr = Some(connection.peer);
    }
    let admitted =
        accepts.and_then(|accepts| Ok((accepts, shared.gate.enter(&parts, connection)?)));
    let (accepts, permit) = match admitted {
        Ok(admitted) => admitted,
        Err(reason) => return Box::pin(std::future::ready(Ok(refuse(reason)))),
    };
    let plan = shared.plan().limited_to(accepts);
    Box::pin(async move {
        let mut permit = Some(permit);
        let responding = match body::read(body, &shared.limits).await {
            Ok(body) => start(&shared, &body, parts, plan, &mut permit, &group),
            Err(reason) => Responding::Ready(refuse(reason)),
        };
        let response = match responding {
            Responding::Ready(response) => response,
            // Nothing closes an exchange of this service but its own end.
            Responding::Working(respond) => {
                respond.await.unwrap_or_else(|Closed| refuse(Reason::Closed))
            }
        };
        #[cfg(feature = "http2")]
        crate::serve::handed(!http_body::Body::is_end_stream(response.body()));
        Ok(response.map(|body| body.holding(permit)))
    })
}

/// The same for a server that asks for tokens. The checks of the head are answered behind that of the token, and the body is
/// not read before.
#[cfg(feature = "auth")]
fn protected<B>(
    shared: Arc<Shared>,
    group: Group,
    mut head: http::request::Parts,
    accepts: Result<Accepts, Reason>,
    connection: Option<Connection>,
    body: B,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let Some(auth) = &shared.auth else {
        return admitted(shared, group, head, accepts, connection.as_ref(), body);
    };
    let credentials = match auth.credentials(&mut head) {
        Ok(Some(credentials)) => credentials,
        Ok(None) => return admitted(shared, group, head, accepts, connection.as_ref(), body),
        Err(denied) => {
            let response = refuse(Reason::Denied(Box::new(denied)));
            return Box::pin(std::future::ready(Ok(response)));
        }
    };
    Box::pin(async move {
        let verified = verify(&shared, head, credentials, connection.as_ref()).await;
        let (head, access) = match verified {
            Ok(verified) => verified,
            Err(reason) => return Ok(refuse(reason)),
        };
        let mut response =
            admitted(shared, group, head, accepts, connection.as_ref(), body).await?;
        for (name, value) in access.response_headers() {
            response.headers_mut().append(name, value.clone());
        }
        Ok(response)
    })
}

/// Has a token verified, which counts as an exchange of whoever is at the address, since nobody knows more yet.
#[cfg(feature = "auth")]
async fn verify(
    shared: &Arc<Shared>,
    head: http::request::Parts,
    credentials: (Scheme, Token),
    connection: Option<&Connection>,
) -> Result<(http::request::Parts, Access), Reason> {
    let known = head.extensions.get().map(|PeerAddr(address)| *address);
    let peer_addr = connection.map(|connection| connection.peer).or(known);
    let parts = RequestParts { peer_addr, ..RequestParts::default() };
    let _permit = shared.gate.enter(&parts, connection)?;
    // It was there when the credentials were taken.
    let auth = shared.auth.as_ref().ok_or(Reason::Closed)?;
    let verified = auth.verify(head, credentials).await;
    verified.map_err(|denied| Reason::Denied(Box::new(denied)))
}

fn start(
    shared: &Arc<Shared>,
    body: &[u8],
    parts: RequestParts,
    plan: Plan,
    permit: &mut Option<Permit>,
    group: &Group,
) -> Responding {
    let begun = match mcp_transport::json::scan(body) {
        Ok(message) => begin(shared, message, parts, plan, permit, Some(group)),
        Err(error) => Err(error.into()),
    };
    Responding::new(begun, plan)
}

fn refuse(reason: Reason) -> Response<Body> {
    Rejection::new(reason).into_response()
}
