//! `Link`: what carries messages to the server and back.

use std::fmt;

use http::{HeaderMap, Response};

use crate::endpoint::{Endpoint, ReplyBody};
use crate::messages::Messages;
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
