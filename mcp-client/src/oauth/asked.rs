//! `Asked`: users who are sent to a page, how often, and whether they are still waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::flow::{AuthorizationUrl, Redirect, RedirectHandler};
use crate::error::BoxError;
use crate::future::{BoxFuture, first};

/// What is known of the users of one client.
#[derive(Debug, Default)]
pub(super) struct Asked {
    count: AtomicU64,
    /// Whether the sign-in that is under way, or was the last, is to come to nothing.
    given_up: watch::Sender<bool>,
}

impl Asked {
    /// How often a user was asked.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// A sign-in begins.
    pub(super) fn begin(&self) {
        self.given_up.send_replace(false);
    }

    /// Waits for nobody any more, not in the sign-in that is under way.
    pub(super) fn give_up(&self) {
        self.given_up.send_replace(true);
    }

    pub(super) fn is_given_up(&self) -> bool {
        *self.given_up.borrow()
    }

    async fn until_given_up(&self) {
        // Nobody else has the sender.
        let _ = self.given_up.subscribe().wait_for(|is| *is).await;
    }
}

/// Sends users to a page, and makes a note of it.
pub(super) struct Asking<H> {
    handler: H,
    asked: Arc<Asked>,
}

impl<H> Asking<H> {
    pub(super) fn new(handler: H, asked: &Arc<Asked>) -> Self {
        Self { handler, asked: Arc::clone(asked) }
    }
}

impl<H: RedirectHandler> RedirectHandler for Asking<H> {
    fn prepare<'a>(
        &'a self,
        registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        Box::pin(async move {
            let redirect = self.handler.prepare(registered).await?;
            let asked = Arc::clone(&self.asked);
            Ok(Box::new(AskingRedirect { redirect, asked }) as Box<dyn Redirect>)
        })
    }
}

struct AskingRedirect {
    redirect: Box<dyn Redirect>,
    asked: Arc<Asked>,
}

impl Redirect for AskingRedirect {
    fn uri(&self) -> &str {
        self.redirect.uri()
    }

    /// What can be given up at any time is the wait for the user, and nothing else of a sign-in: requests that are under way
    /// leave something behind.
    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        let Self { redirect, asked } = *self;
        Box::pin(async move {
            if asked.is_given_up() {
                return Err(SIGNED_OUT.into());
            }
            asked.count.fetch_add(1, Ordering::Relaxed);
            let came_back = first(redirect.authorize(url), asked.until_given_up()).await;
            came_back.unwrap_or_else(|| Err(SIGNED_OUT.into()))
        })
    }
}

const SIGNED_OUT: &str = "the application has signed out";
