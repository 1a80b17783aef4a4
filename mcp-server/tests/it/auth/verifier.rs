//! Verifiers that are slow, fail, panic or are left alone, and what they are asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_server::auth::{
    Access, Presented, ProtectedResourceMetadata, ResourceServer, Scheme, TokenError,
    TokenVerifier, Verifying,
};

use super::{METADATA, bearing, call, challenge, guarded};
use crate::support::{Bell, H2, Running, h2_request, limits, watched, within};

fn verified(verifier: impl TokenVerifier) -> ResourceServer {
    ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(verifier)
}

fn anybody() -> Access {
    Access::new("https://auth.example.com", "somebody")
}

/// The token, what it has to be for, and the request without it.
#[tokio::test]
async fn a_verifier_sees_the_request() {
    let verify = async |presented: Presented| {
        assert_eq!(presented.token().as_str(), "t");
        assert_eq!(presented.scheme(), Scheme::Bearer);
        assert_eq!(presented.audience(), "https://mcp.example.com/mcp");
        let head = presented.head();
        assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/mcp"));
        assert_eq!(head.headers.get("authorization"), None);
        assert_eq!(head.headers["mcp-name"], "ok");
        assert!(presented.now().elapsed().unwrap() < Duration::from_secs(60));
        // Kept for longer than it takes.
        std::mem::forget(presented.clone());
        Ok::<_, TokenError>(anybody())
    };
    let running = Running::build(guarded(verified(verify))).await;
    assert_eq!(running.ask(&bearing(call("ok"), "t")).await.tool_text(), "ok");
}

/// What a verifier says, and what comes of it. A failure of the server's own is never a refusal.
#[tokio::test]
async fn what_a_verifier_comes_to() {
    let verify = async |presented: Presented| match presented.token().as_str() {
        "quotes" => Err(TokenError::invalid("say \"no\" \\ \r\nX: ä")),
        "long" => Err(TokenError::invalid("n".repeat(9000))),
        "insufficient" => Err(TokenError::insufficient(["files:read"])),
        "unavailable" => Err(TokenError::unavailable(Duration::from_secs(42))),
        "soon" => Err(TokenError::unavailable(Duration::ZERO)),
        "panics" => panic!("no"),
        // A `?` is that of the server.
        _ => Err(std::io::Error::other("connection refused at 10.0.0.7"))?,
    };
    let running = Running::build(guarded(verified(verify).required_scopes(["basic"]))).await;
    let ask = async |token: &str| running.ask(&bearing(call("ok"), token)).await;
    let reply = ask("quotes").await;
    assert_eq!(reply.status, 401);
    assert!(
        challenge(&reply)
            .ends_with(r#"error="invalid_token", error_description="say 'no' ' ??X: ?""#)
    );
    let reply = ask("long").await;
    assert_eq!(reply.status, 401);
    assert!(challenge(&reply).len() < 600 && reply.body.len() < 600);
    let reply = ask("insufficient").await;
    assert_eq!(reply.status, 403);
    assert!(challenge(&reply).contains(r#" scope="basic files:read", error="insufficient_scope""#));
    for (token, retry_after) in [("unavailable", "42"), ("soon", "1"), ("any", "5")] {
        let reply = ask(token).await;
        assert_eq!((reply.status, reply.code()), (503, Some(-32603)), "{token}");
        assert_eq!(reply.field("retry-after"), Some(retry_after));
        assert_eq!(reply.field("www-authenticate"), None);
        assert!(!reply.text().contains("10.0.0.7"));
    }
    let reply = ask("panics").await;
    assert_eq!((reply.status, reply.code()), (500, Some(-32603)));
}

/// On a connection that others share.
#[tokio::test]
async fn a_panic_is_one_request_s() {
    struct Panics;
    impl TokenVerifier for Panics {
        fn verify(&self, presented: Presented) -> Verifying<'_> {
            struct Bomb;
            impl Drop for Bomb {
                fn drop(&mut self) {
                    panic!("dropped");
                }
            }
            match presented.token().as_str() {
                "at-once" => panic!("at once"),
                "later" => Box::pin(async {
                    tokio::task::yield_now().await;
                    panic!("later")
                }),
                "dropped" => {
                    let bomb = Bomb;
                    Box::pin(async move {
                        let _bomb = bomb;
                        std::future::pending().await
                    })
                }
                _ => Box::pin(async { Ok(anybody()) }),
            }
        }
    }
    let auth = verified(Panics).verify_time(Duration::from_millis(1));
    let running = Running::build(guarded(auth)).await;
    let mut conn = running.connect().await;
    let mut h2 = H2::open(running.addr).await;
    for (token, status) in [("at-once", 500), ("later", 500), ("dropped", 503), ("good", 200)] {
        let post = bearing(call("ok"), token);
        assert_eq!(conn.ask(&post).await.status, status, "{token}");
        let response = h2.send(h2_request("localhost", &post)).await.unwrap();
        assert_eq!(response.status(), status, "{token}");
    }
}

#[tokio::test]
async fn one_that_is_slow_has_a_deadline() {
    let never = async |_: Presented| -> Result<Access, TokenError> { std::future::pending().await };
    let running =
        Running::build(guarded(verified(never).verify_time(Duration::from_millis(10)))).await;
    let mut conn = running.connect().await;
    let reply = conn.ask(&bearing(call("ok"), "t")).await;
    assert_eq!((reply.status, reply.field("retry-after")), (503, Some("5")));
    // No challenge: another token would be no better.
    assert_eq!(reply.field("www-authenticate"), None);
    assert_eq!(conn.ask(&call("ok")).await.status, 401);
}

/// A client that leaves is not verified any further; the others are not held up.
#[tokio::test]
async fn who_leaves_is_not_verified_on() {
    let (flag, mut dropped) = watched();
    let (bell, begun) = (Bell::new(), Bell::new());
    let verify = {
        let (bell, begun) = (bell.clone(), begun.clone());
        move |presented: Presented| {
            let (flag, bell, begun) = (flag(), bell.clone(), begun.clone());
            async move {
                let _flag = flag;
                if presented.token().as_str() == "slow" {
                    begun.ring();
                    bell.wait().await;
                }
                Ok::<_, TokenError>(anybody())
            }
        }
    };
    let running = Running::build(guarded(verified(verify))).await;
    let mut conn = running.connect().await;
    conn.send(&bearing(call("ok"), "slow").bytes()).await;
    begun.rung().await;
    assert!(dropped.none_dropped());
    assert_eq!(running.ask(&bearing(call("ok"), "fast")).await.tool_text(), "ok");
    dropped.dropped().await;
    assert!(dropped.none_dropped());
    drop(conn);
    dropped.dropped().await;
    let mut h2 = H2::open(running.addr).await;
    let asking = tokio::spawn(h2.begin(h2_request("localhost", &bearing(call("ok"), "slow"))));
    begun.rung().await;
    asking.abort();
    dropped.dropped().await;
}

/// Verifications count as what whoever is at the address has under way.
#[tokio::test]
async fn there_are_not_too_many_at_once() {
    let bell = Bell::new();
    let begun = Bell::new();
    let verify = {
        let (bell, begun) = (bell.clone(), begun.clone());
        move |presented: Presented| {
            let (bell, begun) = (bell.clone(), begun.clone());
            async move {
                begun.ring();
                bell.wait().await;
                Ok::<_, TokenError>(Access::new("i", presented.token().as_str()))
            }
        }
    };
    let two = limits(|limits| limits.exchanges_per_caller = 2);
    let running = Running::build(guarded(verified(verify)).limits(two)).await;
    let mut h2 = H2::open(running.addr).await;
    let post = |token: &str| h2_request("localhost", &bearing(call("ok"), token));
    let held: Vec<_> = ["a", "b"].map(|token| tokio::spawn(h2.begin(post(token)))).into();
    begun.rung().await;
    begun.rung().await;
    let reply = running.ask(&bearing(call("ok"), "c")).await;
    assert_eq!((reply.status, reply.field("retry-after")), (429, Some("1")));
    bell.ring();
    bell.ring();
    for held in held {
        assert_eq!(within(held).await.unwrap().unwrap().status(), 200);
    }
    bell.ring();
    assert_eq!(running.ask(&bearing(call("ok"), "c")).await.tool_text(), "ok");
}

/// Everybody gets the answer that is theirs.
#[tokio::test]
async fn many_at_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let verify = {
        let asked = Arc::clone(&asked);
        move |presented: Presented| {
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                let name = presented.token().as_str();
                if name.ends_with('0') {
                    Err(TokenError::invalid("zero"))
                } else {
                    Ok(Access::new("i", name))
                }
            }
        }
    };
    let who = mcp_server::Tool::new("who", async |access: Access| access.subject().to_owned());
    let running = Running::build(guarded(verified(verify)).tool(who)).await;
    let asking = (0..64).map(|n| {
        let (addr, name) = (running.addr, format!("n{n}"));
        tokio::spawn(async move {
            let mut conn = crate::support::Conn::open(addr).await;
            for _ in 0..4 {
                let reply = conn.ask(&bearing(call("who"), &name)).await;
                match n % 10 {
                    0 => assert_eq!(reply.status, 401),
                    _ => assert_eq!(reply.tool_text(), name),
                }
            }
        })
    });
    for task in asking.collect::<Vec<_>>() {
        within(task).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::Relaxed), 256);
}

/// One that takes proofs of keys as well: a challenge for each scheme, the fault in that of the one that was used.
#[tokio::test]
async fn schemes() {
    struct Both;
    impl TokenVerifier for Both {
        fn verify(&self, presented: Presented) -> Verifying<'_> {
            Box::pin(async move {
                match (presented.scheme(), presented.token().as_str()) {
                    (_, "bound") => Ok(anybody().with_key("k")),
                    (Scheme::Dpop, _) => Err(TokenError::proof("invalid_dpop_proof", "No proof")),
                    _ => Err(TokenError::invalid("No")),
                }
            })
        }
        fn schemes(&self) -> &[Scheme] {
            &[Scheme::Bearer, Scheme::Dpop]
        }
        fn proof_algorithms(&self) -> Option<&str> {
            Some("ES256 EdDSA")
        }
        fn describe(&self, metadata: &mut ProtectedResourceMetadata) {
            metadata.dpop_signing_alg_values_supported = Some(vec!["ES256".to_owned()]);
        }
    }
    let tool = mcp_server::Tool::new("admin", async || "").scopes(["admin"]);
    let running = Running::build(guarded(verified(Arc::new(Both))).tool(tool)).await;
    let bearer = format!("Bearer {METADATA}");
    let dpop = format!(r#"DPoP {METADATA}, algs="ES256 EdDSA""#);
    let no = r#", error="invalid_token", error_description="No""#;
    let proof = r#", error="invalid_dpop_proof", error_description="No proof""#;
    let scopes = r#", scope="admin", error="insufficient_scope", error_description="This needs a token with the scopes: admin""#;
    let table = [
        ("ok", None, 401, vec![bearer.clone(), dpop.clone()]),
        ("ok", Some("Bearer x"), 401, vec![format!("{bearer}{no}"), dpop.clone()]),
        ("ok", Some("DPoP x"), 401, vec![bearer.clone(), format!("{dpop}{proof}")]),
        ("admin", Some("DPoP bound"), 403, vec![format!("{dpop}{scopes}")]),
    ];
    for (tool, field, status, challenges) in table {
        let mut post = call(tool);
        if let Some(field) = field {
            post = post.add("Authorization", field);
        }
        let reply = running.ask(&post).await;
        let fields = reply.fields.iter().filter(|(name, _)| name == "www-authenticate");
        let fields: Vec<_> = fields.map(|(_, value)| value.clone()).collect();
        assert_eq!((reply.status, fields), (status, challenges), "{field:?}");
    }
}
