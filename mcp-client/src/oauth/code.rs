//! `AuthorizationCode`: the grant of a user who signs in.

use std::sync::Arc;

use super::error::{Kind, OAuthError};
use super::flow::RedirectHandler;
use super::grant::{Grant, Granted, Need};
use super::identity::Identity;
use crate::future::BoxFuture;

/// A user signs in, who is sent to a page and comes back with a code.
pub(crate) struct AuthorizationCode {
    pub(crate) handler: Arc<dyn RedirectHandler>,
    pub(crate) identity: Identity,
    pub(crate) choose: Option<Choose>,
}

/// Picks one of several issuers, or leaves it to the client.
pub(crate) type Choose = Arc<dyn Fn(&[String]) -> Option<String> + Send + Sync>;

impl Grant for AuthorizationCode {
    fn obtain<'a>(&'a self, _need: Need<'a>) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async { Err(OAuthError::new(Kind::Usage, "not there yet")) })
    }

    fn refresh<'a>(
        &'a self,
        _need: Need<'a>,
        _granted: &'a Granted,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async { Err(OAuthError::new(Kind::Usage, "not there yet")) })
    }
}
