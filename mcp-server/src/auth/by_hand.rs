//! The check of the token by itself, for people with an HTTP stack of their own.

use std::future::Future;
use std::pin::Pin;

use http::Response;
use http::request::Parts;

use super::Denied;
use crate::caller::RequestParts;
use crate::rejection::{Reason, Rejection};
use crate::reply::Body;
use crate::server::Server;

/// The head of a request whose token was taken, or the response to one whose token was not.
type Authenticating = Pin<Box<dyn Future<Output = Result<RequestParts, Response<Body>>> + Send>>;

impl Server {
    /// Makes the check of the token that a [service](Self::service) makes by itself, for whoever drives an
    /// [`Exchange`](crate::Exchange): what it resolves to is handed to that, or sent as the response. The header
    /// `Authorization` is taken out. A server without [authorization](crate::ServerBuilder::auth) lets everybody in.
    ///
    /// Host and origin are to be checked before, and how many there are at once as well. What the verifier wants in the
    /// response is in [`Access::response_headers`](super::Access::response_headers). Dropping the future loses the
    /// request and nothing else.
    ///
    /// ```
    /// use mcp_server::{Body, Exchange, ExchangeError, ExchangeOptions, Server, scan};
    ///
    /// # async fn example(
    /// #     server: Server, head: http::request::Parts, body: &[u8],
    /// # ) -> Result<http::Response<Body>, Box<dyn std::error::Error>> {
    /// let parts = match server.authenticate(head).await {
    ///     Ok(parts) => parts,
    ///     Err(response) => return Ok(response),
    /// };
    /// let exchange = Exchange::new(ExchangeOptions::default());
    /// exchange.connect(&server)?;
    /// Ok(exchange.handle(scan(body)?, parts).await?)
    /// # }
    /// ```
    pub fn authenticate(&self, mut head: Parts) -> Authenticating {
        let shared = self.shared.clone();
        Box::pin(async move {
            let Some(auth) = &shared.auth else { return Ok(head.into()) };
            let Some(credentials) = auth.credentials(&mut head).map_err(response)? else {
                return Ok(head.into());
            };
            let (head, _) = auth.verify(head, credentials).await.map_err(response)?;
            Ok(head.into())
        })
    }
}

fn response(denied: Denied) -> Response<Body> {
    Rejection::new(Reason::Denied(Box::new(denied))).into_response()
}
