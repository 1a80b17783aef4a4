//! `Deadline`: when a call is given up.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::error::{Error, Kind};

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Without an answer; begins anew where [`Deadline::extend`] says so.
    pub(crate) idle: Option<Duration>,
    /// Whatever happens.
    pub(crate) total: Option<Duration>,
}

/// The two timeouts of one call under way, on one timer that is set to whichever ends first.
pub(crate) struct Deadline {
    timeouts: Timeouts,
    idle_at: Option<Instant>,
    total_at: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// Begins to count. Times too long to be told are none.
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let at = |timeout: Option<Duration>| timeout.and_then(|time| now.checked_add(time));
        Self { timeouts, idle_at: at(timeouts.idle), total_at: at(timeouts.total), sleep: None }
    }

    /// The same deadline, for somebody who counts by himself.
    pub(crate) const fn fork(&self) -> Self {
        Self { sleep: None, ..*self }
    }

    /// The total time of it alone.
    pub(crate) const fn total_alone(&self) -> Self {
        let timeouts = Timeouts { idle: None, ..self.timeouts };
        Self { timeouts, idle_at: None, sleep: None, ..*self }
    }

    /// Begins to count the idle time anew.
    pub(crate) fn extend(&mut self) {
        let idle = self.timeouts.idle;
        self.idle_at = idle.and_then(|idle| Instant::now().checked_add(idle));
    }

    /// Stops to count the idle time until it begins anew; nobody waits for an answer.
    pub(crate) const fn pause(&mut self) {
        self.idle_at = None;
    }

    /// Awaits `future` unless the time is up. The timer is asked first, and the thread is left to it now and then:
    /// a peer that always has something to read must not outrun it.
    pub(crate) async fn race<F: Future>(&mut self, future: F) -> Result<F::Output, Error> {
        let mut future = pin!(tokio::task::coop::cooperative(future));
        poll_fn(|cx| match self.poll(cx) {
            Poll::Ready(error) => Poll::Ready(Err(error)),
            Poll::Pending => future.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        loop {
            let Some(at) = self.idle_at.into_iter().chain(self.total_at).min() else {
                return Poll::Pending;
            };
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            // After a pause the idle time may end before what the timer was set to.
            if sleep.deadline() > at {
                sleep.as_mut().reset(at);
            }
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= at {
                return Poll::Ready(self.elapsed(at));
            }
            // It was extended meanwhile: setting the timer here is cheaper than at each extension.
            sleep.as_mut().reset(at);
        }
    }

    fn elapsed(&self, at: Instant) -> Error {
        let Timeouts { idle, total } = self.timeouts;
        Error::new(if self.total_at == Some(at) {
            Kind::Total(total.unwrap_or_default())
        } else {
            Kind::Idle(idle.unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn both_times_count() {
        let table = [
            (Some(2 * SECOND), Some(5 * SECOND), 0, "no answer within 2s", 2),
            (Some(2 * SECOND), Some(5 * SECOND), 9, "no answer within 5s in total", 5),
            (Some(2 * SECOND), None, 9, "no answer within 2s", 11),
            (None, Some(5 * SECOND), 9, "no answer within 5s in total", 5),
            (Some(5 * SECOND), Some(2 * SECOND), 0, "no answer within 2s in total", 2),
        ];
        for (idle, total, extensions, expected, after) in table {
            let started = Instant::now();
            let mut deadline = Deadline::start(Timeouts { idle, total });
            let mut extended = 0;
            let error = loop {
                if extended < extensions {
                    match deadline.race(tokio::time::sleep(SECOND)).await {
                        Ok(()) => deadline.extend(),
                        Err(error) => break error,
                    }
                    extended += 1;
                } else if let Err(error) = deadline.race(std::future::pending::<()>()).await {
                    break error;
                }
            };
            assert_eq!(error.to_string(), expected);
            assert_eq!(started.elapsed().as_secs(), after, "{expected}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_not_counted() {
        let times = Timeouts { idle: Some(2 * SECOND), total: Some(20 * SECOND) };
        let started = Instant::now();
        let mut deadline = Deadline::start(times);
        deadline.pause();
        deadline.race(tokio::time::sleep(5 * SECOND)).await.unwrap();
        deadline.extend();
        let error = deadline.race(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 2s");
        assert_eq!(started.elapsed().as_secs(), 7);

        let mut deadline = Deadline::start(times);
        deadline.pause();
        let error = deadline.race(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 20s in total");
    }

    #[tokio::test(start_paused = true)]
    async fn no_timeouts_and_huge_ones_never_end() {
        for time in [None, Some(Duration::MAX)] {
            let mut deadline = Deadline::start(Timeouts { idle: time, total: time });
            let year = tokio::time::sleep(SECOND * 60 * 60 * 24 * 365);
            deadline.race(year).await.unwrap();
        }
    }
}
