//! Authorization: which callers there are, and what each of them may do.
//!
//! A server is protected by [`ServerBuilder::auth`](crate::ServerBuilder::auth). It then is a resource server of OAuth
//! 2.1: it takes tokens that an authorization server has issued for it, and issues none. What that means for somebody who
//! has never had to do with it is told in the [manual](crate::manual::authorization).
//!
//! ```no_run
//! use mcp_server::auth::{Access, Presented, ResourceServer, TokenError};
//! use mcp_server::{Server, Tool};
//!
//! async fn verify(presented: Presented) -> Result<Access, TokenError> {
//!     # let _ = presented;
//!     // Asks a database, a provider, a library.
//!     Ok(Access::new("https://auth.example.com", "alice").with_scopes(["notes:read"]))
//! }
//!
//! async fn whoami(access: Access) -> String {
//!     access.subject().to_owned()
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! Server::builder("notes", "1.0.0")
//!     .tool(Tool::new("whoami", whoami).scopes(["notes:read"]))
//!     .auth(
//!         ResourceServer::new("https://mcp.example.com/mcp")
//!             .authorization_server("https://auth.example.com")
//!             .verifier(verify),
//!     )
//!     .hosts(["mcp.example.com"])
//!     .build()?
//!     .serve("127.0.0.1:8080")
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked when
//!
//! `Authorization → Token → TokenVerifier → Access → scopes → handler`.
//!
//! - The **token** is asked for as soon as host and origin are known to be allowed, before the path, the method or a byte of
//!   the body is looked at. It stands in one `Authorization` header; one in a query or a body is not seen. A request
//!   without it is answered with 401, and with the address of the [document](Server::metadata_service) that
//!   says who issues tokens; what cannot be a token, with 400.
//! - The **verifier** says whose it is and what it is good for, an [`Access`]. One that refuses makes 401; one that cannot
//!   say, for a provider is down, 503: the token may be good, and whoever has it should not throw it away.
//! - **Scopes** are compared once it is known what the request is for: what everything [needs](ResourceServer::required_scopes), what the
//!   [method](ResourceServer::method_scopes) needs, and what the [tool](crate::Tool::scopes), prompt, resource, template or custom method needs, be it
//!   [by its arguments](crate::Tool::scopes_for). Without one of them the answer is 403 and names all of them. What a
//!   [visibility filter](crate::ServerBuilder::visible) hides is unknown before that.
//!
//! Two kinds of requests need no token: those for the document, and preflights of web pages.
//!
//! # What becomes of it
//!
//! - The [`Caller`](crate::Caller) is that of the access, issuer and subject together: limits and rate limits count by it, and the states of
//!   handlers that ask are good for it alone. A caller or an access that a layer around the
//!   [`McpService`](crate::McpService) put among the extensions is taken out.
//! - Handlers take [`Access`]; layers, visibility filters and functions of scopes find it among the extensions of the
//!   request. The token itself is out of the headers by then. It must not be sent on to anybody, and cannot be: what
//!   your server asks of others it asks with credentials of its own. Specification: Authorization, Token Handling.
//! - A subscription ends with its result when the token [expires](Access::expires_at), and its client may come back with a
//!   new one. Calls under way go on to their end.
//! - What is read is cached privately wherever it takes a token, whatever the resource says. Lists go by
//!   [`list_cache`](crate::ServerBuilder::list_cache), which is private as well unless you say otherwise: say so only if
//!   everybody may know what there is.
//!
//! # Where there are no headers
//!
//! The rules are those of HTTP: on a byte stream nothing can be presented, so whoever serves it says who is at the
//! other end, by [`RequestParts::with_access`](crate::RequestParts::with_access). Whoever drives an
//! [`Exchange`](crate::Exchange) does the same, or has the token of a request verified by
//! [`Server::authenticate`]. Without a word a protected server refuses everything there (-32600; an exchange answers
//! with 401), and an [optional](ResourceServer::optional) one what takes scopes. Such an access has to be given scopes like every other, and is
//! refused once it has expired. Specification: Authorization, Protocol Requirements.

#[cfg(doc)]
use crate::Server;

mod access;
mod authorization;
mod by_hand;
#[cfg(feature = "verifiers")]
mod claims;
mod credentials;
mod denied;
mod document;
#[cfg(feature = "verifiers")]
mod dpop;
mod error;
#[cfg(feature = "verifiers")]
mod fetch;
#[cfg(feature = "verifiers")]
mod introspection;
#[cfg(feature = "verifiers")]
mod jwt;
mod required;
mod resource_server;
mod static_tokens;
mod verifier;

pub use access::Access;
pub(crate) use authorization::Authorization;
use credentials::MAX_TOKEN;
pub(crate) use denied::Denied;
pub use document::MetadataService;
#[cfg(feature = "verifiers")]
pub use dpop::{Dpop, NonceKey};
pub use error::TokenError;
#[cfg(feature = "verifiers")]
pub use fetch::{Fetch, FetchError, Fetching, HttpsFetch};
#[cfg(feature = "verifiers")]
pub use introspection::Introspection;
#[cfg(feature = "verifiers")]
pub use jwt::{Issuer, JwtVerifier};
pub use mcp_transport::auth::{ProtectedResourceMetadata, Scopes};
#[cfg(feature = "verifiers")]
pub use mcp_transport::jose;
pub use required::Operation;
pub(crate) use required::Required;
pub use resource_server::ResourceServer;
pub use static_tokens::StaticTokens;
pub use verifier::{Presented, Scheme, Token, TokenVerifier, Verifying};
