//! Checks: each does one thing to the tested side and looks at what comes of it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::verdict::Verdict;
use crate::{client, server};

/// A check's work.
pub(crate) type Work = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// One check.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    /// Its id, by which requirements name it.
    pub(crate) id: &'static str,
    /// The transports over which it makes sense.
    pub(crate) over: Over,
    pub(crate) when: When,
    pub(crate) run: Run,
}

/// What a check tests.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    Server(fn(server::Cx) -> Work),
    Client(fn(client::Cx) -> Work),
}

/// When a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    /// Beside others.
    Beside,
    /// While no other runs, since it floods or measures time.
    Alone,
    /// Behind all others, since it judges what they have recorded.
    Last,
}

/// Transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Http,
    Stdio,
    Both,
}

impl Over {
    pub(crate) const fn has_http(self) -> bool {
        matches!(self, Self::Http | Self::Both)
    }

    pub(crate) const fn has_stdio(self) -> bool {
        matches!(self, Self::Stdio | Self::Both)
    }
}

impl Check {
    /// The same check, run while no other runs.
    pub(crate) const fn alone(mut self) -> Self {
        self.when = When::Alone;
        self
    }

    /// The same check, run behind all others.
    pub(crate) const fn last(mut self) -> Self {
        self.when = When::Last;
        self
    }

    pub(crate) const fn is_of_server(&self) -> bool {
        matches!(self.run, Run::Server(_))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// A check of servers: its id, its transports, and an `async fn(server::Cx) -> Verdict`.
macro_rules! server_check {
    ($id:literal, $over:ident, $work:path) => {
        $crate::check::Check {
            id: $id,
            over: $crate::check::Over::$over,
            when: $crate::check::When::Beside,
            run: $crate::check::Run::Server(|cx| Box::pin($work(cx))),
        }
    };
}

/// A check of clients: its id, its transports, and an `async fn(client::Cx) -> Verdict`.
macro_rules! client_check {
    ($id:literal, $over:ident, $work:path) => {
        $crate::check::Check {
            id: $id,
            over: $crate::check::Over::$over,
            when: $crate::check::When::Beside,
            run: $crate::check::Run::Client(|cx| Box::pin($work(cx))),
        }
    };
}

pub(crate) use {client_check, server_check};

/// Every check there is, in the order in which they are told of.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    server::AREAS.iter().chain(client::AREAS).flat_map(|area| area.iter())
}
