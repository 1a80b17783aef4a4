//! `Pages`: a list, page by page. Specification: Pagination.

mod list;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mcp_types::{Page, PaginatedParams, Request};

use crate::call::{Finish, Options};
use crate::client::Client;
use crate::error::Error;
use crate::future::BoxFuture;
pub(crate) use list::List;

/// The pages of a list, each read when it is asked for. Made by [`Call::pages`](crate::Call::pages).
///
/// What was set on the call counts for each page, its timeouts too. It is a [`Stream`] as well, of the same items as
/// [`next`](Self::next) gives.
///
/// ```
/// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
/// let mut pages = client.list_resources().pages();
/// while let Some(page) = pages.next().await {
///     println!("{} resources", page?.resources.len());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a page is read when it is asked for"]
pub struct Pages<R: Request> {
    /// Not here while a page is read as of a stream.
    list: Option<List<R>>,
    reading: Option<Reading<R>>,
}

/// A page that is read as of a stream, which has no future of its own to read it in.
type Reading<R> = BoxFuture<'static, (List<R>, Option<Result<<R as Request>::Result, Error>>)>;

/// The future of all that a list has. Dropping it cancels the call.
pub type Collecting<R> =
    BoxFuture<'static, Result<Vec<<<R as Request>::Result as Page>::Item>, Error>>;

impl<R> Pages<R>
where
    R: Request<Params = PaginatedParams, Result: Page> + 'static,
{
    pub(crate) fn new(
        client: Client,
        params: Result<PaginatedParams, Error>,
        options: Options,
        finish: Finish<R::Result>,
    ) -> Self {
        Self { list: Some(List::new(client, params, options, finish)), reading: None }
    }

    /// Reads the next page; `None` behind the last, and behind an error that is not worth another try.
    ///
    /// Cancel safe: when the future is dropped, or the network failed, the same page is read next.
    ///
    /// # Errors
    /// See [`Error`]; when the pages go round in circles or are more than
    /// [`Limits::PAGES`](crate::Limits::PAGES).
    #[expect(clippy::should_implement_trait, reason = "an async iterator's step has this name")]
    pub fn next(&mut self) -> BoxFuture<'_, Option<Result<R::Result, Error>>> {
        Box::pin(async move {
            match &mut self.list {
                Some(list) => list.next().await,
                // What began as of a stream goes on as of one.
                None => poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await,
            }
        })
    }
}

/// A page that was begun is read on at the next poll, also in another task; dropping the stream cancels it.
impl<R> Stream for Pages<R>
where
    R: Request<Params = PaginatedParams, Result: Page> + 'static,
{
    type Item = Result<R::Result, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(mut list) = this.list.take() {
            this.reading = Some(Box::pin(async move {
                let page = list.next().await;
                (list, page)
            }));
        }
        let Some(reading) = &mut this.reading else {
            return Poll::Ready(None);
        };
        let (list, page) = ready!(reading.as_mut().poll(cx));
        (this.list, this.reading) = (Some(list), None);
        Poll::Ready(page)
    }
}

impl<R> fmt::Debug for Pages<R>
where
    R: Request<Params = PaginatedParams, Result: Page> + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("method", &R::METHOD)
            .field("read", &self.list.as_ref().map(List::read))
            .finish_non_exhaustive()
    }
}
