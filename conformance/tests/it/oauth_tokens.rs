//! What becomes of tokens between our client and our server: they expire, are renewed, stolen, revoked and found wanting.

use std::future::IntoFuture;
use std::time::Duration;

use mcp_client::oauth::OAuthError;
use mcp_server::auth::{Introspection, Issuer as Keys, JwtVerifier};
use serde_json::json;

use crate::oauth::{Issuer, Protected, SignsIn, introspection, run, text, whoami_with};

fn jwts(issuer: &Issuer) -> Protected {
    Protected::start(issuer, JwtVerifier::discover(&*issuer.name))
}

#[test]
fn an_expired_token_is_renewed_each_time_with_another() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let mut used = vec![user.refresh_token().await];
        for _ in 0..3 {
            server.expire_tokens(&issuer).await;
            assert_eq!(user.call("whoami").await, said);
            used.push(user.refresh_token().await);
        }
        let refreshes = issuer.grants("refresh_token").await;
        let asked: Vec<_> = refreshes.iter().map(|asked| asked.param("refresh_token")).collect();
        assert_eq!(asked, used[..3]);
        for refresh in &refreshes {
            assert_eq!((refresh.status, refresh.param("resource")), (200, &*server.url));
        }
        used.dedup();
        assert_eq!(used.len(), 4, "they rotate");
        assert_eq!(issuer.asked("authorization").await.len(), 1);
    });
}

#[test]
fn a_stored_token_that_is_about_to_expire_is_renewed_first() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let old = user.access_token().await;
        user.nearly_expire().await;
        assert_eq!(text(&user.another(), "whoami").await.unwrap(), said);
        assert_ne!(user.access_token().await, old);
        assert_eq!(issuer.grants("refresh_token").await.len(), 1);
        // The old one would have done: nothing was refused.
        assert_eq!(whoami_with(&server.url, &format!("Bearer {old}")).await.unwrap(), said);
    });
}

#[test]
fn calls_at_once_share_one_sign_in_and_one_renewal() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        for renewals in 0..3 {
            let calls: Vec<_> = (0..10)
                .map(|_| tokio::spawn(user.client.call_tool("whoami", ()).into_future()))
                .collect();
            for call in calls {
                call.await.unwrap().unwrap();
            }
            assert_eq!(issuer.grants("refresh_token").await.len(), renewals);
            assert_eq!(issuer.asked("authorization").await.len(), 1);
            assert_eq!(issuer.asked("registration").await.len(), 1);
            server.expire_tokens(&issuer).await;
        }
    });
}

// The second to come would be taken for a thief.
#[test]
fn clients_that_share_a_store_share_renewals() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        user.call("whoami").await;
        let clients = [user.client.clone(), user.another(), user.another()];
        for renewals in 1..3 {
            server.expire_tokens(&issuer).await;
            let calls = clients
                .clone()
                .map(|client| tokio::spawn(client.call_tool("whoami", ()).into_future()));
            for call in calls {
                call.await.unwrap().unwrap();
            }
            assert_eq!(issuer.grants("refresh_token").await.len(), renewals);
        }
        assert_eq!(issuer.asked("authorization").await.len(), 1);
    });
}

#[test]
fn a_token_that_cannot_be_renewed() {
    run(async || {
        let issuer = Issuer::start(&["--refresh", "never"]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        assert_eq!(user.stored().await.granted.unwrap().tokens.refresh_token, None);
        server.expire_tokens(&issuer).await;
        assert_eq!(user.call("whoami").await, said);
        let scopes = issuer.asked("authorization").await;
        let scopes: Vec<_> = scopes.iter().map(|asked| asked.param("scope")).collect();
        assert_eq!(scopes, ["mcp", "mcp"], "nothing is asked for that is not there");
    });
}

#[test]
fn whoever_has_signed_out_signs_in_again() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        user.client.sign_out().await.unwrap();
        assert_eq!(user.stored().await.granted, None);
        assert_eq!(user.call("whoami").await, said);
        assert_eq!(issuer.asked("authorization").await.len(), 2);
        assert_eq!(issuer.asked("registration").await.len(), 1);
    });
}

// Whoever is robbed notices, since the thief's use of the old token revokes what came of it. OAuth 2.1, section 4.3.1.
#[test]
fn a_stolen_refresh_token_costs_the_user_a_sign_in() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let (stolen, id) = (user.refresh_token().await, user.client_id().await);
        server.expire_tokens(&issuer).await;
        user.call("whoami").await;
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &*stolen),
            ("client_id", &*id),
            ("resource", &*server.url),
        ];
        let (status, answer) = issuer.post("/token", &form).await;
        assert_eq!((status, &answer["error"]), (400, &json!("invalid_grant")));

        server.expire_tokens(&issuer).await;
        assert_eq!(user.call("whoami").await, said);
        let ends: Vec<_> =
            issuer.grants("refresh_token").await.iter().map(|it| it.status).collect();
        assert_eq!(ends, [200, 400, 400], "the client's, the thief's, and the client's in vain");
        assert_eq!(issuer.asked("authorization").await.len(), 2);
        assert_eq!(user.client_id().await, id, "it is registered still");
    });
}

#[test]
fn a_revoked_token_is_refused_at_once() {
    run(async || {
        let (issuer, server) = opaque(Duration::ZERO);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let token = user.access_token().await;
        assert!(!token.contains('.'), "it says nothing itself");
        revoke(&issuer, &user).await;
        let error = whoami_with(&server.url, &format!("Bearer {token}")).await.unwrap_err();
        assert_eq!(error.status().unwrap(), 401);
        // Its grant went with it.
        assert_eq!(user.call("whoami").await, said);
        assert_ne!(user.access_token().await, token);
        assert_eq!(issuer.grants("refresh_token").await[0].error.as_deref(), Some("invalid_grant"));
        assert_eq!(issuer.asked("authorization").await.len(), 2);
    });
}

#[test]
fn a_revoked_token_is_refused_when_the_answer_is_old() {
    run(async || {
        let (issuer, server) = opaque(Introspection::CACHE_TIME);
        let user = SignsIn::to(&server.url);
        user.call("whoami").await;
        let header = format!("Bearer {}", user.access_token().await);
        revoke(&issuer, &user).await;
        whoami_with(&server.url, &header).await.unwrap();
        assert_eq!(issuer.asked("introspection").await.len(), 1);
        server.clock.go_on(Introspection::CACHE_TIME);
        let error = whoami_with(&server.url, &header).await.unwrap_err();
        assert_eq!(error.status().unwrap(), 401);
        let asked = issuer.asked("introspection").await;
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[1].scheme.as_deref(), Some("Basic"));
        user.call("whoami").await;
    });
}

/// With tokens that only the issuer can say anything about.
fn opaque(cache_time: Duration) -> (Issuer, Protected) {
    let issuer = Issuer::start(&["--format", "opaque"]);
    let server = Protected::start(&issuer, introspection(&issuer).cache_time(cache_time));
    (issuer, server)
}

async fn revoke(issuer: &Issuer, user: &SignsIn) {
    let (token, id) = (user.access_token().await, user.client_id().await);
    let form = [("token", &*token), ("client_id", &*id)];
    assert_eq!(issuer.post("/token/revocation", &form).await.0, 200);
}

// Specification: Step-Up Authorization Flow.
#[test]
fn a_tool_that_needs_more_is_asked_for_with_what_there_was() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        assert!(user.call("whoami").await.ends_with(": mcp"));
        assert_eq!(user.call("write").await, "written");
        assert!(user.call("whoami").await.ends_with(": mcp files:write"));
        let asked = issuer.asked("authorization").await;
        let scopes: Vec<_> = asked.iter().map(|asked| asked.param("scope")).collect();
        assert_eq!(scopes, ["mcp offline_access", "mcp files:write offline_access"]);
        // What was widened stays so.
        server.expire_tokens(&issuer).await;
        assert_eq!(user.call("write").await, "written");
        assert_eq!(issuer.asked("authorization").await.len(), 2);
    });
}

#[test]
fn a_tool_that_needs_what_the_user_does_not_grant() {
    run(async || {
        let issuer = Issuer::start(&["--grant", "mcp"]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        for _ in 0..2 {
            let error = text(&user.client, "write").await.unwrap_err();
            assert!(error.oauth().unwrap().is_refused(), "{error:?}");
            assert_eq!(error.status().unwrap(), 403);
            assert!(user.call("whoami").await.ends_with(": mcp"));
        }
        // It was asked for once.
        assert_eq!(issuer.asked("authorization").await.len(), 2);
    });
}

#[test]
fn an_issuer_changes_its_keys_while_the_server_runs() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let early = SignsIn::to(&server.url);
        early.call("whoami").await;

        issuer.test("rotate", "").await;
        issuer.change(&json!({ "alg": "RS256" })).await;
        // A token that no key verifies has the keys fetched, though not too often.
        server.clock.go_on(Keys::UNKNOWN_KEY);
        let late = SignsIn::to(&server.url);
        late.call("whoami").await;
        assert_eq!(issuer.asked("jwks").await.len(), 2);
        early.call("whoami").await;
        assert_eq!(issuer.grants("refresh_token").await.len(), 0, "the old key is published still");

        issuer.test("rotate?drop", "").await;
        server.clock.go_on(Keys::UNKNOWN_KEY);
        let latest = SignsIn::to(&server.url);
        latest.call("whoami").await;
        assert_eq!(issuer.asked("jwks").await.len(), 3);
        early.call("whoami").await;
        late.call("whoami").await;
        assert_eq!(issuer.grants("refresh_token").await.len(), 2, "those are good no longer");
        assert_eq!(issuer.asked("authorization").await.len(), 3);
    });
}

// What cannot be verified is not bad: whoever has it should keep it.
#[test]
fn an_issuer_that_is_gone_costs_nobody_a_token() {
    run(async || {
        let (issuer, server) = opaque(Duration::ZERO);
        let user = SignsIn::to(&server.url);
        user.call("whoami").await;
        let token = user.access_token().await;
        drop(issuer);
        let error = text(&user.client, "whoami").await.unwrap_err();
        assert_eq!(error.status().unwrap(), 503);
        assert!(!error.is_auth());
        assert_eq!(user.access_token().await, token);

        // The keys are known already.
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let refresh = user.refresh_token().await;
        drop(issuer);
        assert_eq!(user.call("whoami").await, said);
        // It cannot be renewed for now, which is said, and not forgotten.
        server.clock.go_on(Duration::from_secs(10_000));
        let error = text(&user.client, "whoami").await.unwrap_err();
        assert!(!error.oauth().is_some_and(OAuthError::is_invalid_grant), "{error:?}");
        assert_eq!(user.refresh_token().await, refresh);
    });
}
