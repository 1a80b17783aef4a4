//! Users who sign in.

use mcp_client::oauth::{
    ClientMetadata, Fetcher, Granted, Identity, OAuthError, Pending, Registered, Scopes,
};

use super::provider::Provider;

pub(crate) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

pub(crate) fn dynamic() -> Identity {
    Identity::new().dynamic(ClientMetadata::new("Test"))
}

pub(crate) async fn registered(
    fetcher: &Fetcher,
    identity: &Identity,
) -> Result<Registered, OAuthError> {
    let discovered = fetcher.discover(&[]).await?;
    let issuer = discovered.issuers()[0].clone();
    let identified = discovered.identify(&issuer).await?;
    identified.register(identity, &[REDIRECT.to_owned()], &Scopes::default()).await
}

pub(crate) async fn pending(provider: &Provider) -> Pending {
    let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
    registered.sign_in(REDIRECT, &Scopes::default()).unwrap()
}

/// The user comes back with a code.
pub(crate) async fn granted(provider: &Provider) -> Granted {
    let pending = pending(provider).await;
    let back = format!("{REDIRECT}?code=the-code&state={}", pending.url().state());
    pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap()
}

/// What an error has to be.
pub(crate) type Is = fn(&OAuthError) -> bool;
