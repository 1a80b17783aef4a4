//! Tokens that only their issuer can say anything about.
//!
//! Specification: Authorization, Token Handling; RFC 7662.

use std::time::Duration;

use mcp_server::auth::{Introspection, TokenError};
use serde_json::{Value, json};

use crate::auth_jwt::{Clock, ISSUER, NOW, RESOURCE, ask, protected, why};
use crate::support::{Provider, Reply};

fn introspection(provider: &Provider) -> Introspection {
    Introspection::new(ISSUER, provider.url("/introspect")).credentials("me :%", "s&crét")
}

fn active() -> Value {
    json!({
        "active": true, "sub": "alice", "aud": RESOURCE, "exp": NOW + 300, "client_id": "editor",
        "scope": "notes:read", "email": "a@example.com",
    })
}

fn unavailable(reply: &Reply) {
    assert_eq!(reply.status, 503, "{reply:?}");
    let seconds = TokenError::RETRY_AFTER.as_secs().to_string();
    assert_eq!(reply.field("retry-after"), Some(&*seconds));
    assert_eq!(reply.field("www-authenticate"), None);
}

#[tokio::test]
async fn what_is_asked_and_answered() {
    let provider = Provider::start().await;
    provider.answer("/introspect", &active().to_string());
    let running = protected(introspection(&provider), &Clock::new()).await;
    let reply = ask(&running, "ab+c/d=").await;
    let expected = "alice of https://auth.example.com by editor for 300 may notes:read at Some(\"a@example.com\")";
    assert_eq!(reply.tool_text(), expected);
    let request = provider.asked().pop().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /introspect HTTP/1.1"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/x-www-form-urlencoded"), "{head}");
    assert!(head.contains("accept: application/json"), "{head}");
    // RFC 6749, section 2.3.1: id and secret are encoded, then joined.
    let pair = "me%20%3A%25:s%26cr%C3%A9t";
    let basic = format!("authorization: basic {}", base64(pair)).to_ascii_lowercase();
    assert!(head.contains(&basic), "{head}");
    assert_eq!(body, "token=ab%2Bc%2Fd%3D&token_type_hint=access_token");
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn answers_that_do_not_let_in() {
    let provider = Provider::start().await;
    let clock = Clock::new();
    let verifier = introspection(&provider).cache_time(Duration::ZERO).audience("api://notes");
    let running = protected(verifier, &clock).await;
    type Change = fn(&mut Value);
    let rows: &[(Change, Option<&str>)] = &[
        (|_| (), None),
        (|a| a["aud"] = json!(["https://other.example", RESOURCE]), None),
        (|a| a["aud"] = json!("api://notes"), None),
        (|a| a["iss"] = json!(ISSUER), None),
        (|a| a["active"] = json!(false), Some("not active")),
        (|a| *a = json!({ "active": false }), Some("not active")),
        (|a| a["aud"] = json!("https://other.example/mcp"), Some("not for this server")),
        (|a| a["aud"] = json!([]), Some("not for this server")),
        (|a| drop(a["aud"].take()), Some("not for this server")),
        (|a| a["iss"] = json!("https://evil.example"), Some("issuer")),
        (|a| a["exp"] = json!(NOW), Some("expired")),
        (|a| a["nbf"] = json!(NOW + 1), Some("time to come")),
        (
            |a| {
                a["sub"].take();
                a["client_id"].take();
            },
            Some("neither a subject nor a client"),
        ),
        (|a| a["cnf"] = json!({ "jkt": "abc" }), Some("bound to a key")),
    ];
    for (change, expected) in rows {
        let mut answer = active();
        change(&mut answer);
        provider.answer("/introspect", &answer.to_string());
        let reply = ask(&running, "t").await;
        match expected {
            None => assert_eq!(reply.status, 200, "{answer}"),
            Some(expected) => assert!(why(&reply).contains(expected), "{answer}: {}", why(&reply)),
        }
    }
    assert_eq!(provider.count(), rows.len());
}

#[tokio::test]
async fn no_answer_is_no_refusal() {
    let provider = Provider::start().await;
    let running = protected(introspection(&provider), &Clock::new()).await;
    for (status, body) in [
        ("401 Unauthorized", r#"{"active":false}"#),
        ("403 Forbidden", "{}"),
        ("404 Not Found", ""),
        ("302 Found", ""),
        ("500 Internal Server Error", ""),
        ("200 OK", ""),
        ("200 OK", "{}"),
        ("200 OK", r#"{"active":"true"}"#),
        ("200 OK", r#"{"active":false,"active":true}"#),
        ("200 OK", &json!({ "active": true, "x": "x".repeat(Introspection::ANSWER) }).to_string()),
    ] {
        provider.answer_with("/introspect", status, "Location: /moved\r\n", body);
        unavailable(&ask(&running, "t").await);
    }
    provider.down(true);
    unavailable(&ask(&running, "t").await);
    assert!(provider.asked().iter().all(|request| request.starts_with("POST /introspect ")));
}

#[tokio::test]
async fn answers_are_kept_for_a_while_and_never_longer_than_the_token() {
    let provider = Provider::start().await;
    let clock = Clock::new();
    let running = protected(introspection(&provider), &clock).await;
    let cache = Introspection::CACHE_TIME.as_secs();
    provider.answer("/introspect", &active().to_string());
    for _ in 0..3 {
        assert_eq!(ask(&running, "t").await.status, 200);
    }
    assert_eq!(provider.count(), 1);
    // Another token is another question, however much alike.
    assert_eq!(ask(&running, "T").await.status, 200);
    assert_eq!(provider.count(), 2);
    // Revoked: it is good until the answer is too old.
    provider.answer("/introspect", r#"{"active":false}"#);
    clock.forward(cache - 1);
    assert_eq!(ask(&running, "t").await.status, 200);
    clock.forward(1);
    why(&ask(&running, "t").await);
    // And what is not active is asked about each time.
    why(&ask(&running, "t").await);
    assert_eq!(provider.count(), 4);
    let mut short = active();
    short["exp"] = json!(clock.now() + 5);
    provider.answer("/introspect", &short.to_string());
    assert_eq!(ask(&running, "t").await.status, 200);
    provider.down(true);
    clock.forward(4);
    assert_eq!(ask(&running, "t").await.status, 200);
    clock.forward(1);
    unavailable(&ask(&running, "t").await);
}
