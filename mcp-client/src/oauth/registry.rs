//! The store as tasks use it: what it fails with is logged, and does not stop anybody.

use super::error::OAuthError;
use super::grant::Registry;
use super::keeper::Core;
use super::registration::Registration;
use super::store::{Credentials, Held, TokenStore as _};
use crate::future::BoxFuture;

impl Core {
    pub(super) async fn hold(&self) -> Held {
        let held = self.store.hold(self.server()).await;
        held.unwrap_or_else(|error| {
            tracing::warn!(%error, "credentials are used although others may be using them");
            Held::nothing()
        })
    }

    /// What is kept; `None` when that cannot be told.
    pub(super) async fn load(&self) -> Option<Credentials> {
        match self.store.load(self.server()).await {
            Ok(found) => Some(found.unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "credentials cannot be loaded");
                None
            }
        }
    }

    /// Keeps these; returns whether that went well.
    pub(super) async fn save(&self, credentials: &Credentials) -> bool {
        let is_empty = credentials.granted.is_none() && credentials.registrations.is_empty();
        let saved = if is_empty {
            self.store.delete(self.server()).await
        } else {
            self.store.save(self.server(), credentials).await
        };
        saved.inspect_err(|error| tracing::warn!(%error, "credentials cannot be saved")).is_ok()
    }
}

/// The identities that are kept for a server.
pub(super) struct Registrations<'a> {
    pub(super) core: &'a Core,
    /// Whether the store is held already, so that it must not be held again.
    pub(super) is_held: bool,
}

impl Registrations<'_> {
    async fn change(&self, change: impl FnOnce(&mut Credentials) + Send) {
        let _held = if self.is_held { Held::nothing() } else { self.core.hold().await };
        if let Some(mut credentials) = self.core.load().await {
            change(&mut credentials);
            self.core.save(&credentials).await;
        }
    }
}

impl Registry for Registrations<'_> {
    fn find<'a>(
        &'a self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<Registration>, OAuthError>> {
        Box::pin(async move {
            let stored = self.core.load().await;
            Ok(stored.and_then(|stored| stored.registration(issuer).cloned()))
        })
    }

    fn save<'a>(&'a self, registration: &'a Registration) -> BoxFuture<'a, Result<(), OAuthError>> {
        Box::pin(async move {
            self.change(|credentials| credentials.register(registration.clone())).await;
            Ok(())
        })
    }

    fn forget<'a>(
        &'a self,
        registration: &'a Registration,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        Box::pin(async move {
            self.change(|credentials| credentials.registrations.retain(|it| it != registration))
                .await;
            Ok(())
        })
    }
}
