//! Signing in: access tokens for servers that want them.

mod address;
mod client_auth;
mod client_id;
mod code;
mod discovery;
mod error;
mod flow;
mod form;
mod grant;
mod guard;
mod http;
mod identity;
mod pkce;
mod policy;
mod pools;
mod registration;
mod scopes;
mod secret;
mod token;
mod token_endpoint;
mod url;

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
pub use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};
pub use policy::Policy;
pub use registration::{Registration, RegistrationKind};
pub use secret::Secret;
pub use token::Tokens;
