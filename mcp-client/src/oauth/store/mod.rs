//! Where credentials are kept, from one start of an application to the next.

mod file;
mod memory;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use file::FileStore;
pub use memory::MemoryStore;

use super::grant::Granted;
use super::registration::Registration;
use crate::error::BoxError;
use crate::future::BoxFuture;

/// Keeps [`Credentials`], those of a server under its URL: in a keychain, a database, a file.
///
/// What it fails with costs a sign-in or a registration and is logged as a warning; calls go on. Its futures may be
/// dropped at any time, so each must leave the old or the new. A store holds the credentials of one user; whoever acts
/// for several gives each a store.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept for `server`, if anything is.
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>>;

    /// Keeps `credentials` in place of what there is.
    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Forgets what is kept for `server`. Doing so again does nothing.
    fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Waits until nobody else holds `server`, and holds it until what this gives is dropped. Everything that first
    /// loads and then saves is done in between, such as renewing a token: a refresh token is often good for one use, and
    /// a second use is taken for theft.
    ///
    /// Default is to hold nothing, which does for a store that one client has to itself.
    fn hold<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Held, BoxError>> {
        let _ = server;
        Box::pin(std::future::ready(Ok(Held::nothing())))
    }
}

/// Shared by several clients.
impl<S: TokenStore + ?Sized> TokenStore for Arc<S> {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        (**self).load(server)
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        (**self).save(server, credentials)
    }

    fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        (**self).delete(server)
    }

    fn hold<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Held, BoxError>> {
        (**self).hold(server)
    }
}

/// What a [`TokenStore`] holds for somebody, until it is dropped.
#[must_use = "dropping it lets others go on"]
pub struct Held(Option<Box<dyn Any + Send>>);

impl Held {
    /// Nothing.
    pub const fn nothing() -> Self {
        Self(None)
    }

    /// What `guard` guards: a lock on a file, a row in a database.
    pub fn until_dropped(guard: impl Any + Send) -> Self {
        Self(Some(Box::new(guard)))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("is_nothing", &self.0.is_none()).finish()
    }
}

/// What is kept for one server: tokens, and who the client is to each of the authorization servers that it has met there.
///
/// Serialised it shows its secrets: whoever stores it protects the store. `Debug` does not show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Credentials {
    /// The tokens, and whom they are from; `None` where nobody is signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
    /// Names the sign-in that they come from: the same for tokens that were refreshed, another one for each sign-in.
    #[serde(default)]
    pub sign_in: String,
    /// Who the client is, one for each issuer, the last one met at the end.
    #[serde(default)]
    pub registrations: Vec<Registration>,
}

impl Credentials {
    /// 8 issuers of one server are remembered: servers have one, and move now and then.
    pub const REGISTRATIONS: usize = 8;

    /// Who the client is to `issuer`.
    pub fn registration(&self, issuer: &str) -> Option<&Registration> {
        self.registrations.iter().find(|it| it.issuer == issuer)
    }

    /// Remembers who the client is to an issuer, in place of what there is.
    pub(super) fn register(&mut self, registration: Registration) {
        self.registrations.retain(|it| it.issuer != registration.issuer);
        self.registrations.push(registration);
        let too_many = self.registrations.len().saturating_sub(Self::REGISTRATIONS);
        self.registrations.drain(..too_many);
    }
}
