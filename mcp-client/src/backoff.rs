//! `Backoff`: how long to wait before the next attempt.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// Pauses that double from one attempt to the next, each shortened by up to a half at random, so that the clients of
/// a server that comes back do not all come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// 500 ms before the first attempt: a restart behind a proxy takes about that long.
    pub const FIRST: Duration = Duration::from_millis(500);
    /// 30 s at the most: a server that is back is found soon, one that is not costs two requests a minute.
    pub const MOST: Duration = Duration::from_secs(30);

    /// Pauses of [`FIRST`](Self::FIRST) up to [`MOST`](Self::MOST).
    pub const fn new() -> Self {
        Self { first: Self::FIRST, most: Self::MOST }
    }

    /// The pause before the first attempt.
    #[must_use]
    pub const fn first(self, pause: Duration) -> Self {
        Self { first: pause, ..self }
    }

    /// The longest pause, and how long a connection must hold for pauses to begin anew with the first.
    #[must_use]
    pub const fn most(self, pause: Duration) -> Self {
        Self { most: pause, ..self }
    }

    pub(crate) const fn longest(self) -> Duration {
        self.most
    }

    /// The pause before an attempt that so many failed before.
    pub(crate) fn pause(self, failed: u32) -> Duration {
        let factor = 2_u32.checked_pow(failed).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.most);
        // A hasher has a random key of its own, which is all the randomness needed here.
        let thousandths = u32::try_from(RandomState::new().hash_one(failed) % 501);
        whole - whole / 1000 * thousandths.unwrap_or_default()
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_differ() {
        let backoff = Backoff::new();
        for (failed, whole) in [(0, 500), (1, 1000), (5, 16_000), (6, 30_000), (1000, 30_000)] {
            let whole = Duration::from_millis(whole);
            let pauses: Vec<_> = (0..100).map(|_| backoff.pause(failed)).collect();
            assert!(pauses.iter().all(|pause| (whole / 2..=whole).contains(pause)), "{pauses:?}");
            // A hundred equal ones do not come by chance.
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
            // They use the whole of the range.
            let quarter = whole / 8;
            assert!(pauses.iter().any(|pause| *pause < whole / 2 + 3 * quarter));
            assert!(pauses.iter().any(|pause| *pause > whole - 3 * quarter));
        }
        let huge = backoff.first(Duration::MAX).most(Duration::MAX).pause(3);
        assert!(huge >= Duration::MAX / 2);
        assert_eq!(backoff.first(Duration::ZERO).pause(9), Duration::ZERO);
    }
}
