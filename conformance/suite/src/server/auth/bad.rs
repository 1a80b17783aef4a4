//! Tokens that are no good.

use ring::hmac;
use serde_json::{Value, json};

use super::tokens::HOUR;
use super::{each, each_token, good, invalid, malformed, own, protected, served, with};
use crate::check::{Check, server_check};
use crate::issuer::{Key, key, now};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict};
use crate::wire::json::at;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-auth-invalid-token", Http, invalid_token),
    server_check!("server-auth-expired-token", Http, expired),
    server_check!("server-auth-wrong-audience", Http, wrong_audience),
    server_check!("server-auth-foreign-issuer", Http, foreign_issuer),
];

async fn invalid_token(cx: Cx) -> Verdict {
    protected(&cx).await?;
    each_token(&cx, [("junk", "junk".to_owned())], |reply| invalid(&cx, reply)).await?;
    let good = good(&cx)?;
    each_token(&cx, changed(&good), |reply| invalid(&cx, reply)).await?;
    each_token(&cx, forged(&good), |reply| invalid(&cx, reply)).await?;
    if let Ok(own) = own(&cx) {
        let confused = confused(own.issuer().key(), &own.claims(&json!({})));
        each_token(&cx, confused, |reply| invalid(&cx, reply)).await?;
    }
    let (first, rest) = good.split_at(good.len() / 2);
    let no_tokens = [("nothing", String::new()), ("white space inside", format!("{first} {rest}"))];
    each_token(&cx, no_tokens, malformed).await?;
    let long = with(&cx, format!("Bearer {}", "a".repeat(64 * 1024)))?;
    // Whoever finds the head too long may close the connection behind its answer, or before it.
    if let Ok(reply) = cx.send(&long).await {
        reply.has_status_in(400..500).of("a token of 64 KiB")?;
    }
    each(&cx, [("the good token", with(&cx, format!("Bearer {good}"))?)], served).await
}

/// A token that lacks its last character, and one with another character in each of its parts.
fn changed(good: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut shorter = good.to_owned();
    shorter.pop();
    all.push(("the good token without its last character".to_owned(), shorter));
    let mut begins = 0;
    for (at, part) in good.split('.').enumerate() {
        // The last character of a signature may have bits that say nothing; the middle one has none.
        let middle = begins + part.len() / 2;
        begins += part.len() + 1;
        let other = |it: char| if it == 'A' { 'B' } else { 'A' };
        let change = |(at, it)| if at == middle { other(it) } else { it };
        let token: String = good.char_indices().map(change).collect();
        all.push((format!("the good token with another character in its part {}", at + 1), token));
    }
    all
}

/// What can be made of a good token by somebody who has no key: where it is a JWT.
fn forged(good: &str) -> Vec<(&'static str, String)> {
    let mut parts = good.split('.');
    let (Some(header), Some(claims)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (Some(header), Some(claims)) = (key::decoded(header), key::decoded(claims)) else {
        return Vec::new();
    };
    let unsigned = |algorithm: &str, signature: &str| {
        let header = key::merged(header.clone(), &json!({ "alg": algorithm }));
        let (header, claims) = (header.to_string(), claims.to_string());
        format!("{}.{}.{signature}", key::encoded(header), key::encoded(claims))
    };
    let other = Key::random();
    let es256 = |more: Value| {
        let header = key::merged(header.clone(), &json!({ "alg": "ES256" }));
        other.sign(&key::merged(header, &more), &claims)
    };
    vec![
        ("the good token with alg none", unsigned("none", "")),
        ("the good token with alg nOnE", unsigned("nOnE", "")),
        ("the good token with alg none and a signature", unsigned("none", "AAAA")),
        ("the good token without a signature", unsigned("ES256", "")),
        ("a signature of zeros", unsigned("ES256", &key::encoded([0; 64]))),
        ("the good token, signed by another key", es256(json!({}))),
        ("signed by another key, without kid", es256(json!({ "kid": null }))),
        ("signed by a key that it brings along", es256(json!({ "kid": null, "jwk": other.jwk() }))),
    ]
}

/// Tokens whose shared secret is the public key, as it may be written.
fn confused(public: &Key, claims: &Value) -> Vec<(&'static str, String)> {
    let signed = |secret: &str| {
        let header =
            json!({ "alg": "HS256", "typ": "at+jwt", "kid": at(&public.listed(), "/kid") });
        let (header, claims) = (header.to_string(), claims.to_string());
        let text = format!("{}.{}", key::encoded(header), key::encoded(claims));
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("{text}.{}", key::encoded(hmac::sign(&secret, text.as_bytes())))
    };
    let (pem, jwk) = (public.pem(), public.listed().to_string());
    vec![
        ("HS256 with the public key, PEM", signed(&pem)),
        ("HS256 with the public key, PEM without its last line end", signed(pem.trim_end())),
        ("HS256 with the public key, JWK", signed(&jwk)),
        ("HS256 with an empty secret", signed("")),
    ]
}

/// What a user has given, or what is minted, or a skip.
fn tokens(
    cx: &Cx,
    given: Option<&String>,
    option: &str,
    changes: Vec<(&'static str, Value)>,
) -> Verdict<Vec<(&'static str, String)>> {
    if let Some(given) = given {
        return Ok(vec![("the token that was given", given.clone())]);
    }
    let Ok(own) = own(cx) else {
        let why = format!("there is no such token; {option} gives one, or --issuer mints it");
        return Err(Stop::skip(why));
    };
    Ok(changes.into_iter().map(|(name, change)| (name, own.token(&change))).collect())
}

async fn expired(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let given = cx.endpoint()?.ways.tokens.expired.as_ref();
    // Clocks may differ: nothing nearer is judged.
    let changes = vec![
        ("expired an hour ago", json!({ "iat": now() - 2 * HOUR, "exp": now() - HOUR })),
        ("expired ten minutes ago", json!({ "iat": now() - HOUR, "exp": now() - HOUR / 6 })),
        (
            "not valid before an hour from now",
            json!({ "nbf": now() + HOUR, "exp": now() + 2 * HOUR }),
        ),
    ];
    let tokens = tokens(&cx, given, "--token-expired", changes)?;
    each_token(&cx, tokens, |reply| invalid(&cx, reply)).await
}

async fn wrong_audience(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let given = cx.endpoint()?.ways.tokens.audience.as_ref();
    let elsewhere = "https://elsewhere.example.com/mcp";
    let resource = own(&cx).map(|own| own.resource().to_owned()).unwrap_or_default();
    let host = resource.find("://").map_or(0, |at| at + 3);
    let end = resource.split_at(host).1.find('/').map_or(resource.len(), |at| host + at);
    let (origin, path) = resource.split_at(end);
    let without_port = origin.rsplit_once(':').filter(|(rest, _)| rest.len() > host);
    let (name, port) = without_port.unwrap_or((origin, "443"));
    let port = port.parse::<u16>().unwrap_or(443) ^ 1;
    let changes = vec![
        ("for another server", json!({ "aud": elsewhere })),
        ("for others", json!({ "aud": [elsewhere, "https://example.com"] })),
        ("for nobody", json!({ "aud": null })),
        ("for a list of none", json!({ "aud": [] })),
        ("for another port", json!({ "aud": format!("{name}:{port}{path}") })),
        ("for what begins like this server", json!({ "aud": format!("{resource}.example.com") })),
        (
            "for what begins this server",
            json!({ "aud": origin.split_at(origin.len().saturating_sub(1)).0 }),
        ),
        ("for the suite", json!({ "aud": "mcp-conformance" })),
    ];
    let tokens = tokens(&cx, given, "--token-audience", changes)?;
    each_token(&cx, tokens, |reply| invalid(&cx, reply)).await?;
    let Ok(own) = own(&cx) else { return Ok(()) };
    if path.len() > 1 {
        let name = "for the origin alone";
        let token = own.token(&json!({ "aud": origin }));
        let reply = cx.send(&with(&cx, format!("Bearer {token}"))?).await.of(name)?;
        let is_refused = reply.status() == Some(401);
        cx.warnings.unless(is_refused, format!("{name}: status 401"), reply.told());
    }
    let several = own.token(&json!({ "aud": [elsewhere, resource] }));
    each_token(&cx, [("for others and this server", several)], served).await
}

async fn foreign_issuer(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let given = cx.endpoint()?.ways.tokens.foreign.as_ref();
    let issuer = own(&cx).map(|own| own.issuer().url().to_owned()).unwrap_or_default();
    let changes = vec![
        ("of another issuer, by this one's key", json!({ "iss": "https://elsewhere.example.com" })),
        (
            "of an issuer that begins like this one",
            json!({ "iss": format!("{issuer}.example.com") }),
        ),
        ("of no issuer", json!({ "iss": null })),
    ];
    let mut tokens = tokens(&cx, given, "--token-issuer", changes)?;
    if let Ok(own) = own(&cx) {
        let claims = own.claims(&json!({}));
        let signed = Key::random().sign(&json!({ "typ": "at+jwt" }), &claims);
        tokens.push(("by another key under the name of this one's", signed));
        let id =
            json!({ "aud": "mcp-conformance", "scope": null, "client_id": null, "nonce": "x" });
        let id_token = own.issuer().key().sign(&json!({ "typ": "JWT" }), &own.claims(&id));
        tokens.push(("an id token", id_token));
        tokens.push(("a refresh token", key::unique()));
    }
    each_token(&cx, tokens, |reply| invalid(&cx, reply)).await?;
    let Ok(own) = own(&cx) else { return Ok(()) };
    let other_kind =
        own.issuer().key().sign(&json!({ "typ": "logout+jwt" }), &own.claims(&json!({})));
    let reply = cx.send(&with(&cx, format!("Bearer {other_kind}"))?).await?;
    let is_refused = reply.status() == Some(401);
    cx.warnings.unless(is_refused, "a JWT of another type: status 401", reply.told());
    Ok(())
}
