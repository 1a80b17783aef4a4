//! `RedirectHandler`: how a user gets to the page of the authorization server, and back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::BoxError;
use crate::future::BoxFuture;

/// Sends users to the page where they sign in, and receives them when they come back.
pub trait RedirectHandler: Send + Sync {
    /// Makes ready to receive one user. `registered` are the redirect URIs that the authorization server knows already;
    /// one of them saves another registration. Empty is no restriction.
    fn prepare<'a>(
        &'a self,
        registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>>;
}

/// One user's way to the page and back. Dropping it gives it up.
pub trait Redirect: Send {
    /// Where the user is sent back to. It is given to the authorization server to the byte.
    fn uri(&self) -> &str;

    /// Sends the user to `url`, and gives the URL to which the user came back, or the query of it alone. What it says is
    /// checked by the caller. Dropping the future gives it up.
    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>>;
}

/// The page where a user signs in, for one time.
///
/// `Debug` shows where it is and not its query, which belongs to the user alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationUrl {
    url: String,
    state: String,
}

impl AuthorizationUrl {
    pub(crate) const fn new(url: String, state: String) -> Self {
        Self { url, state }
    }

    /// The URL, to be opened in a browser. It begins with `https://`, or `http://` on this machine, and holds nothing but
    /// printable characters of ASCII; give it to a program as one argument, never to a shell.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// The parameter `state`, with which the user comes back. Who comes with another was sent by somebody else.
    pub fn state(&self) -> &str {
        &self.state
    }
}

impl fmt::Debug for AuthorizationUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.split('?').next().unwrap_or_default())
    }
}
