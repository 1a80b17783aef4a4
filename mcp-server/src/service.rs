//! `McpService`: a server as a function from an HTTP request to an HTTP response.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};

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
