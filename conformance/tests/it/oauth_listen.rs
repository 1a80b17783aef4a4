//! Subscriptions of a client whose token expires.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, Change, End};
use mcp_server::auth::JwtVerifier;
use mcp_server::auth::jose::Unverified;
use serde_json::{Value, json};

use crate::oauth::{Issuer, Protected, SignsIn, run};

/// Somebody who is signed in to a server at which their token has a second left, however long it takes.
async fn a_second_before_the_end() -> (Issuer, Protected, SignsIn) {
    let issuer = Issuer::start(&[]);
    let tokens = JwtVerifier::discover(&*issuer.name).skew(Duration::ZERO);
    let server = Protected::start(&issuer, tokens);
    let user = SignsIn::to(&server.url);
    user.call("whoami").await;
    server.clock.stop(expiry(&user).await - Duration::from_secs(1));
    (issuer, server, user)
}

/// When the token expires, to the second, which the client rounds.
async fn expiry(user: &SignsIn) -> SystemTime {
    let token = user.access_token().await;
    let claims = Unverified::parse(&token).unwrap().danger_claims().to_owned();
    let claims: Value = serde_json::from_str(&claims).unwrap();
    UNIX_EPOCH + Duration::from_secs(claims["exp"].as_u64().unwrap())
}

// Specification: Authorization, Token Handling; Subscriptions, Graceful Closure.
#[test]
fn a_subscription_ends_with_its_token() {
    run(async || {
        let (_issuer, _server, user) = a_second_before_the_end().await;
        let mut changes = user.client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        assert_eq!(changes.next().await, None);
        assert!(matches!(changes.end(), Some(End::Graceful)), "{:?}", changes.end());
    });
}

#[test]
fn a_subscription_goes_on_with_a_new_token() {
    run(async || {
        let (issuer, server, user) = a_second_before_the_end().await;
        let old = user.access_token().await;
        let listen = user.client.listen(SubscriptionFilter::new().tools());
        let pause = Backoff::new().first(Duration::from_millis(10));
        let mut changes = listen.relisten(pause).await.unwrap();
        server.notify.tools_changed();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert!(issuer.grants("refresh_token").await.is_empty());

        // What is granted from now on outlives what was granted before.
        issuer.change(&json!({ "ttl": 7200 })).await;
        server.clock.stop(expiry(&user).await);
        // Had all this taken longer than the token, the old one would have opened another.
        while user.access_token().await == old {
            assert_eq!(changes.next().await, Some(Change::Stale));
        }
        server.notify.tools_changed();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(issuer.grants("refresh_token").await.len(), 1);
        assert_eq!(issuer.asked("authorization").await.len(), 1);
    });
}
