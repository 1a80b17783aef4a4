//! The extensions of authorization, in which no user signs in. What the client is, the scenario tells.

use std::env;
use std::error::Error;

use mcp_client::Client;
use mcp_client::oauth::{
    Algorithm, AssertionSource, ClientId, IdentityAssertion, IdentityProvider, OAuth, Policy,
    SigningKey,
};
use serde::Deserialize;

/// How a scenario gets tokens, if it is one of these. That of proofs needs nothing to be set.
pub(super) async fn settings(scenario: &str, url: &str) -> Result<Option<OAuth>, Box<dyn Error>> {
    let Some(("auth", name)) = scenario.split_once('/') else { return Ok(None) };
    let is_one = ["client-credentials-", "enterprise-managed-", "wif-"];
    if !is_one.iter().any(|start| name.starts_with(start)) {
        return Ok(None);
    }
    let context: Context = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    // The suite does not say where the client is registered: there is one issuer.
    let fetcher = Client::builder(url).build_fetcher(Policy::new())?;
    let issuers = fetcher.discover(&[]).await?.issuers().to_vec();
    let issuer = issuers.first().ok_or("no issuer")?;
    context.settings(name, issuer).map(Some)
}

/// Who the client is.
#[derive(Deserialize)]
pub(super) struct Context {
    client_id: String,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: Option<String>,
    valid_jwt: Option<String>,
    #[serde(flatten)]
    idp: Idp,
}

impl Context {
    /// How tokens are got from `issuer` by the grant of this name, or one that begins with it.
    pub(super) fn settings(self, grant: &str, issuer: &str) -> Result<OAuth, Box<dyn Error>> {
        let id = &*self.client_id;
        let client = match (self.private_key_pem, self.client_secret) {
            (Some(pem), _) => {
                let algorithm = self.signing_algorithm.as_deref().and_then(Algorithm::from_name);
                let key = SigningKey::from_pem(algorithm.ok_or("no algorithm")?, pem.as_bytes())?;
                ClientId::signing(id, key)
            }
            (None, Some(secret)) => ClientId::confidential(id, secret),
            (None, None) => ClientId::public(id),
        };
        if grant.starts_with("client-credentials") {
            return Ok(OAuth::client_credentials(issuer, client));
        }
        if grant.starts_with("enterprise-managed") {
            let provider = self.idp.provider().ok_or("no provider")?;
            return Ok(OAuth::enterprise(provider, issuer, client));
        }
        let assertion = self.valid_jwt.ok_or("no assertion")?;
        let source =
            AssertionSource::new(move |_| std::future::ready(Ok::<_, String>(assertion.clone())));
        Ok(OAuth::workload_identity(issuer, client, source))
    }
}

#[derive(Deserialize)]
struct Idp {
    idp_issuer: Option<String>,
    idp_client_id: Option<String>,
    idp_id_token: Option<String>,
    idp_token_endpoint: Option<String>,
}

impl Idp {
    fn provider(self) -> Option<IdentityProvider> {
        let token = self.idp_id_token?;
        let assertion = move || {
            let token = IdentityAssertion::id_token(&*token);
            std::future::ready(Ok::<_, String>(token))
        };
        let client = ClientId::public(self.idp_client_id?);
        let provider = IdentityProvider::new(self.idp_issuer?, client, assertion);
        Some(provider.token_endpoint(self.idp_token_endpoint?))
    }
}
