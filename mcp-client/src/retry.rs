//! `Retry`: which calls are made again when the network fails.

use std::time::Duration;

use http::StatusCode;
use http::header::RETRY_AFTER;
use mcp_types::Method;

use crate::backoff::Backoff;
use crate::error::Error;

/// Makes calls again, under new ids and after pauses, when they failed in a way that may pass.
///
/// Any call is, when no connection could be made: the server has seen nothing of it. A certificate that is not trusted
/// does not pass. Calls that only read (all
/// methods of the protocol but `tools/call`) are, when the connection broke off, the answer was lost, or the server
/// said that it is busy (429, 502, 503, 504). A tool may have done its work before its answer was lost, so that only
/// those are called again that the caller says are [idempotent](crate::Call::idempotent). Timeouts are final.
///
/// What a server says in `Retry-After` is kept to, where that is a number of seconds; one that wants more patience than
/// the longest pause of the backoff gets none. A date is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    times: u32,
    backoff: Backoff,
}

impl Retry {
    /// 2 times: what passes has mostly passed by then, and a person is still waiting.
    pub const TIMES: u32 = 2;

    /// Again for [`TIMES`](Self::TIMES) times, with the pauses of [`Backoff::new`].
    pub const fn new() -> Self {
        Self { times: Self::TIMES, backoff: Backoff::new() }
    }

    /// How often a call is made again at the most.
    #[must_use]
    pub const fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// The pauses in between. They count for the total timeout of the call.
    #[must_use]
    pub const fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// The pause before a call is made again that failed so often before; `None` when it is not.
    pub(crate) fn pause(self, error: &Error, is_idempotent: bool, failed: u32) -> Option<Duration> {
        if failed >= self.times || !may_pass(error, is_idempotent) {
            return None;
        }
        let wanted = retry_after(error).unwrap_or_default();
        (wanted <= self.backoff.longest()).then(|| self.backoff.pause(failed).max(wanted))
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a method of this name only reads.
pub(crate) fn only_reads(method: &str) -> bool {
    Method::from_name(method).is_some_and(|method| method != Method::CallTool)
}

fn may_pass(error: &Error, is_idempotent: bool) -> bool {
    let is_busy = matches!(
        error.status(),
        Some(
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        )
    );
    // A certificate is no better the next time.
    if error.is_untrusted() {
        return false;
    }
    error.is_connect()
        || is_idempotent
            && !error.is_closed()
            && (error.is_transport() || error.is_lost() || is_busy)
}

/// What the server wants to be waited for; dates are not read, since they need a calendar and a clock that agrees.
fn retry_after(error: &Error) -> Option<Duration> {
    let value = error.headers()?.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // More seconds than can be counted are more than anybody has.
    is_number.then(|| value.parse().map_or(Duration::MAX, Duration::from_secs))
}
