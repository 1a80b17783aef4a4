//! Futures: boxed ones, and several at once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// A future of a `T` whose own type is forgotten.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Awaits all of them, polled one after the other in the same task, and gives what they give in their order; or
/// the first error, which drops the others.
pub(crate) async fn try_join_all<T: Unpin, E>(
    futures: Vec<BoxFuture<'_, Result<T, E>>>,
) -> Result<Vec<T>, E> {
    let mut slots: Vec<_> = futures.into_iter().map(Slot::Waiting).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for slot in &mut slots {
            if let Slot::Waiting(future) = slot {
                match future.as_mut().poll(cx) {
                    Poll::Ready(Ok(value)) => *slot = Slot::Done(value),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await?;
    let value = |slot| match slot {
        Slot::Done(value) => Some(value),
        Slot::Waiting(_) => None,
    };
    Ok(slots.into_iter().filter_map(value).collect())
}

/// Awaits `future`, unless `other` is done before it.
pub(crate) async fn first<T>(
    future: impl Future<Output = T>,
    other: impl Future<Output = ()>,
) -> Option<T> {
    let (mut future, mut other) = (pin!(future), pin!(other));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => other.as_mut().poll(cx).map(|()| None),
    })
    .await
}

enum Slot<'a, T, E> {
    Waiting(BoxFuture<'a, Result<T, E>>),
    Done(T),
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn all_go_on_together() {
        // Each waits for the other.
        let (a, b) = (oneshot::channel(), oneshot::channel());
        let first: BoxFuture<'_, Result<u8, ()>> = Box::pin(async {
            a.0.send(()).unwrap();
            b.1.await.unwrap();
            Ok(1)
        });
        let second: BoxFuture<'_, Result<u8, ()>> = Box::pin(async {
            a.1.await.unwrap();
            b.0.send(()).unwrap();
            Ok(2)
        });
        let third: BoxFuture<'_, Result<u8, ()>> = Box::pin(ready(Ok(3)));
        assert_eq!(try_join_all(vec![second, third, first]).await, Ok(vec![2, 3, 1]));
    }

    #[tokio::test]
    async fn an_error_ends_all() {
        let hangs: BoxFuture<'_, Result<u8, u8>> = Box::pin(pending());
        let fails: BoxFuture<'_, Result<u8, u8>> = Box::pin(ready(Err(7)));
        assert_eq!(try_join_all(vec![hangs, fails]).await, Err(7));
        assert_eq!(try_join_all::<u8, u8>(Vec::new()).await, Ok(vec![]));
    }
}
