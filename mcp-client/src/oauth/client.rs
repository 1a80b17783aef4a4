//! Signing in and out by hand.

use super::settings::OAuth;
use crate::builder::ClientBuilder;
use crate::client::Client;
use crate::error::Error;
use crate::future::BoxFuture;

/// Access tokens. See [`oauth`](crate::oauth).
impl ClientBuilder {
    /// Gets access tokens for the server when it asks for them, and sends them with every request to it. Default is not
    /// to: a server that asks for one is an error. See [`oauth`](crate::oauth). Specification: Authorization.
    ///
    /// The requests that this takes go the way of all others: through the same
    /// [`service`](Self::service), [`connector`](Self::connector) or proxy, with the same roots. A call that has an
    /// `Authorization` header of its own is left as it is.
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }
}

/// Signing in and out. See [`oauth`](crate::oauth).
impl Client {
    /// Asks the user to sign in now, whether or not somebody is signed in, and even if the user refused before. Calls
    /// do so by themselves when the server wants a token, except after a refusal.
    ///
    /// Where no user takes part, a token is got anew.
    ///
    /// When the future is dropped the sign-in goes on.
    ///
    /// # Errors
    /// Says that [it is about authorization](Error::is_auth), and [why](Error::oauth). For clients without
    /// [`oauth`](ClientBuilder::oauth), [usage](Error::is_usage).
    pub fn sign_in(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let shared = self.shared();
            let keeper = shared.link.keeper().ok_or_else(no_oauth)?;
            keeper.sign_in().await.map_err(Error::from)
        })
    }

    /// Forgets the tokens, here and in the store, and with them whose private answers are cached; the next call
    /// that needs one asks the user, also for what was refused before. A sign-in that is under way comes to nothing: calls
    /// that wait for it fail, and its user is not waited for. Open [subscriptions](Self::listen) of the client are closed.
    /// The authorization server is not told. When nobody is signed in it does nothing else.
    ///
    /// # Errors
    /// As of [`sign_in`](Self::sign_in).
    pub fn sign_out(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let shared = self.shared();
            let keeper = shared.link.keeper().ok_or_else(no_oauth)?;
            keeper.sign_out().await.map_err(Error::from)
        })
    }
}

fn no_oauth() -> Error {
    Error::usage("this client does not sign in: see `ClientBuilder::oauth`")
}
