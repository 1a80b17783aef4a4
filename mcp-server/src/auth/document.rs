//! The document by which a server tells clients who issues tokens for it, served at its well-known places.
//!
//! RFC 9728, section 3; Specification: Authorization Server Discovery, Protected Resource Metadata Discovery
//! Requirements.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE,
};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use mcp_transport::auth::ProtectedResourceMetadata;

use crate::ladder::head::{self, HeadPolicy};
use crate::rejection::Rejection;
use crate::reply::Body;
use crate::server::Server;

/// The document, encoded.
pub(crate) struct Document {
    json: Bytes,
    /// Paths, with a query where the resource has one.
    places: Vec<String>,
}

impl Document {
    pub(super) fn new(metadata: &ProtectedResourceMetadata, urls: &[String]) -> Self {
        let place = |url: &String| {
            let url: Uri = url.parse().ok()?;
            url.path_and_query().map(ToString::to_string)
        };
        // Strings, lists and JSON, which always encode.
        let json = serde_json::to_vec(metadata).unwrap_or_default().into();
        Self { json, places: urls.iter().filter_map(place).collect() }
    }

    /// Whether this is where it is. What a place has no query for may be asked for with any.
    fn is_at(&self, uri: &Uri) -> bool {
        self.places.iter().any(|place| match place.split_once('?') {
            None => place == uri.path(),
            Some((path, query)) => path == uri.path() && Some(query) == uri.query(),
        })
    }

    /// The answer to a request for it, wherever that may be from: it holds nothing that is not for everybody. `None` if
    /// the request is for something else.
    pub(crate) fn answer(&self, policy: &HeadPolicy, request: &Parts) -> Option<Response<Body>> {
        self.is_at(&request.uri).then(|| self.respond(policy, request))
    }

    fn respond(&self, policy: &HeadPolicy, request: &Parts) -> Response<Body> {
        if let Err(reason) = head::check_host(&policy.hosts, &request.uri, &request.headers) {
            return Rejection::new(reason).into_response();
        }
        let mut response = match request.method {
            Method::GET => Response::new(Body::full(self.json.clone())),
            Method::HEAD => {
                let mut response = Response::new(Body::default());
                response.headers_mut().insert(CONTENT_LENGTH, self.json.len().into());
                response
            }
            Method::OPTIONS => return preflight(),
            _ => {
                let mut response = Response::new(Body::default());
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
                response.headers_mut().insert(ALLOW, METHODS);
                return response;
            }
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, crate::reply::JSON);
        headers.insert(CACHE_CONTROL, FRESH);
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
        response
    }
}

/// Clients in pages send headers of the protocol along, about which browsers ask first.
fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ANY);
    headers.insert(ACCESS_CONTROL_MAX_AGE, crate::cors::Cors::MAX_AGE.as_secs().into());
    response
}

const ANY: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// 5 min: clients look again when a token stops being taken, and should not find an authorization server that is
/// being left.
const FRESH: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// The document of a protected server as a [`tower_service::Service`], to be routed by another HTTP stack.
/// [`serve`](Server::serve) serves it by itself. A cheap clone; always ready.
///
/// It answers GET and HEAD on whatever path it was routed to, to pages of every origin; the host is checked as it is
/// everywhere.
///
/// ```no_run
/// use axum::Router;
/// use mcp_server::Server;
///
/// fn router(server: &Server) -> Router {
///     let mut router = Router::new().route_service("/mcp", server.service());
///     if let Some(metadata) = server.metadata_service() {
///         for path in metadata.paths() {
///             router = router.route_service(&path, metadata.clone());
///         }
///     }
///     router
/// }
/// ```
#[derive(Clone, Debug)]
pub struct MetadataService {
    server: Server,
    policy: Arc<HeadPolicy>,
}

impl MetadataService {
    /// Where clients look for it: at the path that follows from the resource identifier, and at the root.
    pub fn paths(&self) -> Vec<String> {
        let places = self.server.shared.auth.iter().flat_map(|auth| &auth.document().places);
        let paths = places.map(|place| place.split('?').next().unwrap_or_default().to_owned());
        paths.collect()
    }
}

impl Server {
    /// The service of the document that tells clients who issues tokens; `None` for a server without
    /// [authorization](crate::ServerBuilder::auth).
    pub fn metadata_service(&self) -> Option<MetadataService> {
        self.shared.auth.as_ref()?;
        let policy = HeadPolicy { path: None, ..self.shared.head.clone() };
        Some(MetadataService { server: self.clone(), policy: Arc::new(policy) })
    }
}

impl<B> tower_service::Service<Request<B>> for MetadataService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, _) = request.into_parts();
        let answer = match &self.server.shared.auth {
            Some(auth) => auth.document().respond(&self.policy, &head),
            // It is made of protected servers only.
            None => Rejection::new(crate::rejection::Reason::Path).into_response(),
        };
        ready(Ok(answer))
    }
}
