//! The token endpoint: asked, and understood.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use serde_json::{Map, Value};

use super::assertion::client_assertion;
use super::client_auth::authenticate;
use super::client_id::AuthMethod;
use super::dpop::{DPOP, ProofKey, USE_NONCE};
use super::error::{Kind, OAuthError, ProviderError};
use super::http::{Fetched, Fetcher};
use super::registration::Registration;
use super::secret::Secret;
use super::token::{BEARER, Tokens, seconds};
use super::url::shown;

/// A token endpoint, and who the client is there.
#[derive(Clone, Copy)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) url: &'a str,
    pub(crate) registration: &'a Registration,
    /// How clients may prove who they are there, as far as that is known.
    pub(crate) methods: Option<&'a [String]>,
    /// What the authorization server calls itself.
    pub(crate) audience: &'a str,
    /// What the tokens are to be bound to.
    pub(crate) key: Option<&'a ProofKey>,
}

/// What it gives.
pub(crate) struct Answer {
    pub(crate) tokens: Tokens,
    /// What kind of thing the access token is, where that was asked for. RFC 8693, section 2.2.1.
    pub(crate) issued_type: Option<String>,
}

impl TokenEndpoint<'_> {
    /// Asks for tokens with these parameters; of them, and of the client's secret, nothing shows in an error.
    /// Where the client is refused for how it proved who it is, and that was a guess, it is asked once more.
    /// RFC 6749, section 5.
    ///
    /// # Errors
    /// What the authorization server says, in its own words; or that it says nothing of use.
    pub(crate) async fn ask(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
    ) -> Result<Answer, OAuthError> {
        let client = &self.registration.client;
        let (method, other) = AuthMethod::of(client, self.methods);
        match (self.ask_by(fetcher, params, method).await, other) {
            (Err(error), Some(other)) if error.code() == Some("invalid_client") => {
                tracing::debug!(%error, method = other.as_str(), "the token endpoint is asked in another way");
                // The first answer is to the question as it should have been.
                self.ask_by(fetcher, params, other).await.map_err(|second| {
                    if second.code() == Some("invalid_client") { error } else { second }
                })
            }
            (answer, _) => answer,
        }
    }

    /// The same without a second attempt.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub(crate) async fn ask_once(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
    ) -> Result<Answer, OAuthError> {
        let (method, _) = AuthMethod::of(&self.registration.client, self.methods);
        self.ask_by(fetcher, params, method).await
    }

    async fn ask_by(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
        method: AuthMethod,
    ) -> Result<Answer, OAuthError> {
        let (answer, has_nonce) = self.send(fetcher, params, method).await?;
        match answer {
            // What was asked has not been looked at. RFC 9449, section 8.
            Err(error) if has_nonce && error.code() == Some(USE_NONCE) => {
                self.send(fetcher, params, method).await?.0
            }
            answer => answer,
        }
    }

    /// Sends one request; gives what comes of it, and whether there is a nonce for the next one.
    async fn send(
        self,
        fetcher: &Fetcher,
        params: &[(&str, &str)],
        method: AuthMethod,
    ) -> Result<(Result<Answer, OAuthError>, bool), OAuthError> {
        let client = &self.registration.client;
        let assertion = match method {
            AuthMethod::PrivateKeyJwt => {
                client_assertion(client, self.audience, SystemTime::now())?
            }
            _ => String::new(),
        };
        let (mut headers, mut form) = (HeaderMap::new(), params.to_vec());
        authenticate(client, method, &assertion, &mut headers, &mut form)?;
        if let Some(key) = self.key {
            let nonce = fetcher.nonces().of(self.url);
            key.prove(&mut headers, self.url, None, nonce.as_deref())?;
        }
        let fetched = fetcher.post_form(self.url, headers, &form).await?;
        let has_nonce = self.key.is_some() && fetcher.nonces().note(self.url, &fetched.headers);
        let secret = client.secret.iter().map(Secret::expose);
        let sent = form.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| *value);
        let secrets = sent.chain(secret).collect::<Vec<_>>();
        Ok((read(self.url, &fetched, &secrets, SystemTime::now()), has_nonce))
    }
}

/// Parameters that nobody else may see.
fn is_secret(name: &str) -> bool {
    let open = ["grant_type", "resource", "scope", "redirect_uri", "audience", "client_id"];
    !open.contains(&name) && !name.ends_with("_type")
}

/// Understands an answer, whatever its status: providers answer with errors under 200.
fn read(
    url: &str,
    fetched: &Fetched,
    secrets: &[&str],
    now: SystemTime,
) -> Result<Answer, OAuthError> {
    let url = shown(url);
    let status = fetched.status.as_u16();
    let Ok(answer) = serde_json::from_slice::<Map<String, Value>>(&fetched.body) else {
        let kind = if fetched.may_pass() { Kind::Exchange } else { Kind::Protocol };
        let text = format!("{url} answered with status {status}, and not with JSON");
        return Err(OAuthError::new(kind, text));
    };
    if let Some(provider) = failure(&answer, secrets) {
        let what = format!("{url} gives no token");
        let kind = if passes(&provider, fetched) { Kind::Exchange } else { Kind::Provider };
        return Err(OAuthError::by_provider(kind, &what, provider));
    }
    let token = answer.get("access_token").and_then(Value::as_str);
    match token.filter(|token| !token.is_empty()) {
        Some(token) if fetched.status.is_success() => {
            let issued_type = answer.get("issued_token_type").and_then(Value::as_str);
            let issued_type = issued_type.map(str::to_owned);
            tokens(token, &answer, now).map(|tokens| Answer { tokens, issued_type })
        }
        _ if fetched.may_pass() => {
            Err(OAuthError::new(Kind::Exchange, format!("{url} answered with status {status}")))
        }
        _ => {
            let text = format!("{url} answered with status {status}, and with no access token");
            Err(OAuthError::new(Kind::Protocol, text))
        }
    }
}

/// Whether what is wrong may be right the next time.
fn passes(provider: &ProviderError, fetched: &Fetched) -> bool {
    let code = &*provider.code;
    matches!(code, "temporarily_unavailable" | "server_error" | "slow_down")
        || (fetched.may_pass() && !CODES.contains(&code))
}

/// What the answer says is wrong.
fn failure(answer: &Map<String, Value>, secrets: &[&str]) -> Option<ProviderError> {
    let text = |name: &str| match answer.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        // Some put an object there, with the words within.
        Some(Value::Object(inner)) => {
            let found = ["code", "type", "message"].into_iter().find_map(|name| inner.get(name));
            Some(found.map_or_else(|| "error".to_owned(), plain))
        }
        _ => None,
    };
    let refused = answer.get("ok") == Some(&Value::Bool(false));
    let code = text("error").or_else(|| refused.then(|| "error".to_owned()))?;
    // Whoever repeats a secret gets no hearing.
    let clean = |text: String| {
        let repeats = |secret: &&str| secret.len() >= SECRET && text.contains(*secret);
        let is_told = CODES.contains(&&*text) || !secrets.iter().any(repeats);
        if is_told { text } else { "(withheld)".to_owned() }
    };
    let description = text("error_description").map(clean);
    let uri = text("error_uri").map(clean);
    Some(ProviderError::new(&clean(code), description.as_deref(), uri.as_deref()))
}

/// Bytes of a text that can be a secret. What is shorter occurs by chance.
const SECRET: usize = 6;

/// RFC 6749, section 5.2. Whatever the secrets are, these do not repeat them.
const CODES: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn tokens(token: &str, answer: &Map<String, Value>, now: SystemTime) -> Result<Tokens, OAuthError> {
    // What goes into a header must be of its characters. RFC 6750, section 2.1, which some exceed.
    if !token.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
        let text = "the access token has characters that no header can carry";
        return Err(OAuthError::new(Kind::Protocol, text));
    }
    let text =
        |name: &str| answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let expires_in = answer.get("expires_in").and_then(seconds);
    let is_bound = text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case(DPOP));
    Ok(Tokens {
        access_token: Secret::new(token),
        token_type: if is_bound { DPOP } else { BEARER }.to_owned(),
        refresh_token: text("refresh_token").map(Secret::from),
        expires_at: expires_in.and_then(|after| later(now, after)),
        scope: answer.get("scope").and_then(scope),
    })
}

/// In whole seconds, as they are stored: what comes back from there is to be the same. A time that cannot be told is as
/// good as none.
fn later(now: SystemTime, seconds: u64) -> Option<SystemTime> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UNIX_EPOCH.checked_add(Duration::from_secs(since.saturating_add(seconds)))
}

/// Scopes as a text, or in a list.
fn scope(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(scopes) => {
            let scopes = scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>();
            Some(scopes.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;

    fn answer(body: &Value) -> Result<Tokens, OAuthError> {
        let body = body.to_string().into();
        let fetched = Fetched { status: StatusCode::OK, headers: HeaderMap::new(), body };
        let answer = read("https://a/token?s3cret", &fetched, &["s3cret", "client"], UNIX_EPOCH);
        answer.map(|answer| answer.tokens)
    }

    #[test]
    fn times() {
        let table = [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(" 3600 "), Some(3600)),
            (json!(3599.9), Some(3599)),
            (json!("3599.9"), Some(3599)),
            (json!(0), Some(0)),
            (json!(-5), Some(0)),
            (json!(null), None),
            (json!("soon"), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!(true), None),
            (json!([3600]), None),
        ];
        for (expires_in, expected) in table {
            let tokens = answer(&json!({ "access_token": "a", "expires_in": expires_in })).unwrap();
            let after =
                tokens.expires_at.map(|at| at.duration_since(UNIX_EPOCH).unwrap().as_secs());
            assert_eq!(after, expected, "{expires_in}");
        }
        for huge in [json!(1e300), json!(u64::MAX), json!("99999999999999999999")] {
            let tokens = answer(&json!({ "access_token": "a", "expires_in": huge })).unwrap();
            assert!(!tokens.expires_within(Duration::from_secs(3600)), "{huge}");
        }
        assert_eq!(answer(&json!({ "access_token": "a" })).unwrap().expires_at, None);
    }

    #[test]
    fn other_members() {
        let table = [
            (json!({}), "Bearer", None, None),
            (json!({ "token_type": "bearer" }), "Bearer", None, None),
            (json!({ "token_type": "user", "ok": true }), "Bearer", None, None),
            (json!({ "token_type": "dpop" }), "DPoP", None, None),
            (
                json!({ "token_type": 7, "refresh_token": null, "scope": null }),
                "Bearer",
                None,
                None,
            ),
            (json!({ "refresh_token": "" }), "Bearer", None, None),
            (json!({ "refresh_token": "r", "scope": "a b" }), "Bearer", Some("r"), Some("a b")),
            (json!({ "scope": ["a", "b"] }), "Bearer", None, Some("a b")),
            (json!({ "error": null, "error_description": "" }), "Bearer", None, None),
        ];
        for (mut members, token_type, refresh_token, scope) in table {
            members["access_token"] = "a".into();
            let tokens = answer(&members).unwrap();
            assert_eq!(tokens.token_type, token_type, "{members}");
            assert_eq!(tokens.refresh_token.as_ref().map(Secret::expose), refresh_token);
            assert_eq!(tokens.scope.as_deref(), scope, "{members}");
        }
        for token in
            [json!(null), json!(""), json!(7), json!("a b"), json!("a\r\nb"), json!("\u{e4}")]
        {
            let error = answer(&json!({ "access_token": token })).unwrap_err();
            assert_eq!(error.kind(), Kind::Protocol, "{token}");
        }
    }

    #[test]
    fn errors() {
        let table = [
            (json!({ "error": "invalid_grant" }), "invalid_grant"),
            (json!({ "error": "invalid_client", "access_token": "a" }), "invalid_client"),
            (json!({ "error": "x", "error_description": "a\n b" }), "x, a b"),
            (
                json!({ "error": "x", "error_description": 7, "error_uri": "https://u" }),
                "x (https://u)",
            ),
            (json!({ "ok": false, "error": "code_already_used" }), "code_already_used"),
            (json!({ "ok": false }), "error"),
            (json!({ "error": { "message": "m", "code": 190 } }), "190"),
            (json!({ "error": {} }), "error"),
            (json!({ "error": "x", "error_description": "is s3cret right?" }), "x, (withheld)"),
            (json!({ "error": "s3cret" }), "(withheld)"),
        ];
        for (body, expected) in table {
            let error = answer(&body).unwrap_err();
            assert_eq!(error.to_string(), format!("https://a/token gives no token: {expected}"));
        }
    }
}
