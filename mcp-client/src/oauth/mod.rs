//! Signing in: access tokens for servers that want them.

mod client;
mod client_id;
mod code;
mod error;
mod flow;
mod grant;
mod http;
mod identity;
mod keeper;
mod loopback;
mod policy;
mod receiver;
mod registration;
mod registry;
mod secret;
mod settings;
mod store;
mod token;
mod token_in_use;
mod work;

pub use client_id::{AuthMethod, ClientId};
pub use error::{OAuthError, ProviderError};
pub use flow::{AuthorizationUrl, Redirect, RedirectHandler};
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
