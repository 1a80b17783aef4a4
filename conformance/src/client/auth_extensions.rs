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
    let (id, secret) = (&*context.client_id, context.client_secret.as_deref());
    let client = match secret {
        Some(secret) => ClientId::confidential(id, secret),
        None => ClientId::public(id),
    };
    Ok(Some(match name {
        "client-credentials-basic" => OAuth::client_credentials(issuer, client),
        "client-credentials-jwt" => {
            let algorithm = context.signing_algorithm.as_deref().and_then(Algorithm::from_name);
            let pem = context.private_key_pem.ok_or("no key")?;
            let key = SigningKey::from_pem(algorithm.ok_or("no algorithm")?, pem.as_bytes())?;
            OAuth::client_credentials(issuer, ClientId::signing(id, key))
        }
        "wif-jwt-bearer" => {
            let assertion = context.valid_jwt.ok_or("no assertion")?;
            let source = AssertionSource::new(move |_| {
                std::future::ready(Ok::<_, String>(assertion.clone()))
            });
            OAuth::workload_identity(issuer, client, source)
        }
        _ => OAuth::enterprise(context.idp.provider().ok_or("no provider")?, issuer, client),
    }))
}

#[derive(Deserialize)]
struct Context {
    client_id: String,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: Option<String>,
    valid_jwt: Option<String>,
    #[serde(flatten)]
    idp: Idp,
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
