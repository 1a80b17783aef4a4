//! `MemoryStore`: credentials until the process ends.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Credentials, Held, TokenStore};
use crate::error::BoxError;
use crate::future::BoxFuture;

/// Keeps credentials until the process ends. Clients that share one, in an `Arc`, share tokens.
#[derive(Default)]
pub struct MemoryStore {
    servers: Mutex<HashMap<Box<str>, Kept>>,
}

#[derive(Default)]
struct Kept {
    credentials: Option<Credentials>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStore {
    /// One that is empty.
    pub fn new() -> Self {
        Self::default()
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Box<str>, Kept>> {
        // Entries are replaced as a whole.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenStore for MemoryStore {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        let found = self.servers().get(server).and_then(|kept| kept.credentials.clone());
        Box::pin(ready(Ok(found)))
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        self.servers().entry(server.into()).or_default().credentials = Some(credentials.clone());
        Box::pin(ready(Ok(())))
    }

    fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        if let Some(kept) = self.servers().get_mut(server) {
            kept.credentials = None;
        }
        Box::pin(ready(Ok(())))
    }

    fn hold<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Held, BoxError>> {
        let turn = Arc::clone(&self.servers().entry(server.into()).or_default().turn);
        Box::pin(async move { Ok(Held::until_dropped(turn.lock_owned().await)) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
