//! Tokens that are JWTs, and the keys of those who issue them.
//!
//! Specification: Authorization, Token Handling; RFC 7519, RFC 8414, RFC 9068.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use mcp_server::Tool;
use mcp_server::auth::jose::{Algorithm, Header, JwkSet, SigningKey};
use mcp_server::auth::{
    Access, FetchError, HttpsFetch, Issuer, JwtVerifier, ResourceServer, TokenVerifier,
};
use serde_json::{Value, json};

use crate::support::{Post, Provider, Reply, Running, builder, within};

pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(crate) const ISSUER: &str = "https://auth.example.com";
pub(crate) const NOW: u64 = 1_785_000_000;
const RSA: &[u8] = include_bytes!("../../../mcp-transport/tests/keys/rsa.pem");

/// A time that stands still until it is moved.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(NOW)))
    }

    pub(crate) fn forward(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn back_to_start(&self) {
        self.0.store(NOW, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A server whose tool tells what it knows of its caller.
pub(crate) async fn protected(verifier: impl TokenVerifier, clock: &Clock) -> Running {
    let clock = clock.clone();
    let resource = ResourceServer::new(RESOURCE)
        .authorization_server(ISSUER)
        .clock(move || UNIX_EPOCH + Duration::from_secs(clock.now()))
        .verifier(verifier);
    let whoami = Tool::new("whoami", async |access: Access| {
        let (subject, issuer, scopes) = (access.subject(), access.issuer(), access.scopes());
        let client = access.client_id().unwrap_or("nobody");
        let left = access.expires_at().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let left = i128::from(left.as_secs()) - i128::from(NOW);
        let email: Option<String> = access.claim("email");
        format!("{subject} of {issuer} by {client} for {left} may {scopes} at {email:?}")
    });
    Running::build(builder().tool(whoami).auth(resource)).await
}

pub(crate) fn call() -> Post {
    Post::call("whoami", json!({}))
}

pub(crate) async fn ask(running: &Running, token: &str) -> Reply {
    running.ask(&call().add("Authorization", &format!("Bearer {token}"))).await
}

/// Why a token was not taken.
pub(crate) fn why(reply: &Reply) -> String {
    assert_eq!(reply.status, 401, "{reply:?}");
    let challenge = reply.field("www-authenticate").unwrap();
    assert!(challenge.contains(r#"error="invalid_token""#), "{challenge}");
    let (_, description) = challenge.split_once(r#"error_description=""#).unwrap();
    description.split('"').next().unwrap().to_owned()
}

fn unavailable(reply: &Reply) {
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(reply.field("retry-after").is_some() && reply.field("www-authenticate").is_none());
}

pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": NOW + 300, "iat": NOW, "nbf": NOW,
        "client_id": "editor", "scope": "notes:read notes:write", "email": "a@example.com",
    })
}

pub(crate) fn key(id: &str) -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap().with_key_id(id)
}

pub(crate) fn token(key: &SigningKey) -> String {
    key.sign_jwt(&Header::new("at+jwt"), &claims()).unwrap()
}

fn fixed(key: &SigningKey) -> JwtVerifier {
    JwtVerifier::new(Issuer::keys(ISSUER, [key.public_jwk().clone()].into_iter().collect()))
}

fn key_set(keys: &[&SigningKey]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| key.public_jwk()).collect();
    json!({ "keys": keys }).to_string()
}

type Change = fn(&mut Value);

#[tokio::test]
async fn claims_that_are_taken() {
    let key = key("k");
    let running = protected(fixed(&key).audience("api://notes"), &Clock::new()).await;
    let full = "alice of https://auth.example.com by editor for 360 may notes:read notes:write at Some(\"a@example.com\")";
    let taken: &[(Change, &str)] = &[
        (|_| (), full),
        (|c| c["aud"] = json!(["https://other.example", RESOURCE]), full),
        (|c| c["aud"] = json!("api://notes"), full),
        (|c| c["exp"] = json!(NOW as f64 + 300.5), full),
        (|c| c["nbf"] = json!(NOW + 60), full),
        (|c| c["iat"] = json!(NOW + 60), full),
        (|c| c["exp"] = json!(NOW - 59), &full.replace("360", "1")),
        (|c| c["scp"] = c["scope"].take(), full),
        (
            |c| {
                c["scope"].take();
                c["scp"] = json!(["notes:read", "notes:write"])
            },
            full,
        ),
        (|c| c["scope"] = json!(""), &full.replace("notes:read notes:write", "")),
        (|c| c["azp"] = c["client_id"].take(), full),
        (|c| drop(c["sub"].take()), &full.replace("alice", "editor")),
        (|c| c["sub"] = json!(""), &full.replace("alice", "editor")),
        (|c| drop(c["client_id"].take()), &full.replace("by editor", "by nobody")),
        (|c| drop(c["nbf"].take()), full),
        (|c| c["cnf"] = json!({ "x5t#S256": "abc" }), full),
    ];
    for (change, expected) in taken {
        let mut claims = claims();
        change(&mut claims);
        let reply = ask(&running, &key.sign_jwt(&Header::new("at+jwt"), &claims).unwrap()).await;
        assert_eq!(reply.status, 200, "{claims}: {reply:?}");
        assert_eq!(reply.tool_text(), *expected, "{claims}");
    }
}

#[tokio::test]
async fn claims_that_are_refused() {
    let key = key("k");
    let running = protected(fixed(&key).audience("api://notes"), &Clock::new()).await;
    let refused: &[(Change, &str)] = &[
        // A token of another server, however valid.
        (|c| c["aud"] = json!("https://other.example/mcp"), "not for this server"),
        (
            |c| c["aud"] = json!(["https://other.example/mcp", "https://mcp.example.com"]),
            "not for this server",
        ),
        (|c| c["aud"] = json!("https://mcp.example.com/mcp/"), "not for this server"),
        (|c| c["aud"] = json!("HTTPS://MCP.example.com/mcp"), "not for this server"),
        (|c| c["aud"] = json!([]), "not for this server"),
        (|c| c["aud"] = json!("*"), "not for this server"),
        (|c| drop(c["aud"].take()), "not for this server"),
        (|c| c["aud"] = json!({ "a": RESOURCE }), "claims are not right"),
        (|c| c["iss"] = json!("https://auth.example.com/"), "issuer"),
        (|c| c["iss"] = json!("https://evil.example"), "issuer"),
        (|c| c["iss"] = json!([ISSUER]), "issuer"),
        (|c| drop(c["iss"].take()), "issuer"),
        (|c| c["exp"] = json!(NOW - 60), "expired"),
        (|c| c["exp"] = json!(0), "expired"),
        (|c| drop(c["exp"].take()), "no expiry"),
        (|c| c["exp"] = json!("1785000300"), "claims are not right"),
        (|c| c["exp"] = json!(-1), "claims are not right"),
        (|c| c["nbf"] = json!(NOW + 61), "time to come"),
        (|c| c["iat"] = json!(NOW + 61), "time to come"),
        (|c| c["nbf"] = json!(u64::MAX), "time to come"),
        (
            |c| {
                c["sub"].take();
                c["client_id"].take();
            },
            "neither a subject nor a client",
        ),
        (
            |c| {
                c["sub"] = json!("");
                c["client_id"] = json!("");
            },
            "neither a subject nor a client",
        ),
        (|c| c["sub"] = json!(7), "claims are not right"),
        (
            |c| c["cnf"] = json!({ "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }),
            "bound to a key",
        ),
    ];
    for (change, expected) in refused {
        let mut claims = claims();
        change(&mut claims);
        let reply = ask(&running, &key.sign_jwt(&Header::new("at+jwt"), &claims).unwrap()).await;
        let why = why(&reply);
        assert!(why.contains(expected), "{claims}: {why}");
    }
}

#[tokio::test]
async fn what_a_token_says_of_itself() {
    let (es, stranger) = (key("k"), key("k"));
    let rsa = |algorithm| SigningKey::from_pem(algorithm, RSA).unwrap();
    let keys: JwkSet =
        [&es, &rsa(Algorithm::Rs256)].map(|key| key.public_jwk().clone()).into_iter().collect();
    let verifier = || JwtVerifier::new(Issuer::keys(ISSUER, keys.clone()));
    let running = protected(verifier(), &Clock::new()).await;
    let of = |key: &SigningKey, typ: &str| key.sign_jwt(&Header::new(typ), &claims()).unwrap();
    let bare = es.sign_jwt(&Header::default(), &claims()).unwrap();
    for typ in ["at+jwt", "application/at+jwt", "JWT", "jwt"] {
        assert_eq!(ask(&running, &of(&es, typ)).await.status, 200, "{typ}");
    }
    assert_eq!(ask(&running, &bare).await.status, 200);
    for typ in ["dpop+jwt", "logout+jwt", "secevent+jwt", ""] {
        assert!(why(&ask(&running, &of(&es, typ)).await).contains("type"), "{typ}");
    }
    for algorithm in [Algorithm::Rs256, Algorithm::Ps256] {
        assert_eq!(ask(&running, &of(&rsa(algorithm), "JWT")).await.status, 200, "{algorithm}");
    }
    for algorithm in [Algorithm::Rs384, Algorithm::Rs512, Algorithm::Ps384, Algorithm::Ps512] {
        let reply = ask(&running, &of(&rsa(algorithm), "JWT")).await;
        assert!(why(&reply).contains("algorithm is not accepted"), "{algorithm}");
    }
    let signed_by = "not signed by a key of its issuer";
    assert!(why(&ask(&running, &of(&stranger, "JWT")).await).contains(signed_by));
    // One that brings its key along, and one that points to it.
    let jwk = serde_json::to_value(stranger.public_jwk()).unwrap();
    let header = Header::new("JWT").member("jwk", jwk).member("jku", "https://evil.example/keys");
    let brought = stranger.sign_jwt(&header, &claims()).unwrap();
    assert!(why(&ask(&running, &brought).await).contains(signed_by));
    let good = of(&es, "JWT");
    let (signed, _) = good.rsplit_once('.').unwrap();
    assert!(why(&ask(&running, &format!("{signed}.")).await).contains(signed_by));
    let (_, claims_and_signature) = good.split_once('.').unwrap();
    // {"alg":"none"} and {"alg":"HS256"}
    for header in ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzI1NiJ9"] {
        let reply = ask(&running, &format!("{header}.{claims_and_signature}")).await;
        assert!(why(&reply).contains("is not accepted"), "{header}");
    }
    for nonsense in ["a", "a.b.c", "..", "opaque-token-of-another-kind"] {
        why(&ask(&running, nonsense).await);
    }

    let strict = protected(verifier().require_at_jwt(), &Clock::new()).await;
    assert_eq!(ask(&strict, &of(&es, "at+jwt")).await.status, 200);
    assert!(why(&ask(&strict, &of(&es, "JWT")).await).contains("type"));
    assert!(why(&ask(&strict, &bare).await).contains("type"));
    let pinned = protected(verifier().algorithms([Algorithm::Rs256]), &Clock::new()).await;
    assert!(why(&ask(&pinned, &of(&es, "JWT")).await).contains("algorithm"));
    // However much somebody asks for.
    let lax = protected(verifier().skew(Duration::from_secs(1 << 40)), &Clock::new()).await;
    let mut old = claims();
    old["exp"] = json!(NOW - 299);
    assert_eq!(ask(&lax, &es.sign_jwt(&Header::new("JWT"), &old).unwrap()).await.status, 200);
    old["exp"] = json!(NOW - 300);
    why(&ask(&lax, &es.sign_jwt(&Header::new("JWT"), &old).unwrap()).await);
}

#[tokio::test]
async fn a_key_counts_for_its_issuer_alone() {
    let (one, other) = (key("k"), key("k"));
    let set = |key: &SigningKey| [key.public_jwk().clone()].into_iter().collect();
    let other_issuer = "https://other.example";
    let verifier = fixed(&one).issuer(Issuer::keys(other_issuer, set(&other)));
    let running = protected(verifier, &Clock::new()).await;
    let of = |key: &SigningKey, issuer: &str| {
        let mut claims = claims();
        claims["iss"] = json!(issuer);
        key.sign_jwt(&Header::new("JWT"), &claims).unwrap()
    };
    assert_eq!(ask(&running, &of(&one, ISSUER)).await.status, 200);
    let reply = ask(&running, &of(&other, other_issuer)).await;
    assert!(reply.tool_text().starts_with("alice of https://other.example"));
    why(&ask(&running, &of(&one, other_issuer)).await);
    why(&ask(&running, &of(&other, ISSUER)).await);
}

#[tokio::test]
async fn keys_are_fetched_once_and_kept_as_long_as_they_are_good() {
    let provider = Provider::start().await;
    let (key, clock) = (key("k"), Clock::new());
    provider.answer("/keys", &key_set(&[&key]));
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, provider.url("/keys")));
    let running = protected(verifier, &clock).await;
    let mut claims = claims();
    claims["exp"] = json!(NOW + 1_000_000);
    let token = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
    // Many at once, before the first answer.
    provider.hold(true);
    let asks: Vec<_> = (0..20).map(|_| ask(&running, &token)).collect();
    let mut asks: Vec<_> = asks.into_iter().map(Box::pin).collect();
    let all = async {
        for ask in &mut asks {
            assert_eq!(ask.await.status, 200);
        }
    };
    let release = async {
        provider.asked_times(1).await;
        provider.hold(false);
    };
    tokio::join!(all, release);
    assert_eq!(provider.count(), 1);
    let secs = |duration: Duration| duration.as_secs();
    // For as long as the issuer says, within bounds.
    let bounds = [
        ("max-age=5", secs(Issuer::MIN_AGE)),
        ("no-store", secs(Issuer::MIN_AGE)),
        ("public, No-Cache, max-age=1000", secs(Issuer::MIN_AGE)),
        ("public, Max-Age=\"1000\"", 1000),
        ("max-age=99999999", secs(Issuer::MAX_AGE)),
        ("max-age=never", secs(Issuer::AGE)),
    ];
    for (cache_control, age) in bounds {
        let line = format!("Cache-Control: {cache_control}\r\n");
        provider.answer_with("/keys", "200 OK", &line, &key_set(&[&key]));
        // Too old, whatever was said before.
        clock.forward(secs(Issuer::MAX_AGE));
        let before = provider.count();
        assert_eq!(ask(&running, &token).await.status, 200);
        clock.forward(age * 3 / 4 - 1);
        assert_eq!(ask(&running, &token).await.status, 200);
        assert_eq!(provider.count(), before + 1, "{cache_control}");
        clock.forward(age / 4 + 1);
        assert_eq!(ask(&running, &token).await.status, 200);
        assert_eq!(provider.count(), before + 2, "{cache_control}");
    }
    let before = provider.count();
    // Shortly before they are too old they are fetched, and nobody waits for it.
    clock.forward(secs(Issuer::AGE) * 3 / 4 - 1);
    assert_eq!(ask(&running, &token).await.status, 200);
    assert_eq!(provider.count(), before);
    clock.forward(1);
    provider.hold(true);
    assert_eq!(ask(&running, &token).await.status, 200);
    provider.asked_times(before + 1).await;
}

#[tokio::test]
async fn new_keys_are_found_and_old_ones_forgotten() {
    let provider = Provider::start().await;
    let (old, new, clock) = (key("old"), key("new"), Clock::new());
    provider.answer("/keys", &key_set(&[&old]));
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, provider.url("/keys")));
    let running = protected(verifier, &clock).await;
    assert_eq!(ask(&running, &token(&old)).await.status, 200);
    provider.answer("/keys", &key_set(&[&new]));
    clock.forward(Issuer::UNKNOWN_KEY.as_secs());
    assert_eq!(ask(&running, &token(&new)).await.status, 200);
    why(&ask(&running, &token(&old)).await);
    assert_eq!(provider.count(), 2);
    // Another key by the same name, as when an issuer starts anew.
    let again = key("new");
    provider.answer("/keys", &key_set(&[&again]));
    clock.forward(Issuer::UNKNOWN_KEY.as_secs());
    assert_eq!(ask(&running, &token(&again)).await.status, 200);
    assert_eq!(provider.count(), 3);
}

#[tokio::test]
async fn a_storm_of_unknown_keys_does_not_reach_the_issuer() {
    let provider = Provider::start().await;
    let (good, clock) = (key("k"), Clock::new());
    provider.answer("/keys", &key_set(&[&good]));
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, provider.url("/keys")));
    let running = protected(verifier, &clock).await;
    let stranger = key("x");
    let storm = async |from: u32| {
        for n in from..from + 30 {
            why(&ask(&running, &token(&stranger.clone().with_key_id(format!("x{n}")))).await);
        }
        // And at once.
        let tokens: Vec<_> =
            (0..30).map(|n| token(&stranger.clone().with_key_id(format!("y{from}{n}")))).collect();
        let mut asks: Vec<_> = tokens.iter().map(|token| Box::pin(ask(&running, token))).collect();
        for ask in &mut asks {
            why(&ask.await);
        }
    };
    storm(0).await;
    assert_eq!(provider.count(), 1, "the first fetch is new enough");
    clock.forward(Issuer::UNKNOWN_KEY.as_secs());
    storm(100).await;
    assert_eq!(provider.count(), 2);
    assert_eq!(ask(&running, &token(&good)).await.status, 200);
    // Unknown issuers and algorithms cause no fetch at all.
    clock.forward(Issuer::UNKNOWN_KEY.as_secs());
    let mut claims = claims();
    claims["iss"] = json!("https://evil.example");
    why(&ask(&running, &stranger.sign_jwt(&Header::new("JWT"), &claims).unwrap()).await);
    assert_eq!(provider.count(), 2);
}

#[tokio::test]
async fn old_keys_do_while_the_issuer_is_down() {
    let provider = Provider::start().await;
    let (key, clock) = (key("k"), Clock::new());
    let fetch = HttpsFetch::new();
    let issuer = Issuer::jwks_uri(ISSUER, provider.url("/keys"));
    let running = protected(JwtVerifier::new(issuer).fetch(fetch), &clock).await;
    let mut claims = claims();
    claims["exp"] = json!(NOW + 1_000_000);
    let token = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
    // Nothing can be said yet, and the issuer is not asked for every request.
    provider.down(true);
    unavailable(&ask(&running, &token).await);
    let tries = provider.count();
    unavailable(&ask(&running, &token).await);
    assert_eq!(provider.count(), tries);
    provider.down(false);
    provider.answer("/keys", &key_set(&[&key]));
    clock.forward(Issuer::RETRY.as_secs());
    assert_eq!(ask(&running, &token).await.status, 200);
    for (status, body) in [
        ("500 Internal Server Error", ""),
        ("404 Not Found", ""),
        ("302 Found", ""),
        ("200 OK", "<html>"),
        ("200 OK", r#"{"error":"none"}"#),
    ] {
        provider.answer_with("/keys", status, "Location: /moved\r\n", body);
        clock.forward(Issuer::MAX_AGE.as_secs());
        let before = provider.count();
        assert_eq!(ask(&running, &token).await.status, 200, "{status} {body}");
        assert_eq!(provider.count(), before + 1, "{status} {body}");
    }
    assert!(provider.asked().iter().all(|request| !request.contains("/moved")));
    clock.forward(Issuer::STALE_AGE.as_secs());
    unavailable(&ask(&running, &token).await);
    provider.answer("/keys", &key_set(&[&key]));
    clock.forward(Issuer::RETRY.as_secs());
    assert_eq!(ask(&running, &token).await.status, 200);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_holds_nobody_for_ever() {
    let provider = Provider::start().await;
    let (key, clock) = (key("k"), Clock::new());
    provider.answer("/keys", &key_set(&[&key]));
    provider.hold(true);
    let issuer = || Issuer::jwks_uri(ISSUER, provider.url("/keys"));
    let fetch = HttpsFetch::new().timeout(Duration::from_millis(50));
    let running = protected(JwtVerifier::new(issuer()).fetch(fetch), &clock).await;
    unavailable(&ask(&running, &token(&key)).await);

    // Nor while there are old keys, however long the issuer is waited for.
    let provider_of_old = Provider::start().await;
    provider_of_old.answer("/keys", &key_set(&[&key]));
    let old = Issuer::jwks_uri(ISSUER, provider_of_old.url("/keys"));
    let fetch = HttpsFetch::new().timeout(Duration::MAX);
    let running = protected(JwtVerifier::new(old).fetch(fetch), &clock).await;
    let mut claims = claims();
    claims["exp"] = json!(NOW + 10_000);
    let lasting = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
    assert_eq!(ask(&running, &lasting).await.status, 200);
    provider_of_old.hold(true);
    clock.forward(Issuer::MAX_AGE.as_secs());
    assert_eq!(ask(&running, &lasting).await.status, 200);
    clock.back_to_start();

    // A client that leaves takes nothing from the others: what it began goes on.
    let running = protected(JwtVerifier::new(issuer()), &clock).await;
    let mut leaver = running.connect().await;
    let before = provider.count();
    leaver.send(&call().add("Authorization", &format!("Bearer {}", token(&key))).bytes()).await;
    provider.asked_times(before + 1).await;
    drop(leaver);
    let release = async { provider.hold(false) };
    let token = token(&key);
    let (reply, ()) = tokio::join!(ask(&running, &token), release);
    assert_eq!(reply.status, 200);
    assert_eq!(provider.count(), before + 1);
}

#[tokio::test]
async fn a_huge_key_set_is_not_read() {
    let provider = Provider::start().await;
    let (key, clock) = (key("k"), Clock::new());
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, provider.url("/keys")));
    let running = protected(verifier, &clock).await;
    let padding = "x".repeat(HttpsFetch::BODY);
    let large = json!({ "keys": [key.public_jwk()], "padding": padding }).to_string();
    let many = json!({ "keys": vec![key.public_jwk(); 129] }).to_string();
    let deep = format!(r#"{{"keys":[],"x":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    for body in [large, many, deep] {
        provider.answer("/keys", &body);
        unavailable(&ask(&running, &token(&key)).await);
        clock.forward(Issuer::RETRY.as_secs());
    }
    // As many as are allowed, most of no use.
    let mut keys = vec![json!({ "kty": "oct" }); 127];
    keys.push(serde_json::to_value(key.public_jwk()).unwrap());
    provider.answer("/keys", &json!({ "keys": keys }).to_string());
    assert_eq!(ask(&running, &token(&key)).await.status, 200);
}

#[tokio::test]
async fn keys_without_names_are_tried_up_to_a_limit() {
    let nameless = || SigningKey::generate(Algorithm::Es256).unwrap();
    let keys: Vec<_> = (0..=JwtVerifier::MAX_TRIES).map(|_| nameless()).collect();
    let set: JwkSet = keys.iter().map(|key| key.public_jwk().clone()).collect();
    let running = protected(JwtVerifier::new(Issuer::keys(ISSUER, set)), &Clock::new()).await;
    for (at, key) in keys.iter().enumerate() {
        let named = key.clone().with_key_id("any");
        for token in [token(key), token(&named)] {
            let expected = if at < JwtVerifier::MAX_TRIES { 200 } else { 401 };
            assert_eq!(ask(&running, &token).await.status, expected, "{at}");
        }
    }
}

/// Specification: Authorization Server Discovery, Authorization Server Metadata Discovery.
#[tokio::test]
async fn metadata_says_where_the_keys_are() {
    let (oauth, openid) =
        ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
    let key = key("k");
    let rows: [(&str, String, usize); 6] = [
        ("", oauth.to_owned(), 2),
        ("/", oauth.to_owned(), 2),
        ("", openid.to_owned(), 3),
        ("/t/1", format!("{oauth}/t/1"), 2),
        ("/t/1", format!("{openid}/t/1"), 3),
        ("/t/1/", format!("/t/1{openid}"), 4),
    ];
    for (path, place, requests) in rows {
        let provider = Provider::start().await;
        // A page for people, and a way to it, are no metadata.
        provider.answer(oauth, "<html>");
        provider.answer_with(openid, "302 Found", "Location: /login\r\n", "");
        let issuer = provider.url(path);
        let document = json!({ "issuer": issuer, "jwks_uri": provider.url("/keys"), "x": 1 });
        provider.answer(&place, &document.to_string());
        provider.answer("/keys", &key_set(&[&key]));
        let clock = Clock::new();
        let running = protected(JwtVerifier::discover(&issuer), &clock).await;
        let mut claims = claims();
        claims["iss"] = json!(issuer);
        claims["exp"] = json!(NOW + 10_000);
        let token = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
        assert_eq!(ask(&running, &token).await.status, 200, "{path} {place}");
        assert_eq!(provider.count(), requests, "{path} {place}");
        // The next time only the keys.
        clock.forward(Issuer::AGE.as_secs());
        assert_eq!(ask(&running, &token).await.status, 200);
        assert_eq!(provider.count(), requests + 1, "{path} {place}");
    }
}

#[tokio::test]
async fn metadata_that_does_not_belong_to_the_issuer() {
    let place = "/.well-known/oauth-authorization-server";
    let key = key("k");
    let provider = Provider::start().await;
    provider.answer("/keys", &key_set(&[&key]));
    let issuer = provider.url("");
    let running = |clock: &Clock| {
        let (verifier, clock) = (JwtVerifier::discover(&issuer), clock.clone());
        async move { protected(verifier, &clock).await }
    };
    let keys = provider.url("/keys");
    for document in [
        json!({ "issuer": format!("{issuer}/"), "jwks_uri": keys }).to_string(),
        json!({ "issuer": "https://evil.example", "jwks_uri": keys }).to_string(),
        json!({ "jwks_uri": keys }).to_string(),
        json!({ "issuer": issuer }).to_string(),
        json!({ "issuer": issuer, "jwks_uri": "http://10.0.0.1/keys" }).to_string(),
        json!({ "issuer": issuer, "jwks_uri": "file:///etc/passwd" }).to_string(),
        json!({ "issuer": issuer, "jwks_uri": "/keys" }).to_string(),
        "<html>".to_owned(),
        "[]".to_owned(),
    ] {
        provider.answer(place, &document);
        let running = running(&Clock::new()).await;
        let mut claims = claims();
        claims["iss"] = json!(issuer);
        let token = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
        unavailable(&ask(&running, &token).await);
    }
    assert!(provider.asked().iter().all(|request| !request.starts_with("GET /keys")));
}

#[tokio::test]
async fn applications_bring_their_own_fetch() {
    let key = key("k");
    let body = Bytes::from(key_set(&[&key]));
    let fetch = move |request: http::Request<Bytes>| {
        let body = body.clone();
        async move {
            match request.uri().to_string().as_str() {
                "https://keys.example/set" => Ok(http::Response::new(body)),
                other => Err(FetchError::new(format!("nothing at {other}"))),
            }
        }
    };
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, "https://keys.example/set"));
    let running = protected(verifier.fetch(fetch), &Clock::new()).await;
    assert_eq!(within(ask(&running, &token(&key))).await.status, 200);

    // One that panics takes nobody along, and is asked again.
    let panics = |_: http::Request<Bytes>| -> std::future::Ready<_> { panic!("as it should") };
    let verifier = JwtVerifier::new(Issuer::jwks_uri(ISSUER, "https://keys.example/set"));
    let running = protected(verifier.fetch(panics), &Clock::new()).await;
    for _ in 0..2 {
        unavailable(&within(ask(&running, &token(&key))).await);
    }
}
