//! Tokens that are bound to a key, and the proofs that go with them.
//!
//! RFC 9449.

use std::sync::Arc;
use std::time::Duration;

use mcp_server::auth::jose::{Algorithm, Header, SigningKey};
use mcp_server::auth::{Access, Dpop, Issuer, JwtVerifier, NonceKey, Presented, TokenError};
use mcp_transport::dpop::Proof;
use serde_json::{Value, json};

use crate::auth_jwt::{Clock, ISSUER, NOW, RESOURCE, call, claims, key, protected};
use crate::support::{Post, Reply, Running};

/// An issuer, a client with its key, and the token that it has for it.
struct Cast {
    issuer: SigningKey,
    client: SigningKey,
    token: String,
}

impl Cast {
    fn new() -> Self {
        let (issuer, client) = (key("k"), SigningKey::generate(Algorithm::Es256).unwrap());
        let mut bound = claims();
        bound["cnf"] = json!({ "jkt": client.public_jwk().thumbprint().to_string() });
        let token = issuer.sign_jwt(&Header::new("at+jwt"), &bound).unwrap();
        Self { issuer, client, token }
    }

    fn verifier(&self) -> Dpop {
        let keys = [self.issuer.public_jwk().clone()].into_iter().collect();
        Dpop::new(JwtVerifier::new(Issuer::keys(ISSUER, keys)))
    }

    fn proof(&self) -> String {
        self.proof_at(NOW)
    }

    fn proof_at(&self, now: u64) -> String {
        Proof::new(&self.client, "POST", RESOURCE).access_token(&self.token).sign(now).unwrap()
    }

    /// A request with the token and this proof.
    fn post(&self, proof: &str) -> Post {
        self.bare().add("DPoP", proof)
    }

    fn bare(&self) -> Post {
        call().add("Authorization", &format!("DPoP {}", self.token))
    }
}

/// The code, the description and the scheme of the challenge that says what is wrong.
fn fault(reply: &Reply) -> (String, String, String) {
    assert_eq!(reply.status, 401, "{reply:?}");
    let lines = reply.fields.iter().filter(|(name, _)| name == "www-authenticate");
    let mut lines = lines.filter(|(_, value)| value.contains("error="));
    let (_, challenge) = lines.next().unwrap();
    assert!(lines.next().is_none(), "{reply:?}");
    let param = |name: &str| {
        let (_, rest) = challenge.split_once(&format!("{name}=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let scheme = challenge.split(' ').next().unwrap().to_owned();
    (param("error"), param("error_description"), scheme)
}

fn invalid_proof(reply: &Reply, expected: &str) {
    let (code, why, scheme) = fault(reply);
    assert_eq!((&*code, &*scheme), ("invalid_dpop_proof", "DPoP"), "{expected}: {why}");
    assert!(why.contains(expected), "{expected}: {why}");
}

async fn running(verifier: Dpop) -> Running {
    protected(verifier, &Clock::new()).await
}

#[tokio::test]
async fn a_token_with_its_proof() {
    let cast = Cast::new();
    let running = running(cast.verifier()).await;
    let reply = running.ask(&cast.post(&cast.proof())).await;
    assert!(reply.tool_text().starts_with("alice"), "{reply:?}");
    // The same with another host: what counts is who the server says it is.
    let elsewhere = cast.post(&cast.proof()).set("Host", "127.0.0.1");
    assert_eq!(running.ask(&elsewhere).await.status, 200);
}

#[tokio::test]
async fn what_clients_are_told() {
    let cast = Cast::new();
    let path = "/.well-known/oauth-protected-resource/mcp";
    let get = Post::bare("").line(&format!("GET {path} HTTP/1.1"));
    for required in [false, true] {
        let verifier = cast.verifier().algorithms([Algorithm::Es256, Algorithm::EdDsa]);
        let running = running(if required { verifier.required() } else { verifier }).await;
        let document: Value = serde_json::from_slice(&running.ask(&get).await.body).unwrap();
        assert_eq!(document["dpop_signing_alg_values_supported"], json!(["ES256", "EdDSA"]));
        let bound = document.get("dpop_bound_access_tokens_required");
        assert_eq!(bound, required.then_some(Value::Bool(true)).as_ref());
        let reply = running.ask(&call()).await;
        let challenges: Vec<_> =
            reply.fields.iter().filter(|(name, _)| name == "www-authenticate").collect();
        let text = format!("{challenges:?}");
        assert!(text.contains("DPoP ") && text.contains(r#"algs=\"ES256 EdDSA\""#), "{text}");
        assert_eq!(text.contains("Bearer "), !required, "{text}");
    }
}

#[tokio::test]
async fn a_bound_token_is_no_bearer_token_and_the_reverse() {
    let cast = Cast::new();
    let running_both = running(cast.verifier()).await;
    let bearer = |token: &str| call().add("Authorization", &format!("Bearer {token}"));
    for post in [bearer(&cast.token), bearer(&cast.token).add("DPoP", &cast.proof())] {
        let (code, why, _) = fault(&running_both.ask(&post).await);
        assert_eq!(code, "invalid_token");
        assert!(why.contains("bound to a key"), "{why}");
    }
    let unbound = cast.issuer.sign_jwt(&Header::new("at+jwt"), &claims()).unwrap();
    assert_eq!(running_both.ask(&bearer(&unbound)).await.status, 200);
    let proof = Proof::new(&cast.client, "POST", RESOURCE).access_token(&unbound);
    let post = call().add("Authorization", &format!("DPoP {unbound}"));
    let reply = running_both.ask(&post.add("DPoP", &proof.sign(NOW).unwrap())).await;
    let (code, why, _) = fault(&reply);
    assert_eq!(code, "invalid_token");
    assert!(why.contains("not bound"), "{why}");
    let running = running(cast.verifier().required()).await;
    assert_eq!(running.ask(&bearer(&unbound)).await.status, 401);
    assert_eq!(running.ask(&cast.post(&cast.proof())).await.status, 200);
    // A verifier of one's own that knows keys, and gives them away to bearers.
    let careless =
        async |_: Presented| Ok::<_, TokenError>(Access::new(ISSUER, "a").with_key("abc"));
    let running = self::running(Dpop::new(careless)).await;
    let (code, ..) = fault(&running.ask(&bearer("any")).await);
    assert_eq!(code, "invalid_token");
}

#[tokio::test]
async fn proofs_that_are_refused() {
    let cast = Cast::new();
    let running = running(cast.verifier()).await;
    let other = SigningKey::generate(Algorithm::Es256).unwrap();
    let of = |key: &SigningKey, method: &str, url: &str, token: &str, now: u64| {
        Proof::new(key, method, url).access_token(token).sign(now).unwrap()
    };
    let token = &*cast.token;
    let rows = [
        (of(&cast.client, "GET", RESOURCE, token, NOW), "htm"),
        (of(&cast.client, "POST", "https://mcp.example.com/other", token, NOW), "htu"),
        (of(&cast.client, "POST", "https://other.example/mcp", token, NOW), "htu"),
        (of(&cast.client, "POST", "http://localhost/mcp", token, NOW), "htu"),
        (of(&cast.client, "POST", RESOURCE, "another-token", NOW), "ath"),
        (Proof::new(&cast.client, "POST", RESOURCE).sign(NOW).unwrap(), "ath"),
        (of(&cast.client, "POST", RESOURCE, token, NOW - 61), "iat"),
        (of(&cast.client, "POST", RESOURCE, token, NOW + 61), "iat"),
        (of(&other, "POST", RESOURCE, token, NOW), "another key"),
        (cast.token.clone(), "typ"),
        ("nonsense".to_owned(), "three parts"),
        (String::new(), "three parts"),
        ("a".repeat(20_000), "longer than"),
    ];
    for (proof, expected) in &rows {
        invalid_proof(&running.ask(&cast.post(proof)).await, expected);
    }
    invalid_proof(&running.ask(&cast.bare()).await, "no DPoP proof");
    let two = cast.post(&cast.proof()).add("DPoP", &cast.proof());
    invalid_proof(&running.ask(&two).await, "more than one");
    let joined = format!("{}, {}", cast.proof(), cast.proof());
    invalid_proof(&running.ask(&cast.post(&joined)).await, "three parts");
    let changed = cast.proof().replacen("eyJ", "eyK", 1);
    invalid_proof(&running.ask(&cast.post(&changed)).await, "");
    // A good proof saves no bad token.
    let forged = format!("{token}AA");
    let proof = of(&cast.client, "POST", RESOURCE, &forged, NOW);
    let post = call().add("Authorization", &format!("DPoP {forged}")).add("DPoP", &proof);
    assert_eq!(fault(&running.ask(&post).await).0, "invalid_token");
    let strict = self::running(cast.verifier().algorithms([Algorithm::EdDsa])).await;
    invalid_proof(&strict.ask(&cast.post(&cast.proof())).await, "ES256");
}

#[tokio::test]
async fn a_proof_is_good_once() {
    let cast = Cast::new();
    let clock = Clock::new();
    let running = protected(cast.verifier(), &clock).await;
    let proof = cast.proof_at(NOW + 60);
    assert_eq!(running.ask(&cast.post(&proof)).await.status, 200);
    for _ in 0..2 {
        invalid_proof(&running.ask(&cast.post(&proof)).await, "used before");
        // To the last second in which it could be taken.
        clock.forward(60);
    }
    invalid_proof(&running.ask(&cast.post(&proof)).await, "used before");
    clock.forward(1);
    invalid_proof(&running.ask(&cast.post(&proof)).await, "iat");
    // Of many at once one is the first.
    let proof = cast.proof_at(clock.now());
    let posts = vec![cast.post(&proof); 20];
    let mut asks: Vec<_> = posts.iter().map(|post| Box::pin(running.ask(post))).collect();
    let mut taken = 0;
    for ask in &mut asks {
        taken += usize::from(ask.await.status == 200);
    }
    assert_eq!(taken, 1);
    // What was refused for another reason does not count as used.
    let proof = cast.proof_at(clock.now());
    let wrong = cast.post(&proof).add("DPoP", "second");
    invalid_proof(&running.ask(&wrong).await, "more than one");
    assert_eq!(running.ask(&cast.post(&proof)).await.status, 200);
}

#[tokio::test]
async fn nonces() {
    let cast = Cast::new();
    let clock = Clock::new();
    let key = NonceKey::random().unwrap();
    let running = protected(cast.verifier().nonces(&key), &clock).await;
    let with = |nonce: &str| {
        let proof = Proof::new(&cast.client, "POST", RESOURCE).access_token(&cast.token);
        cast.post(&proof.nonce(nonce).sign(clock.now()).unwrap())
    };
    let wanted = |reply: &Reply| {
        let (code, _, scheme) = fault(reply);
        assert_eq!((&*code, &*scheme), ("use_dpop_nonce", "DPoP"));
        reply.field("dpop-nonce").unwrap().to_owned()
    };
    let nonce = wanted(&running.ask(&cast.post(&cast.proof())).await);
    assert_eq!(wanted(&running.ask(&with("made-up")).await), nonce);
    let reply = running.ask(&with(&nonce)).await;
    assert_eq!((reply.status, reply.field("dpop-nonce")), (200, None));
    // Another instance with the same key knows it, one with another does not.
    let sibling = protected(cast.verifier().nonces(&key), &clock).await;
    assert_eq!(sibling.ask(&with(&nonce)).await.status, 200);
    let stranger = cast.verifier().nonces(&NonceKey::random().unwrap());
    assert_ne!(wanted(&protected(stranger, &clock).await.ask(&with(&nonce)).await), nonce);
    // In the next period it is still good, and the next one comes along.
    clock.forward(Dpop::NONCE_TIME.as_secs());
    let reply = running.ask(&with(&nonce)).await;
    let next = reply.field("dpop-nonce").unwrap().to_owned();
    assert_eq!(reply.status, 200);
    assert_ne!(next, nonce);
    assert_eq!(running.ask(&with(&next)).await.field("dpop-nonce"), None);
    clock.forward(Dpop::NONCE_TIME.as_secs());
    wanted(&running.ask(&with(&nonce)).await);
    // Who sends a bad proof is told nothing.
    let bad = Proof::new(&cast.client, "GET", RESOURCE).access_token(&cast.token);
    let reply = running.ask(&cast.post(&bad.sign(clock.now()).unwrap())).await;
    invalid_proof(&reply, "htm");
    assert_eq!(reply.field("dpop-nonce"), None);
}

#[tokio::test]
async fn the_window_has_a_limit() {
    let cast = Cast::new();
    let running = running(cast.verifier().window(Duration::MAX)).await;
    let limit = Dpop::MAX_WINDOW.as_secs();
    assert_eq!(running.ask(&cast.post(&cast.proof_at(NOW - limit))).await.status, 200);
    invalid_proof(&running.ask(&cast.post(&cast.proof_at(NOW - limit - 1))).await, "iat");
}

/// A token is not asked about before its proof is good.
#[tokio::test]
async fn a_bad_proof_costs_the_issuer_nothing() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let cast = Cast::new();
    let thumbprint = cast.client.public_jwk().thumbprint().to_string();
    let verifier = move |_: Presented| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let expiry = std::time::UNIX_EPOCH + Duration::from_secs(NOW + 60);
        let access = Access::new(ISSUER, "alice").with_key(&thumbprint).with_expiry(expiry);
        async { Ok::<_, TokenError>(access) }
    };
    let running = running(Dpop::new(verifier)).await;
    for proof in ["", "nonsense", &cast.proof_at(0)] {
        invalid_proof(&running.ask(&cast.post(proof)).await, "");
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(running.ask(&cast.post(&cast.proof())).await.status, 200);
}
