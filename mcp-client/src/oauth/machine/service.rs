//! The client credentials grant: the application itself is let in. RFC 6749, section 4.4.

use super::{Ask, with_scope};
use crate::future::BoxFuture;
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::grant::Granted;
use crate::oauth::http::Fetcher;
use crate::oauth::terms::Terms;

/// Extension: OAuth Client Credentials.
pub(crate) struct Service;

impl Ask for Service {
    fn ask<'a>(
        &'a self,
        fetcher: &'a Fetcher,
        terms: Terms,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let client = &terms.registration.client;
            if client.secret.is_none() && client.key.is_none() {
                let text =
                    "a client is let in by itself for a secret or a key, and this has neither";
                return Err(OAuthError::new(Kind::Usage, text));
            }
            let requested = terms.requested.clone();
            let params = [("grant_type", "client_credentials")];
            terms.ask(fetcher, &with_scope(&params, &requested)).await
        })
    }
}
