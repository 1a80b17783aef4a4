//! Signing in: access tokens for servers that want them.

mod address;
mod client;
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
mod keeper;
mod loopback;
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
pub use mcp_transport::auth::{Challenge, ProtectedResourceMetadata, Scopes};
pub use policy::Policy;
pub use registration::{Registration, RegistrationKind};
pub use secret::Secret;
pub use settings::OAuth;
pub use store::{Credentials, FileStore, Held, MemoryStore, TokenStore};
pub use token::Tokens;
