//! Workload identity: the application is let in for what its platform says of it. RFC 7523, section 2.1.

use mcp_transport::auth::Scopes;

use super::source::{AssertionRequest, AssertionSource};
use super::{Ask, JWT_BEARER, with_scope};
use crate::future::BoxFuture;
use crate::oauth::error::OAuthError;
use crate::oauth::grant::Granted;
use crate::oauth::http::Fetcher;
use crate::oauth::terms::Terms;

pub(crate) struct Workload(pub(crate) AssertionSource);

impl Ask for Workload {
    fn ask<'a>(
        &'a self,
        fetcher: &'a Fetcher,
        terms: Terms,
    ) -> BoxFuture<'a, Result<Granted, OAuthError>> {
        Box::pin(async move {
            let requested = terms.requested.clone();
            let assertion = self.0.get(AssertionRequest {
                issuer: terms.audience.clone(),
                resource: terms.resource.clone(),
                scopes: Scopes::parse(&requested),
            });
            let assertion = assertion.await?;
            let params = [("grant_type", JWT_BEARER), ("assertion", assertion.expose())];
            // An assertion that was refused is refused again, and may count as stolen by then.
            terms.ask_once(fetcher, &with_scope(&params, &requested)).await
        })
    }
}
