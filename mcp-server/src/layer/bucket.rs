//! `Buckets`: how much of its rate each key has used up, by the generic cell rate algorithm.
//!
//! A bucket is one number: the time at which it will be full again. Time is nanoseconds since an origin of the caller's
//! choice, so nothing here looks at a clock. It may be full in a time that 64 bits cannot tell: cut off there, it would
//! never be found empty.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    /// Nanoseconds between two, on the average.
    interval: u64,
    /// How many at once, at least 1.
    burst: u32,
}

impl Rate {
    /// `count` in each `period`, so many at once. Nothing is rarer than once in the longest time there is, 584 years.
    pub(super) fn new(count: u32, period: Duration, burst: u32) -> Self {
        let interval = period.as_nanos() / u128::from(count.max(1));
        Self { interval: u64::try_from(interval).unwrap_or(u64::MAX), burst: burst.max(1) }
    }

    /// Takes one at the time `now` out of a bucket that is full at `full`: when it will be full then, or how long
    /// there will be none.
    fn take(self, full: u128, now: u64) -> Result<u128, Duration> {
        let (now, interval) = (u128::from(now), u128::from(self.interval));
        let full = full.max(now) + interval;
        let most = interval * u128::from(self.burst);
        match (full - now).saturating_sub(most) {
            0 => Ok(full),
            wait => Err(Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))),
        }
    }
}

/// The buckets of the keys that were used last; of any other key, the bucket is full.
///
/// Two generations: what is used moves to the young one, and when that has grown to half the limit the old one is
/// forgotten. So a key is safe until half the limit of other keys came after it, and neither sweeping nor a task is
/// needed.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    young: HashMap<K, u128>,
    old: HashMap<K, u128>,
    half: usize,
}

impl<K: Eq + Hash> Buckets<K> {
    /// For at most `limit` keys, at least 2.
    pub(super) fn new(limit: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), half: (limit / 2).max(1) }
    }

    /// Takes one out of the bucket of `key`; how long there will be none if it is empty.
    pub(super) fn take(&mut self, key: K, rate: Rate, now: u64) -> Result<(), Duration> {
        if let Some(full) = self.young.get_mut(&key) {
            *full = rate.take(*full, now)?;
            return Ok(());
        }
        let full = self.old.remove(&key).unwrap_or(0);
        let taken = rate.take(full, now);
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, *taken.as_ref().unwrap_or(&full));
        taken.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(count: u32, seconds: u64, burst: u32) -> Rate {
        Rate::new(count, Duration::from_secs(seconds), burst)
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let rate = rate(2, 1, 3);
        let mut buckets = Buckets::new(10);
        for _ in 0..3 {
            assert_eq!(buckets.take((), rate, 0), Ok(()));
        }
        assert_eq!(buckets.take((), rate, 0), Err(Duration::from_millis(500)));
        let later = SECOND / 5;
        assert_eq!(buckets.take((), rate, later), Err(Duration::from_millis(300)));
        assert_eq!(buckets.take((), rate, SECOND / 2), Ok(()));
        assert_eq!(buckets.take((), rate, SECOND / 2), Err(Duration::from_millis(500)));
        // What is refused costs nothing, and what is saved up is no more than the burst.
        for _ in 0..3 {
            assert_eq!(buckets.take((), rate, 100 * SECOND), Ok(()));
        }
        assert!(buckets.take((), rate, 100 * SECOND).is_err());
    }

    #[test]
    fn over_any_time_no_more_than_the_burst_and_the_rate() {
        for (count, burst) in [(1, 1), (3, 1), (3, 7), (10, 3)] {
            let mut buckets = Buckets::new(2);
            let passed = (0..1000)
                .filter(|step| buckets.take((), rate(count, 1, burst), step * SECOND / 100).is_ok())
                .count();
            let most = u64::from(burst) + 10 * u64::from(count);
            assert!(
                passed as u64 <= most && passed as u64 + 2 >= most,
                "{count} {burst}: {passed}"
            );
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for rate in [
            Rate::new(0, Duration::MAX, 0),
            Rate::new(1, Duration::MAX, u32::MAX),
            Rate::new(u32::MAX, Duration::ZERO, 1),
        ] {
            let mut buckets = Buckets::new(0);
            assert_eq!(buckets.take((), rate, u64::MAX / 2), Ok(()), "{rate:?}");
            let _ = buckets.take((), rate, u64::MAX);
        }
    }

    /// However slowly a bucket fills up, it can be emptied.
    #[test]
    fn what_is_rare_is_limited() {
        const YEAR: u64 = 365 * 24 * 60 * 60;
        for (count, period, burst) in [
            (0, Duration::MAX, 0),
            (1, Duration::MAX, 3),
            (1, Duration::from_secs(YEAR), 1000),
            (1, Duration::from_secs(u64::MAX), 1000),
        ] {
            let (rate, mut buckets) = (Rate::new(count, period, burst), Buckets::new(2));
            for now in 0..burst.max(1).into() {
                assert_eq!(buckets.take((), rate, now), Ok(()), "{rate:?}");
            }
            let wait = buckets.take((), rate, SECOND).unwrap_err();
            assert!(wait > Duration::from_secs(YEAR - 2), "{rate:?}: {wait:?}");
        }
    }

    #[test]
    fn keys_are_bounded_and_the_longest_unused_is_forgotten() {
        let mut buckets = Buckets::new(10);
        let rate = rate(1, 1000, 1);
        buckets.take(0, rate, 0).unwrap();
        for key in 1..1000 {
            assert!(buckets.take(0, rate, 0).is_err(), "it was used just before {key}");
            buckets.take(key, rate, 0).unwrap();
            assert!(buckets.young.len() + buckets.old.len() <= 10);
        }
        for key in 1000..1010 {
            buckets.take(key, rate, 0).unwrap();
        }
        assert_eq!(buckets.take(0, rate, 0), Ok(()), "it has been forgotten");
    }
}
