//! The tokens that a server is tried with: those that a user gives, and those that the suite mints.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{AUTHORIZATION, asked_barely, challenged, document};
use crate::issuer::{Issuer, key, now};
use crate::server::{Cx, Endpoint, Target};
use crate::wire::json::at;

/// Tokens that a user gives.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Tokens {
    /// A good token, which every request carries.
    #[arg(
        long = "token",
        value_name = "TOKEN",
        env = "MCP_CONFORMANCE_TOKEN",
        hide_env_values = true
    )]
    pub(super) good: Option<String>,
    /// A token that has expired.
    #[arg(
        long = "token-expired",
        value_name = "TOKEN",
        env = "MCP_CONFORMANCE_TOKEN_EXPIRED",
        hide_env_values = true
    )]
    pub(super) expired: Option<String>,
    /// A token for another server.
    #[arg(
        long = "token-audience",
        value_name = "TOKEN",
        env = "MCP_CONFORMANCE_TOKEN_AUDIENCE",
        hide_env_values = true
    )]
    pub(super) audience: Option<String>,
    /// A token of an issuer that the server does not trust.
    #[arg(
        long = "token-issuer",
        value_name = "TOKEN",
        env = "MCP_CONFORMANCE_TOKEN_ISSUER",
        hide_env_values = true
    )]
    pub(super) foreign: Option<String>,
    /// A good token of too few scopes for the tool test_scoped; without such a tool, for server/discover.
    #[arg(
        long = "token-scopes",
        value_name = "TOKEN",
        env = "MCP_CONFORMANCE_TOKEN_SCOPES",
        hide_env_values = true
    )]
    pub(super) scopes: Option<String>,
    /// What the suite mints of.
    #[arg(skip)]
    pub(super) own: Option<Own>,
}

/// What the suite mints tokens of.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    issuer: Issuer,
    /// The server, as it calls itself.
    resource: String,
    /// What the server asks for, by its challenge or else its document.
    scopes: String,
}

impl Tokens {
    /// The tokens that a user gave. Those that the suite mints are everybody's.
    pub(crate) fn given(&self) -> impl Iterator<Item = &str> {
        let all = [&self.good, &self.expired, &self.audience, &self.foreign, &self.scopes];
        all.into_iter().filter(|_| self.own.is_none()).flatten().map(String::as_str)
    }

    /// Has requests carry the good token, and those of the other user one of theirs.
    ///
    /// With an issuer the tokens are minted: the server is asked first what it calls itself and which scopes it wants.
    pub(crate) async fn give_to(
        self,
        endpoint: &mut Endpoint,
        issuer: Option<Issuer>,
        patience: Duration,
    ) {
        let mut tokens = self;
        if let Some(issuer) = issuer {
            let own = Own::find_out(endpoint, issuer, patience).await;
            tokens.good = Some(own.token(&json!({})));
            let of_other = &mut endpoint.ways.other;
            if of_other.iter().all(|(name, _)| !name.eq_ignore_ascii_case(AUTHORIZATION)) {
                let other = own.token(&json!({ "sub": "somebody-else" }));
                of_other.push(bearer(&other));
            }
            tokens.own = Some(own);
        }
        if let Some(good) = &tokens.good {
            endpoint.carry(bearer(good));
        }
        endpoint.ways.tokens = tokens;
    }
}

fn bearer(token: &str) -> (String, String) {
    (AUTHORIZATION.to_owned(), format!("Bearer {token}"))
}

impl Own {
    /// What does not answer, or says nothing of itself, is taken for what its URL says.
    async fn find_out(endpoint: &Endpoint, issuer: Issuer, patience: Duration) -> Self {
        let target = Target::Http(Box::new(endpoint.clone()));
        let cx = Cx::new(target.into(), Default::default(), Default::default(), patience);
        let challenges = asked_barely(&cx).await.and_then(|reply| challenged(&reply));
        let documents = document::Documents::fetch(&cx, challenges.as_deref().unwrap_or_default());
        let document = documents.await.ok().and_then(|it| it.any().cloned()).unwrap_or_default();
        let url = format!("{}{}", endpoint.origin(), endpoint.path);
        let asked = challenges.iter().flatten().find_map(|it| it.get("scope")).map(str::to_owned);
        let listed = at(&document, "/scopes_supported").as_array().map(|all| {
            let all: Vec<_> = all.iter().filter_map(Value::as_str).collect();
            all.join(" ")
        });
        let resource = at(&document, "/resource").as_str().map_or(url, str::to_owned);
        Self { issuer, resource, scopes: asked.or(listed).unwrap_or_default() }
    }

    pub(super) fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    /// The claims of a good token with these changes; null takes one out.
    pub(super) fn claims(&self, change: &Value) -> Value {
        let claims = json!({
            "iss": self.issuer.url(),
            "aud": self.resource,
            "sub": "mcp-conformance",
            "client_id": "mcp-conformance",
            "scope": self.scopes,
            "iat": now(),
            "exp": now() + HOUR,
            "jti": key::unique(),
        });
        key::merged(claims, change)
    }

    /// A token with claims of a good one, changed so.
    pub(super) fn token(&self, change: &Value) -> String {
        self.issuer.access_token(&self.claims(change))
    }
}

pub(super) const HOUR: u64 = 3600;
