//! `Keeper`: the token of one server, which all calls use and one task at a time gets or renews.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use mcp_transport::auth::{Challenge, Scopes};
use tokio::sync::watch;
use tokio::time::Instant;

use super::asked::Asked;
use super::dpop::{self, Nonces};
use super::error::{Kind, OAuthError};
use super::grant::Grant;
use super::http::Fetcher;
use super::store::TokenStore;
use super::token_in_use::Token;
use super::work::{Refusals, ToObtain, Work};
use crate::builder::unique_name;
use crate::future::BoxFuture;

/// Has the token of one server for all calls. A cheap clone.
///
/// What changes it is done by one task at a time, which ends by itself: calls wait for it and may be dropped, but what
/// they wanted is there for the next.
#[derive(Clone)]
pub(crate) struct Keeper {
    core: Arc<Core>,
}

/// What the tasks work on.
pub(super) struct Core {
    pub(super) fetcher: Fetcher,
    pub(super) grant: Box<dyn Grant>,
    pub(super) store: Arc<dyn TokenStore>,
    /// Wanted whatever the server wants.
    pub(super) scopes: Scopes,
    /// Users who were sent to a page.
    pub(super) asked: Arc<Asked>,
    state: Mutex<State>,
    sign_outs: watch::Sender<()>,
}

pub(super) struct State {
    pub(super) token: Option<Arc<Token>>,
    /// Whether the store was asked.
    pub(super) is_loaded: bool,
    /// On whose behalf calls are made. One that was never comes back.
    pub(super) context: Arc<str>,
    pub(super) refusals: Refusals,
    job: Option<Job>,
    /// Until then nothing is renewed that is still good: it has just failed.
    quiet_until: Option<Instant>,
}

/// What is being done.
struct Job {
    work: Work,
    ended: Ended,
}

/// `None` while it goes on.
type Ended = watch::Receiver<Option<Result<(), OAuthError>>>;

/// What one call has been through.
#[derive(Default)]
pub(crate) struct Tries {
    refreshed: bool,
    /// Why it was not, by those who will say so again.
    refused: Option<OAuthError>,
    signed_in: bool,
    widened: usize,
}

impl Keeper {
    pub(super) fn new(
        fetcher: Fetcher,
        grant: Box<dyn Grant>,
        store: Arc<dyn TokenStore>,
        scopes: Scopes,
        asked: Arc<Asked>,
    ) -> Self {
        let state = Mutex::new(State {
            token: None,
            is_loaded: false,
            context: unique_name(),
            refusals: Refusals::default(),
            job: None,
            quiet_until: None,
        });
        let sign_outs = watch::Sender::new(());
        Self { core: Arc::new(Core { fetcher, grant, store, scopes, asked, state, sign_outs }) }
    }

    /// On whose behalf calls are made, as far as it is known yet.
    pub(crate) fn context(&self) -> Arc<str> {
        Arc::clone(&self.core.state().context)
    }

    /// What servers want to see in the proofs of keys.
    pub(crate) fn nonces(&self) -> &Nonces {
        self.core.fetcher.nonces()
    }

    /// Remembers the nonce that an answer of the server has; returns whether it has one.
    pub(crate) fn note_nonce(&self, headers: &HeaderMap) -> bool {
        self.nonces().note(self.core.server(), headers)
    }

    /// Waits until it is known what the store has.
    pub(crate) async fn loaded(&self) {
        // A store that fails is warned of, and is no reason to fail.
        let _ = self.join(&Work::Load).await;
    }

    /// The token to send, renewed if it is about to expire; `None` where nobody is signed in. It asks nobody.
    ///
    /// # Errors
    /// When it has expired and cannot be renewed for reasons that may pass.
    pub(crate) async fn token(&self, tries: &mut Tries) -> Result<Option<Arc<Token>>, OAuthError> {
        self.join(&Work::Load).await?;
        let Some(token) = self.current() else { return Ok(None) };
        if !token.is_due() || !self.can_refresh(&token) || self.is_quiet() {
            return Ok(Some(token));
        }
        match self.join(&Work::Refresh(Arc::clone(&token))).await {
            Err(error) if !token.has_expired() => {
                tracing::debug!(%error, "a token is used to its end, since it cannot be renewed");
                self.core.state().quiet_until = Instant::now().checked_add(QUIET);
                Ok(Some(token))
            }
            Err(error) if !error.is_refusal() => Err(error),
            // It is the last word, unless the server has gone over to others, which it says when it is asked.
            Err(error) if !self.core.grant.asks_user() => {
                tries.refused = Some(error);
                Ok(Some(token))
            }
            _ => Ok(self.current()),
        }
    }

    /// Another token than one, or none, that the server did not take: the one that is there meanwhile, else a renewed one,
    /// else that of another sign-in. Specification: Authorization, Token Handling.
    ///
    /// # Errors
    /// When there is none to be had, and when the server refuses one that is fresh from a sign-in.
    pub(crate) async fn renewed(
        &self,
        refused: Option<&Arc<Token>>,
        challenges: Vec<Challenge>,
        tries: &mut Tries,
    ) -> Result<Option<Arc<Token>>, OAuthError> {
        if let Some(token) = self.replaced(refused) {
            return Ok(Some(token));
        }
        // One that is bound is got in place of one that is not, and not by renewing that.
        let refused_as_is =
            refused.filter(|token| token.is_bound() || !dpop::is_required(&challenges));
        // One that had no time to be used says nothing of the server.
        if refused_as_is.is_some_and(|token| token.is_fresh() && !token.has_expired()) {
            return Err(refused_at_once());
        }
        if let Some(token) =
            refused_as_is.filter(|token| !tries.refreshed && self.can_refresh(token))
        {
            tries.refreshed = true;
            let renewed = match tries.refused.take() {
                Some(error) => Err(error),
                None => self.join(&Work::Refresh(Arc::clone(token))).await,
            };
            match renewed {
                Err(error) if self.is_over(&error) || self.has_moved(token, &challenges).await => {
                    tracing::debug!(%error, "a token cannot be renewed any more");
                }
                Err(error) => return Err(error),
                Ok(()) => {}
            }
            if let Some(token) = self.replaced(refused) {
                return Ok(Some(token));
            }
        }
        if tries.signed_in {
            return Err(refused_at_once());
        }
        tries.signed_in = true;
        self.obtain(refused, challenges, false).await
    }

    /// A token with the scopes that the server misses in one. Specification: Scope Challenge Handling.
    ///
    /// # Errors
    /// When it misses what was asked for already, or ever more.
    pub(crate) async fn widened(
        &self,
        refused: &Arc<Token>,
        challenges: Vec<Challenge>,
        tries: &mut Tries,
    ) -> Result<Option<Arc<Token>>, OAuthError> {
        if let Some(token) = self.replaced(Some(refused)) {
            return Ok(Some(token));
        }
        let missing = scopes(&challenges);
        if missing.is_empty() || refused.requested().contains_all(&missing) {
            return Err(insufficient(&challenges, &missing, "and a sign-in cannot add any"));
        }
        if tries.widened == self.core.grant.step_ups() {
            return Err(insufficient(&challenges, &missing, "and ever more after each sign-in"));
        }
        tries.widened += 1;
        self.obtain(Some(refused), challenges, false).await
    }

    /// Asks the user, whatever there is and was refused.
    pub(super) async fn sign_in(&self) -> Result<(), OAuthError> {
        self.join(&Work::Load).await?;
        self.obtain(self.current().as_ref(), Vec::new(), true).await.map(drop)
    }

    /// Forgets the tokens, those of a sign-in that is under way as well, and what was refused to whoever had them.
    pub(super) async fn sign_out(&self) -> Result<(), OAuthError> {
        self.join(&Work::Load).await?;
        let result = self.join(&Work::SignOut).await;
        self.core.state().refusals.forget();
        self.core.sign_outs.send_replace(());
        result
    }

    /// Resolves when the user signs out from now on.
    pub(crate) fn signed_out(&self) -> BoxFuture<'static, ()> {
        let mut sign_outs = self.core.sign_outs.subscribe();
        Box::pin(async move {
            if sign_outs.changed().await.is_err() {
                // Nobody is left who could.
                std::future::pending().await
            }
        })
    }

    /// A token from nothing in place of one, or none, unless it has been replaced already.
    async fn obtain(
        &self,
        refused: Option<&Arc<Token>>,
        challenges: Vec<Challenge>,
        by_request: bool,
    ) -> Result<Option<Arc<Token>>, OAuthError> {
        let after = self.current();
        if let Some(other) = after.as_ref().filter(|it| !is_same(it, refused)) {
            return Ok(Some(Arc::clone(other)));
        }
        let scopes = self.wanted(refused, &challenges);
        let to = ToObtain { after, challenges, scopes, by_request };
        self.join(&Work::Obtain(Arc::new(to))).await?;
        Ok(self.current())
    }

    /// Whether a token has to be got from nothing, since it was refused to renew one.
    fn is_over(&self, error: &OAuthError) -> bool {
        error.is_refusal() && self.core.grant.asks_user()
    }

    /// Whether the server has tokens from somebody else now, where a token came from that cannot be renewed.
    async fn has_moved(&self, token: &Token, challenges: &[Challenge]) -> bool {
        let discovered = self.core.fetcher.discover(challenges).await;
        discovered.is_ok_and(|it| !it.issuers().contains(&token.granted().issuer))
    }

    /// What the application wants, what was asked for and granted before, and what the challenges say.
    fn wanted(&self, had: Option<&Arc<Token>>, challenges: &[Challenge]) -> Scopes {
        let mut wanted = self.core.scopes.clone();
        if let Some(token) = had {
            wanted.extend(token.requested().iter());
            wanted.extend(token.granted().tokens.scopes().iter());
        }
        wanted.extend(scopes(challenges).iter());
        wanted
    }

    /// The token, if it is not this one.
    fn replaced(&self, refused: Option<&Arc<Token>>) -> Option<Arc<Token>> {
        self.current().filter(|token| !is_same(token, refused))
    }

    fn current(&self) -> Option<Arc<Token>> {
        self.core.state().token.clone()
    }

    fn can_refresh(&self, token: &Token) -> bool {
        self.core.grant.can_refresh(token.granted())
    }

    fn is_quiet(&self) -> bool {
        self.core.state().quiet_until.is_some_and(|until| Instant::now() < until)
    }

    /// Sees to it that `work` is done, by whomever, and waits for it. It goes on when the future is dropped.
    async fn join(&self, work: &Work) -> Result<(), OAuthError> {
        let mut is_again = false;
        loop {
            let Some((mut ended, is_this)) = self.enlist(work) else { return Ok(()) };
            let ended = ended.wait_for(Option::is_some).await.map(|ended| ended.clone());
            match ended {
                Ok(Some(result)) if is_this => return result,
                // It panicked, or its runtime has ended. A user is not asked twice for that.
                Err(_) if is_this && (is_again || matches!(work, Work::Obtain(_))) => {
                    return Err(OAuthError::new(Kind::Redirect, "the sign-in was broken off"));
                }
                Err(_) => is_again |= is_this,
                Ok(_) => {}
            }
        }
    }

    /// What is being done, and whether that is this work; `None` if there is nothing to do.
    fn enlist(&self, work: &Work) -> Option<(Ended, bool)> {
        let mut state = self.core.state();
        let signs_in = state.job.as_ref().is_some_and(|job| matches!(job.work, Work::Obtain(_)));
        if !work.is_needed(&state, signs_in) {
            return None;
        }
        if let Some(job) = &state.job {
            if matches!(work, Work::SignOut) {
                // A user may take minutes, or never come back.
                self.core.asked.give_up();
            }
            return Some((job.ended.clone(), job.work.covers(work)));
        }
        let (tell, ended) = watch::channel(None);
        state.job = Some(Job { work: work.clone(), ended: ended.clone() });
        if matches!(work, Work::Obtain(_)) {
            self.core.asked.begin();
        }
        drop(state);
        let doing = Doing { core: Arc::clone(&self.core), tell, result: None };
        let work = work.clone();
        // A runtime that is ending drops it at once, which takes the lock.
        tokio::spawn(async move {
            let result = work.carry_out(&doing.core).await;
            doing.end(result);
        });
        Some((ended, true))
    }
}

impl Core {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of the server, under which its credentials are kept.
    pub(super) fn server(&self) -> &str {
        self.fetcher.server()
    }
}

/// Something that is being done. When it is dropped nothing is being done any more, be it that it is done, that it
/// panicked, or that its runtime ended before it was begun.
struct Doing {
    core: Arc<Core>,
    tell: watch::Sender<Option<Result<(), OAuthError>>>,
    result: Option<Result<(), OAuthError>>,
}

impl Doing {
    fn end(mut self, result: Result<(), OAuthError>) {
        self.result = Some(result);
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        // Before anybody is told of it, who would find that it goes on.
        self.core.state().job = None;
        if self.result.is_some() {
            self.tell.send_replace(self.result.take());
        }
    }
}

fn is_same(token: &Arc<Token>, other: Option<&Arc<Token>>) -> bool {
    other.is_some_and(|other| Arc::ptr_eq(token, other))
}

fn refused_at_once() -> OAuthError {
    let what = "the server refuses the token of a sign-in that has just been made";
    OAuthError::new(Kind::Refused, what)
}

/// The scopes that the challenges name.
fn scopes(challenges: &[Challenge]) -> Scopes {
    challenges.iter().filter_map(Challenge::scope).flat_map(|scopes| scopes.split(' ')).collect()
}

fn insufficient(challenges: &[Challenge], missing: &Scopes, why: &str) -> OAuthError {
    let said = challenges.iter().find_map(|challenge| challenge.param("error_description"));
    let said = said.map(|said| format!(" ({})", crate::error::excerpt(said.as_bytes())));
    let said = said.unwrap_or_default();
    let missing = crate::error::excerpt(missing.to_string().as_bytes());
    let text = format!("the server wants the scopes `{missing}`{said}, {why}");
    OAuthError::new(Kind::Refused, text)
}

/// 10 s in which a token that is still good is not tried to be renewed again after that has failed.
const QUIET: Duration = Duration::from_secs(10);
