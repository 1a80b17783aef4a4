//! `Restart`: whether a server's process is started again.

use crate::backoff::Backoff;

/// Starts a server's process again when it has ended without being told to, at the next call or when a subscription is
/// [opened again](crate::Listen::relisten).
///
/// Calls that were under way fail: a server that has died may have done their work. The error
/// [is of the transport](crate::Error::is_transport), and a [`Retry`](crate::Retry) policy makes those again that may
/// be. What waits for the new process waits within its own timeout.
///
/// The pauses are counted from one start to the next, so that a process that ran for a while is replaced at once. One
/// that runs for as long as the longest of them counts as healthy; after too many in a row that do not, nothing is
/// started any more and calls fail at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    times: u32,
    backoff: Backoff,
}

impl Restart {
    /// 5 times in a row: what is broken for good is found out within a minute.
    pub const TIMES: u32 = 5;

    /// Again for [`TIMES`](Self::TIMES) times in a row, with the pauses of [`Backoff::new`].
    pub const fn new() -> Self {
        Self { times: Self::TIMES, backoff: Backoff::new() }
    }

    /// How often in a row it is started again at the most.
    #[must_use]
    pub const fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// The pauses from one start to the next, and with the longest how long a process must run to be healthy.
    #[must_use]
    pub const fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    pub(crate) const fn most(self) -> u32 {
        self.times
    }

    pub(crate) const fn pauses(self) -> Backoff {
        self.backoff
    }
}

impl Default for Restart {
    fn default() -> Self {
        Self::new()
    }
}
