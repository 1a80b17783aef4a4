//! `McpService`: a server as a function from an HTTP request to an HTTP response.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::caller::RequestParts;
use crate::dispatch::{Begun, begin};
use crate::ladder::head::HeadPolicy;
use crate::ladder::{body, head};
use crate::rejection::{Reason, Rejection};
use crate::reply::{Body, Closed, Plan};
use crate::server::{Server, Shared};

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
}

impl Server {
    /// This server as a service.
    pub fn service(&self) -> McpService {
        let head = HeadPolicy { path: None, ..self.shared.head.clone() };
        McpService { server: self.clone(), head: Arc::new(head) }
    }
}

impl<B> tower_service::Service<Request<B>> for McpService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let (head, body) = request.into_parts();
        let boxed: UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>> =
            body.map_err(Into::into).boxed_unsync();
        respond(Arc::clone(&self.server.shared), &self.head, head, None, boxed)
    }
}

/// The whole exchange of one HTTP request.
pub(crate) fn respond<B>(
    shared: Arc<Shared>,
    policy: &HeadPolicy,
    head: http::request::Parts,
    peer: Option<SocketAddr>,
    body: B,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let accepts = head::check(policy, &head);
    let mut parts = RequestParts::from(head);
    parts.peer_addr = peer.or(parts.peer_addr);
    let admitted = accepts.and_then(|accepts| Ok((accepts, shared.gate.enter(&parts)?)));
    let (accepts, permit) = match admitted {
        Ok(admitted) => admitted,
        Err(reason) => return Box::pin(std::future::ready(Ok(refuse(reason)))),
    };
    let plan = shared.plan().limited_to(accepts);
    Box::pin(async move {
        let begun = match body::read(body, &shared.limits).await {
            Ok(body) => start(&shared, &body, parts, plan),
            Err(reason) => Begun::Done(refuse(reason)),
        };
        let response = match begun {
            Begun::Done(response) => response,
            // Nothing closes an exchange of this service but its own end.
            Begun::Working(respond) => {
                respond.await.unwrap_or_else(|Closed| refuse(Reason::ServerBusy))
            }
        };
        Ok(response.map(|body| body.holding(permit)))
    })
}

fn start(shared: &Arc<Shared>, body: &[u8], parts: RequestParts, plan: Plan) -> Begun {
    match mcp_transport::json::scan(body) {
        Ok(message) => begin(shared, message, parts, plan),
        Err(error) => Begun::Done(Rejection::from(error).into_response()),
    }
}

fn refuse(reason: Reason) -> Response<Body> {
    Rejection::new(reason).into_response()
}
