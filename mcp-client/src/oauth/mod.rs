//! Signing in: access tokens for servers that want them.
//!
//! The [manual](crate::manual::oauth) tells how to, for those who never read an RFC. Here are the pieces.
//!
//! # By itself
//!
//! A client with [`OAuth`] set on its [builder](crate::ClientBuilder::oauth) does all of it when the server asks: a
//! [`RedirectHandler`] sends the user to the page and receives them back ([`LoopbackRedirect`] is one), and a
//! [`TokenStore`] keeps what comes of it ([`FileStore`], [`MemoryStore`]).
//!
//! Where nobody signs in, [`OAuth`] has other ways to begin: a service has a secret or a key ([`ClientId`]), a workload has
//! assertions of its platform ([`AssertionSource`]), and the users of an enterprise have signed in with its
//! [`IdentityProvider`]. All of them, and users who sign in, get tokens that are bound to a key where servers want it.
//!
//! # The steps
//!
//! What that is made of can be used without it.
//!
//! `Fetcher → Discovered → Identified → Registered → Pending → Received → Granted`
//!
//! Each is a type that only the one before it gives, so that no check can be left out. A [`Fetcher`] asks the server
//! who gives tokens for it ([`Discovered`]), and one of those what it can do ([`Identified`]). There the client has an
//! identity or gets one ([`Registered`]), with which one user is sent to a page ([`Pending`]). What the user comes
//! back with belongs to this sign-in and this issuer ([`Received`]), and is turned into tokens ([`Granted`]), which can be
//! refreshed.
//!
//! # Words
//!
//! An *issuer* is an authorization server by the name it calls itself, a URL. A *resource* is what tokens are good for: the
//! MCP server. An *identity* is who the client is to one issuer, and a *registration* is how one is kept.
//!
//! Specification: Authorization; Authorization Server Discovery; Client Registration; Security Considerations. Extensions:
//! OAuth Client Credentials; Enterprise-Managed Authorization. RFC 7523; RFC 9449.

mod address;
mod asked;
mod assertion;
mod client;
mod client_auth;
mod client_id;
mod code;
mod discovery;
mod dpop;
mod error;
mod flow;
mod form;
mod grant;
mod guard;
mod http;
mod identity;
mod keeper;
mod loopback;
mod machine;
mod parameters;
mod pkce;
mod policy;
mod pools;
mod receiver;
mod registration;
mod registry;
mod scopes;
mod secret;
mod settings;
mod store;
mod terms;
mod token;
mod token_endpoint;
mod token_in_use;
mod url;
mod work;

pub use client_id::{AuthMethod, ClientId};
pub use discovery::AuthorizationServerMetadata;
pub use error::{OAuthError, ProviderError};
pub use flow::{
    AuthorizationUrl, Discovered, Identified, Pending, Received, Redirect, RedirectHandler,
    Registered,
};
pub use grant::Granted;
pub use http::Fetcher;
pub use identity::{ClientMetadata, Identity};
pub(crate) use keeper::{Keeper, Tries};
pub use loopback::LoopbackRedirect;
pub use machine::{AssertionRequest, AssertionSource, IdentityAssertion, IdentityProvider};
pub use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};
pub use mcp_transport::jose::{Algorithm, InvalidKey, SigningKey};
pub use policy::Policy;
pub use registration::{Registration, RegistrationKind};
pub use secret::Secret;
pub use settings::OAuth;
pub use store::{Credentials, FileStore, Held, MemoryStore, TokenStore};
pub use token::Tokens;
