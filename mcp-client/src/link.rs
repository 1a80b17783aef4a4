//! `Link`: what carries messages to the server and back.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Response};

use crate::endpoint::{Endpoint, ReplyBody};
use crate::future::BoxFuture;
use crate::messages::Messages;
#[cfg(feature = "oauth")]
use crate::oauth::Keeper;
use crate::pipe::Pipe;

/// The way to a server.
pub(crate) enum Link {
    /// A request for each message.
    Http(Endpoint),
    /// A line for each message.
    Pipe(Pipe),
}

/// What comes back for one request.
pub(crate) enum Reply {
    Http(Response<ReplyBody>),
    Lines(Messages),
}

impl Link {
    /// What every message begins with, where it has headers.
    pub(crate) fn headers(&self) -> HeaderMap {
        match self {
            Self::Http(endpoint) => endpoint.headers(),
            Self::Pipe(_) => HeaderMap::new(),
        }
    }

    /// What has the access token for the server.
    #[cfg(feature = "oauth")]
    pub(crate) const fn keeper(&self) -> Option<&Keeper> {
        match self {
            Self::Http(endpoint) => endpoint.keeper(),
            Self::Pipe(_) => None,
        }
    }

    /// On whose behalf requests are made, as far as that is settled here.
    #[cfg_attr(
        not(feature = "oauth"),
        expect(clippy::unused_self, reason = "the other one needs it")
    )]
    pub(crate) fn signed_in(&self) -> Option<Arc<str>> {
        #[cfg(feature = "oauth")]
        return self.keeper().map(Keeper::context);
        #[cfg(not(feature = "oauth"))]
        None
    }

    /// Resolves when the user signs out from now on, where one signs in.
    #[cfg_attr(
        not(feature = "oauth"),
        expect(clippy::unused_self, reason = "the other one needs it")
    )]
    pub(crate) fn signed_out(&self) -> Option<BoxFuture<'static, ()>> {
        #[cfg(feature = "oauth")]
        return self.keeper().map(Keeper::signed_out);
        #[cfg(not(feature = "oauth"))]
        None
    }

    /// Where the server is, without what may be secret.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Http(endpoint) => endpoint.shown(),
            Self::Pipe(_) => "a byte stream".to_owned(),
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}
