//! `Work`: what changes the token of a server.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_transport::auth::{Challenge, Scopes};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::{Kind, OAuthError};
use super::grant::{Granted, Need};
use super::keeper::{Core, State};
use super::registry::Registrations;
use super::store::Credentials;
use super::token_in_use::{Origin, Token};
use crate::builder::unique_name;

/// One change.
#[derive(Clone)]
pub(super) enum Work {
    /// Asks the store what there is.
    Load,
    /// Puts another token in the place of this one, without a user.
    Refresh(Arc<Token>),
    /// Gets a token from nothing.
    Obtain(Arc<ToObtain>),
    /// Forgets the token.
    SignOut,
}

/// Which token is to be got.
pub(super) struct ToObtain {
    /// The one, or none, whose place it takes.
    pub(super) after: Option<Arc<Token>>,
    pub(super) challenges: Vec<Challenge>,
    pub(super) scopes: Scopes,
    /// Whether the application wants the user to be asked, whatever was before.
    pub(super) by_request: bool,
}

impl Work {
    /// Whether it is still to be done.
    pub(super) fn is_needed(&self, state: &State) -> bool {
        let is_token = |token: Option<&Arc<Token>>| match (token, &state.token) {
            (Some(token), Some(current)) => Arc::ptr_eq(token, current),
            (None, None) => true,
            _ => false,
        };
        match self {
            Self::Load => !state.is_loaded,
            Self::Refresh(of) => is_token(Some(of)),
            Self::Obtain(to) => is_token(to.after.as_ref()),
            Self::SignOut => state.token.is_some(),
        }
    }

    /// Whether whoever waits for `other` may as well wait for this, and fails as it does.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Load, Self::Load)
            | (Self::Refresh(_), Self::Refresh(_))
            | (Self::SignOut, Self::SignOut) => true,
            (Self::Obtain(this), Self::Obtain(other)) => {
                this.scopes.contains_all(&other.scopes) && (this.by_request || !other.by_request)
            }
            _ => false,
        }
    }

    pub(super) async fn carry_out(&self, core: &Core) -> Result<(), OAuthError> {
        match self {
            Self::Load => core.take_up(core.load().await.unwrap_or_default()),
            Self::Refresh(of) => core.refresh(of).await,
            Self::Obtain(to) => core.obtain(to).await,
            Self::SignOut => core.sign_out().await,
        }
    }
}

impl Core {
    /// Uses what the store has.
    fn take_up(&self, stored: Credentials) -> Result<(), OAuthError> {
        let token = stored.granted.map(|granted| Token::new(granted, Origin::Store)).transpose();
        // One that cannot be used is none.
        let token =
            token.inspect_err(|error| tracing::warn!(%error, "a stored token is passed over"));
        self.put(token.ok().flatten(), &stored.sign_in);
        Ok(())
    }

    fn put(&self, token: Option<Token>, sign_in: &str) {
        let mut state = self.state();
        state.is_loaded = true;
        state.context = match &token {
            Some(_) if !sign_in.is_empty() => sign_in.into(),
            _ => unique_name(),
        };
        state.token = token.map(Arc::new);
    }

    /// What another process got meanwhile is as good as what would be got here.
    async fn refresh(&self, of: &Token) -> Result<(), OAuthError> {
        let _held = self.hold().await;
        let loaded = self.load().await;
        let is_known = loaded.is_some();
        let mut stored = loaded.unwrap_or_default();
        let base = match stored.granted.take() {
            // Signed out elsewhere.
            None if of.is_stored && is_known => return self.take_up(stored),
            Some(other) if !of.is_of(&other) => {
                let is_good = !other.tokens.expires_within(Duration::ZERO);
                if is_good || !self.grant.can_refresh(&other) {
                    stored.granted = Some(other);
                    return self.take_up(stored);
                }
                other
            }
            _ => of.granted().clone(),
        };
        let registry = Registrations { core: self, is_held: true };
        let scopes = Scopes::parse(&base.requested);
        let need =
            Need { fetcher: &self.fetcher, challenges: &[], scopes: &scopes, registry: &registry };
        match self.grant.refresh(need, &base).await {
            Ok(granted) => {
                tracing::debug!("a token was renewed");
                self.keep(stored, granted, Origin::Refresh).await
            }
            Err(error) => {
                if error.is_invalid_grant() && self.grant.asks_user() {
                    self.discard(&base).await?;
                }
                Err(error)
            }
        }
    }

    /// Saves and uses what was granted.
    async fn keep(
        &self,
        mut stored: Credentials,
        granted: Granted,
        origin: Origin,
    ) -> Result<(), OAuthError> {
        if origin == Origin::SignIn {
            stored.sign_in = random_name()?;
        } else if stored.sign_in.is_empty() {
            stored.sign_in = self.state().context.to_string();
        }
        // What no header can carry is not worth being saved.
        let mut token = Token::new(granted.clone(), origin)?;
        stored.granted = Some(granted);
        token.is_stored = self.save(&stored).await;
        self.put(Some(token), &stored.sign_in);
        Ok(())
    }

    /// Forgets what is good for nothing any more, unless something else has taken its place, which is used then.
    async fn discard(&self, dead: &Granted) -> Result<(), OAuthError> {
        let Some(mut stored) = self.load().await else {
            return self.take_up(Credentials::default());
        };
        if stored.granted.as_ref().is_some_and(|it| it.tokens == dead.tokens) {
            stored.granted = None;
            self.save(&stored).await;
        }
        self.take_up(stored)
    }

    async fn obtain(&self, to: &ToObtain) -> Result<(), OAuthError> {
        if to.by_request {
            self.state().refusals.forget();
        } else {
            if let Some(stored) = self.load().await
                && stored.granted.as_ref().is_some_and(|granted| to.is_met_by(granted))
            {
                return self.take_up(stored);
            }
            if let Some(error) = self.state().refusals.of(&to.scopes) {
                return Err(error);
            }
        }
        let asked = self.asked.load(Ordering::Relaxed);
        let registry = Registrations { core: self, is_held: false };
        let need = Need {
            fetcher: &self.fetcher,
            challenges: &to.challenges,
            scopes: &to.scopes,
            registry: &registry,
        };
        match self.grant.obtain(need).await {
            Ok(granted) => {
                let _held = self.hold().await;
                let stored = self.load().await.unwrap_or_default();
                self.state().refusals.forget();
                self.keep(stored, granted, Origin::SignIn).await
            }
            Err(error) => {
                if self.asked.load(Ordering::Relaxed) != asked {
                    self.state().refusals.add(&to.scopes, &error);
                }
                Err(error)
            }
        }
    }

    async fn sign_out(&self) -> Result<(), OAuthError> {
        let _held = self.hold().await;
        let mut stored = self.load().await.unwrap_or_default();
        stored.granted = None;
        self.save(&stored).await;
        self.take_up(stored)
    }
}

impl ToObtain {
    /// Whether this, which somebody else has got, does as well.
    fn is_met_by(&self, granted: &Granted) -> bool {
        !self.after.as_ref().is_some_and(|after| after.is_of(granted))
            && !granted.tokens.expires_within(Duration::ZERO)
            && Scopes::parse(&granted.requested).contains_all(&self.scopes)
    }
}

/// What users were asked for in vain. They are not asked for it again by itself.
#[derive(Default)]
pub(super) struct Refusals(Vec<(Scopes, OAuthError)>);

impl Refusals {
    /// 16 are remembered: servers could name other scopes for ever.
    const MOST: usize = 16;

    /// Why these scopes, or some of them, were not granted.
    fn of(&self, scopes: &Scopes) -> Option<OAuthError> {
        let refused = self.0.iter().find(|(refused, _)| scopes.contains_all(refused));
        refused.map(|(_, error)| error.clone())
    }

    fn add(&mut self, scopes: &Scopes, error: &OAuthError) {
        self.0.truncate(Self::MOST - 1);
        self.0.insert(0, (scopes.clone(), error.clone()));
    }

    fn forget(&mut self) {
        self.0.clear();
    }
}

/// A name that no other sign-in has, in this process or another.
fn random_name() -> Result<String, OAuthError> {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_unspecified| OAuthError::new(Kind::Usage, "the system has no randomness"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
