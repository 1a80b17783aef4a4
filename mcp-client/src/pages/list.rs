//! `List`: a list under way. Specification: Pagination.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use mcp_types::{Cursor, ErrorCode, Page, PaginatedParams, Request};

use super::Collecting;
use crate::cache::{Mode, Slot};
use crate::call::{Finish, Options};
use crate::client::Client;
use crate::deadline::Deadline;
use crate::error::{Error, Fault, Kind};
use crate::exchange::Exchange;
use crate::future::BoxFuture;
use crate::layer::Layering;
use crate::limits::Limits;
use crate::outgoing::{Outgoing, Typed};
use crate::receive::Answer;

/// A list that is read, and how far it was.
pub(crate) struct List<R: Request> {
    client: Client,
    options: Options,
    finish: Finish<R::Result>,
    /// The request for the next page; `None` behind the last.
    next: Option<Result<PaginatedParams, Error>>,
    seen: Seen,
}

impl<R> List<R>
where
    R: Request<Params = PaginatedParams, Result: Page> + 'static,
{
    pub(crate) fn new(
        client: Client,
        params: Result<PaginatedParams, Error>,
        options: Options,
        finish: Finish<R::Result>,
    ) -> Self {
        Self { client, options, finish, next: Some(params), seen: Seen::default() }
    }

    /// How many pages were read.
    pub(super) const fn read(&self) -> usize {
        self.seen.count
    }

    /// Reads the next page; `None` behind the last, and behind an error that is not worth another try. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Result<R::Result, Error>> {
        let mut deadline = Deadline::start(self.options.timeouts);
        self.step(&mut deadline).await
    }

    /// Reads all of it.
    pub(crate) fn collect(mut self) -> Collecting<R> {
        Box::pin(async move {
            let mut deadline = Deadline::start(self.options.timeouts);
            let first = match self.next.take() {
                Some(Ok(params)) => params,
                Some(Err(error)) => return Err(error),
                None => return Ok(Vec::new()),
            };
            let shared = self.client.shared();
            // What layers make of a call decides what it may be served, so that they have to see each page.
            let uses_cache = self.options.cache == Mode::Use && shared.layers.is_none();
            if uses_cache {
                if let Some(items) = self.cached(&first, Duration::ZERO) {
                    return Ok(items);
                }
                self.options.cache = Mode::Refresh;
            }
            self.restart(&first);
            let (mut items, mut restarted) = (Vec::new(), false);
            let limit = shared.limits.body;
            while let Some(page) = self.step(&mut deadline).await {
                match page {
                    Ok(_) if self.seen.bytes > limit => {
                        return Err(Error::new(Kind::TooLarge { what: "the list", limit }));
                    }
                    // Pages of different age do not make a list.
                    Ok(_) if self.seen.is_mixed() => {
                        self.options.cache = Mode::Refresh;
                        items.clear();
                        self.restart(&first);
                    }
                    Ok(page) => items.extend(page.into_items()),
                    Err(error) if !restarted && self.seen.count > 0 && is_refused(&error) => {
                        tracing::debug!(%error, "a list is read from the beginning again");
                        restarted = true;
                        items.clear();
                        self.restart(&first);
                    }
                    // Nothing of it is new yet.
                    Err(error) if uses_cache && !restarted && self.seen.count == 0 => {
                        return self.stand_in(&first, error);
                    }
                    Err(error) => return Err(error),
                }
                deadline.extend();
            }
            Ok(items)
        })
    }

    /// The stale list that is served in place of an error, where that is wanted.
    fn stand_in(
        &mut self,
        first: &PaginatedParams,
        error: Error,
    ) -> Result<Vec<<R::Result as Page>::Item>, Error> {
        let max_age = self.client.shared().stale_on_error.filter(|_| error.is_outage());
        self.restart(first);
        let Some(items) = max_age.and_then(|max_age| self.cached(first, max_age)) else {
            return Err(error);
        };
        tracing::warn!(%error, "a stale list is served");
        Ok(items)
    }

    /// All of the list from the cache, while all of its pages are fresh, or have ceased to be less than so long
    /// ago. Specification: Caching, Interaction with Pagination.
    fn cached(
        &mut self,
        first: &PaginatedParams,
        stale: Duration,
    ) -> Option<Vec<<R::Result as Page>::Item>> {
        let shared = self.client.shared();
        let (mut items, mut params) = (Vec::new(), first.clone());
        loop {
            let request = Typed::<R>(params);
            let answer = Slot::of(&shared, &self.options.headers, &request)?.within(stale)?;
            let page = (self.finish)(&self.client, &answer.found).ok()?;
            let cursor = self.seen.admit(page.next_cursor()).ok()?.cloned();
            items.extend(page.into_items());
            params = match cursor {
                Some(_) => PaginatedParams { cursor, ..request.0 },
                None => return Some(items),
            };
        }
    }

    fn restart(&mut self, first: &PaginatedParams) {
        (self.next, self.seen) = (Some(Ok(first.clone())), Seen::default());
    }

    async fn step(&mut self, deadline: &mut Deadline) -> Option<Result<R::Result, Error>> {
        let request = match self.next.take()? {
            Ok(params) => {
                self.next = Some(Ok(params.clone()));
                Box::new(Typed::<R>(params))
            }
            Err(error) => return Some(Err(error)),
        };
        let answer = read(&self.client, &mut self.options, deadline, request).await;
        Some(self.turn(answer))
    }

    /// Turns to the next page.
    fn turn(&mut self, answer: Result<Answer, Error>) -> Result<R::Result, Error> {
        let page = answer.and_then(|answer| {
            let Answer { head, found, is_cached } = answer;
            self.seen.cached += usize::from(is_cached);
            self.seen.bytes = self.seen.bytes.saturating_add(found.result.len());
            (self.finish)(&self.client, &found).map_err(|error| error.with_head_of(head))
        });
        let next = match &page {
            Ok(page) => self.seen.admit(page.next_cursor()).map(|cursor| {
                let params = self.next.take().and_then(Result::ok);
                params.zip(cursor).map(|(params, cursor)| PaginatedParams {
                    cursor: Some(cursor.clone()),
                    ..params
                })
            }),
            // The same page is worth another try when the server was not to blame.
            Err(error) if error.is_transport() || error.is_timeout() || error.is_lost() => {
                return page;
            }
            Err(_) => Ok(None),
        };
        match next {
            Ok(next) => {
                self.next = next.map(Ok);
                page
            }
            Err(error) => {
                self.next = None;
                Err(error)
            }
        }
    }
}

/// Reads one page. Not generic over the list, so that it is compiled here.
fn read<'a>(
    client: &'a Client,
    options: &'a mut Options,
    deadline: &'a mut Deadline,
    mut request: Box<dyn Outgoing>,
) -> BoxFuture<'a, Result<Answer, Error>> {
    Box::pin(async move {
        let shared = client.shared();
        if let Some(layers) = &shared.layers {
            let (options, deadline) = (options.clone(), deadline.fork());
            return Layering { shared: &shared, layers, options, deadline }.call(request).await;
        }
        Exchange { shared: &shared, options, deadline }.run(&mut *request).await
    })
}

/// Whether the server does not know the cursor any more.
fn is_refused(error: &Error) -> bool {
    error.rpc().is_some_and(|error| error.code == ErrorCode::INVALID_PARAMS)
}

/// Which pages there were, by hashes with a random key: a cursor may be long.
#[derive(Default)]
struct Seen {
    cursors: HashSet<u64>,
    hasher: RandomState,
    count: usize,
    /// How many of them were cached.
    cached: usize,
    bytes: usize,
}

impl Seen {
    /// Whether some were cached and others are new.
    const fn is_mixed(&self) -> bool {
        self.cached != 0 && self.cached != self.count
    }

    /// Lets the cursor of the next page through.
    fn admit<'a>(&mut self, next: Option<&'a Cursor>) -> Result<Option<&'a Cursor>, Error> {
        self.count += 1;
        let Some(cursor) = next else {
            return Ok(None);
        };
        if !self.cursors.insert(self.hasher.hash_one(cursor)) {
            return Err(Error::protocol(Fault::PagesInCircles));
        }
        if self.count >= Limits::PAGES {
            return Err(Error::protocol(Fault::TooManyPages));
        }
        Ok(next)
    }
}
