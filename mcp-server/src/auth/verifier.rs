//! `TokenVerifier`: what tells whether a token is good, and for whom.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_transport::auth::ProtectedResourceMetadata;

use super::{Access, TokenError};

/// What a verifier comes to.
pub type Verifying<'a> = Pin<Box<dyn Future<Output = Result<Access, TokenError>> + Send + 'a>>;

/// Tells whether a token is good for this server, and whose it is.
///
/// It must make sure that the token was issued by an authorization server that it trusts, that it was issued for
/// [`Presented::audience`], and that it has not expired by [`Presented::now`]. A token for another resource must be refused, however
/// valid it is. Specification: Authorization, Token Handling.
///
/// A function of a [`Presented`] that returns a future is a verifier as well:
///
/// ```
/// use mcp_server::auth::{Access, Presented, ResourceServer, TokenError};
///
/// async fn verify(presented: Presented) -> Result<Access, TokenError> {
///     match presented.token().as_str() {
///         "let-me-in" => Ok(Access::new("https://auth.example.com", "alice").with_scopes(["notes:read"])),
///         _ => Err(TokenError::invalid("The token is not known")),
///     }
/// }
///
/// ResourceServer::new("https://mcp.example.com/mcp")
///     .authorization_server("https://auth.example.com")
///     .verifier(verify);
/// ```
///
/// The future is dropped when the client leaves or [`ResourceServer::verify_time`](super::ResourceServer::verify_time)
/// is over, so it must bear that at any `.await`. One that panics is answered with 500.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no verifier of tokens",
    note = "implement `TokenVerifier`, or take a function `Fn(Presented) -> impl Future<Output = Result<Access, TokenError>> + Send`"
)]
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies what a request presented.
    fn verify(&self, presented: Presented) -> Verifying<'_>;

    /// The authentication schemes by which it takes tokens, in the order in which clients are told of them. Default is
    /// [`Scheme::Bearer`] alone. One that is not listed is answered as if no token had come. Like the rest below it is asked
    /// for once, when the server is built.
    fn schemes(&self) -> &[Scheme] {
        &[Scheme::Bearer]
    }

    /// The algorithms of key proofs that the challenge of [`Scheme::Dpop`] names, separated by spaces. Default is not
    /// to name them. RFC 9449, section 7.1.
    fn proof_algorithms(&self) -> Option<&str> {
        None
    }

    /// Adds what it has to say to the document that clients read. Default is nothing.
    fn describe(&self, metadata: &mut ProtectedResourceMetadata) {
        let _ = metadata;
    }
}

impl<F, Fut> TokenVerifier for F
where
    F: Fn(Presented) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Access, TokenError>> + Send + 'static,
{
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        Box::pin(self(presented))
    }
}

impl<V: TokenVerifier + ?Sized> TokenVerifier for Arc<V> {
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        V::verify(self, presented)
    }

    fn schemes(&self) -> &[Scheme] {
        V::schemes(self)
    }

    fn proof_algorithms(&self) -> Option<&str> {
        V::proof_algorithms(self)
    }

    fn describe(&self, metadata: &mut ProtectedResourceMetadata) {
        V::describe(self, metadata);
    }
}

/// How a token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// Whoever has it may use it. RFC 6750.
    Bearer,
    /// With the proof that its key is there, in the header `DPoP`. RFC 9449.
    Dpop,
}

impl Scheme {
    /// As it stands in headers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }
}

/// An access token. Its `Debug` form does not show it; it has no `Display`.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    pub(crate) fn new(token: &str) -> Self {
        Self(token.into())
    }

    /// The token itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// A token with everything that there is to judge it by. A cheap clone.
#[derive(Clone)]
pub struct Presented(Arc<Inner>);

struct Inner {
    token: Token,
    scheme: Scheme,
    audience: Arc<str>,
    now: SystemTime,
    head: http::request::Parts,
}

impl Presented {
    pub(crate) fn new(
        token: Token,
        scheme: Scheme,
        audience: Arc<str>,
        now: SystemTime,
        head: http::request::Parts,
    ) -> Self {
        Self(Arc::new(Inner { token, scheme, audience, now, head }))
    }

    /// The token.
    pub fn token(&self) -> &Token {
        &self.0.token
    }

    /// The scheme by which it came.
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// The identifier of the resource, for which the token has to have been issued.
    pub fn audience(&self) -> &str {
        &self.0.audience
    }

    /// The time at which it is judged, by the server's [clock](super::ResourceServer::clock).
    pub fn now(&self) -> SystemTime {
        self.0.now
    }

    /// The request's method, target, headers and extensions, without the header `Authorization`.
    pub fn head(&self) -> &http::request::Parts {
        &self.0.head
    }

    /// The head of the request back; a copy if a verifier kept a clone of this.
    pub(crate) fn into_head(self) -> http::request::Parts {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.head.clone(), |inner| inner.head)
    }
}

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No headers: a proof or a cookie is nobody's business either.
        f.debug_struct("Presented").field("scheme", &self.0.scheme).finish_non_exhaustive()
    }
}
