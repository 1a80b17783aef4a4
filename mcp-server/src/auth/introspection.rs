//! `Introspection`: tokens that only their issuer can say anything about.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};
use mcp_transport::json::Object;
use mcp_types::JsonMap;
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;

use super::claims::{Agreed, Claims};
use super::fetch::{AGENT, Fetch, FetchError, HttpsFetch, text};
use super::{Access, Presented, TokenError, TokenVerifier, Verifying};

/// Verifies tokens by asking their authorization server about each (RFC 7662).
///
/// A token is taken if the server says that it is active, that it is for this server's resource identifier
/// (`aud`, which has to be there) or [another name](Self::audience) that was agreed on, and has not expired. Subject,
/// client and scopes are what it says. A bound token is not taken, unless it comes through [`Dpop`](super::Dpop).
///
/// What it said of an active token counts for a [while](Self::cache_time), so that not every request costs another one; a
/// token that was revoked is good that much longer. Other answers are not kept. When the server cannot be
/// asked, clients are answered with 503, and not told that their token is bad.
///
/// ```
/// use mcp_server::auth::{Introspection, ResourceServer};
///
/// # fn secret() -> String { String::new() }
/// let issuer = "https://auth.example.com";
/// let introspection = Introspection::new(issuer, "https://auth.example.com/introspect")
///     .credentials("notes-server", &secret());
/// ResourceServer::new("https://mcp.example.com/mcp")
///     .authorization_server(issuer)
///     .verifier(introspection);
/// ```
pub struct Introspection {
    issuer: String,
    endpoint: String,
    credentials: Option<HeaderValue>,
    audiences: Vec<String>,
    cache_time: Duration,
    fetch: Arc<dyn Fetch>,
    cache: Mutex<HashMap<[u8; 32], Cached>>,
    asking: Semaphore,
}

struct Cached {
    answer: Arc<Answer>,
    until: SystemTime,
}

/// What is said of an active token.
struct Answer {
    claims: Claims,
    all: JsonMap,
}

impl Introspection {
    /// 30 s: how long a revoked token may be good for.
    pub const CACHE_TIME: Duration = Duration::from_secs(30);
    /// 5 min: a longer time would undo what introspection is for.
    pub const MAX_CACHE_TIME: Duration = Duration::from_secs(300);
    /// Answers that are kept; with more tokens in use, some are asked about each time. Not configurable.
    pub const CACHED: usize = 4096;
    /// 32 KiB, the largest answer that is read, and kept. Not configurable.
    pub const ANSWER: usize = 32 * 1024;
    /// Requests to the server at once; others wait for their turn. Not configurable.
    pub const REQUESTS: usize = 64;

    /// Of tokens of `issuer`, whose introspection endpoint is this URL.
    pub fn new(issuer: impl Into<String>, endpoint: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            endpoint: endpoint.into(),
            credentials: None,
            audiences: Vec::new(),
            cache_time: Self::CACHE_TIME,
            fetch: Arc::new(HttpsFetch::new().body(Self::ANSWER)),
            cache: Mutex::default(),
            asking: Semaphore::new(Self::REQUESTS),
        }
    }

    /// Who asks: a client id and its secret, sent by HTTP Basic. Default is nobody, which hardly any server answers.
    /// RFC 6749, section 2.3.1.
    #[must_use]
    pub fn credentials(mut self, id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", form(id), form(secret)));
        let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is ASCII");
        value.set_sensitive(true);
        self.credentials = Some(value);
        self
    }

    /// Adds another name of this server as an audience. No other server may have it. Default is the resource
    /// identifier alone.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// How long an answer counts, up to [`MAX_CACHE_TIME`](Self::MAX_CACHE_TIME) and never beyond the token's
    /// expiry. With zero each request asks. Default is [`CACHE_TIME`](Self::CACHE_TIME).
    #[must_use]
    pub fn cache_time(mut self, time: Duration) -> Self {
        self.cache_time = time.min(Self::MAX_CACHE_TIME);
        self
    }

    /// What sends the requests. Default is an [`HttpsFetch`].
    #[must_use]
    pub fn fetch(mut self, fetch: impl Fetch) -> Self {
        self.fetch = Arc::new(fetch);
        self
    }

    async fn judge(&self, presented: &Presented) -> Result<Access, TokenError> {
        let (token, now) = (presented.token().as_str(), presented.now());
        let hash = digest(&SHA256, token.as_bytes());
        let hash: [u8; 32] = hash.as_ref().try_into().expect("SHA-256 has 32 bytes");
        let answer = match self.cached(&hash, now) {
            Some(answer) => answer,
            None => self.answer(token, hash, now).await?,
        };
        let (issuer, audiences) = (&*self.issuer, &*self.audiences);
        // The server judges by its own clock whether it is active.
        let agreed = Agreed { issuer, audiences, skew: Duration::ZERO, presented };
        answer.claims.access(&agreed, answer.all.clone())
    }

    /// Asks, and keeps the answer.
    async fn answer(
        &self,
        token: &str,
        hash: [u8; 32],
        now: SystemTime,
    ) -> Result<Arc<Answer>, TokenError> {
        let _turn = self.asking.acquire().await?;
        // Others may have asked about it meanwhile.
        if let Some(answer) = self.cached(&hash, now) {
            return Ok(answer);
        }
        let asked = self.ask(token).await?;
        let answer = asked.ok_or_else(|| TokenError::invalid("The token is not active"))?;
        let answer = Arc::new(answer);
        self.keep(hash, &answer, now);
        Ok(answer)
    }

    /// `None` for a token that is not active.
    async fn ask(&self, token: &str) -> Result<Option<Answer>, FetchError> {
        let body = format!("token={}&token_type_hint=access_token", form(token));
        let request = Request::post(&self.endpoint)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, AGENT);
        let credentials = self.credentials.clone();
        let request =
            credentials.into_iter().fold(request, |r, value| r.header(AUTHORIZATION, value));
        let request = request.body(Bytes::from(body));
        let request =
            request.map_err(|error| FetchError::caused("the endpoint is no URL", error))?;
        read(&self.fetch.fetch(request).await?)
    }

    fn cached(&self, hash: &[u8; 32], now: SystemTime) -> Option<Arc<Answer>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cache.get(hash).filter(|cached| now < cached.until)?;
        // From a clock that was set back.
        let is_possible =
            cached.until.duration_since(now).is_ok_and(|left| left <= self.cache_time);
        is_possible.then(|| Arc::clone(&cached.answer))
    }

    fn keep(&self, hash: [u8; 32], answer: &Arc<Answer>, now: SystemTime) {
        let until = now.checked_add(self.cache_time).unwrap_or(now);
        let until = answer.claims.expires_at().map_or(until, |expiry| expiry.min(until));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= Self::CACHED {
            cache.retain(|_, cached| now < cached.until);
        }
        if now < until && cache.len() < Self::CACHED {
            cache.insert(hash, Cached { answer: Arc::clone(answer), until });
        }
    }
}

impl TokenVerifier for Introspection {
    fn verify(&self, presented: Presented) -> Verifying<'_> {
        Box::pin(async move { self.judge(&presented).await })
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.issuer)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// RFC 7662, section 2.2. Whatever is not clearly an answer is none: it must neither let in nor refuse.
fn read(response: &Response<Bytes>) -> Result<Option<Answer>, FetchError> {
    if response.status() != StatusCode::OK {
        let status = response.status();
        return Err(FetchError::new(format!("the introspection endpoint answered {status}")));
    }
    let is_too_long = response.body().len() > Introspection::ANSWER;
    let malformed = |error: Box<dyn std::error::Error + Send + Sync>| {
        FetchError::caused("the answer of the introspection endpoint is not right", error)
    };
    if is_too_long {
        return Err(malformed("it is too long".into()));
    }
    let text = text(response)?;
    let object = Object::parse(text).map_err(|error| malformed(error.into()))?;
    match object.get("active") {
        Some("true") => {}
        Some("false") => return Ok(None),
        _ => return Err(malformed("it does not say whether the token is active".into())),
    }
    let claims = serde_json::from_str(text).map_err(|error| malformed(error.into()))?;
    let all = serde_json::from_str(text).map_err(|error| malformed(error.into()))?;
    Ok(Some(Answer { claims, all }))
}

/// A value of a form. Spaces become `%20`, which every server reads.
fn form(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                encoded.push(byte.into());
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!(form("aZ09-._*"), "aZ09-._*");
        assert_eq!(form("a:b %+&=~/ä"), "a%3Ab%20%25%2B%26%3D%7E%2F%C3%A4");
    }

    #[test]
    fn secrets_are_not_shown() {
        let introspection =
            Introspection::new("i", "https://a.example").credentials("id", "canary");
        assert!(!format!("{introspection:?}").contains("canary"));
        assert!(!format!("{:?}", introspection.credentials).contains("Y2FuYXJ5"));
    }

    #[test]
    fn answers() {
        let read = |status: u16, body: &'static str| {
            let response = Response::builder().status(status).body(Bytes::from(body)).unwrap();
            read(&response).map(|answer| answer.is_some()).ok()
        };
        assert_eq!(read(200, r#"{"active":true,"sub":"a"}"#), Some(true));
        assert_eq!(read(200, r#"{"active":false}"#), Some(false));
        assert_eq!(read(200, r#"{"active":false,"sub":7}"#), Some(false));
        for none in [
            "",
            "{}",
            "[]",
            "true",
            r#"{"active":"true"}"#,
            r#"{"active":1}"#,
            r#"{"active":null}"#,
            r#"{"active":false,"active":true}"#,
            r#"{"active":true,"sub":7}"#,
            r#"{"active":true,"exp":"never"}"#,
        ] {
            assert_eq!(read(200, none), None, "{none}");
        }
        for status in [201, 204, 301, 400, 401, 403, 404, 429, 500, 503] {
            assert_eq!(read(status, r#"{"active":true}"#), None, "{status}");
        }
    }
}
