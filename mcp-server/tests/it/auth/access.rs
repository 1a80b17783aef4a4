//! What handlers, layers and limits get to know of a caller, and what they do not.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use mcp_server::auth::{Access, Presented, ResourceServer, StaticTokens, TokenError};
use mcp_server::layer::{Call, Next, RateLimit, from_fn};
use mcp_server::types::JsonMap;
use mcp_server::{Caller, Context, Extension, Tool};
use serde_json::json;

use super::{bearing, call, guarded, resource};
use crate::support::{Bell, H2, Running, builder, h2_request, limits, within};

/// Everything that was verified, by every way, and no token by any.
#[tokio::test]
async fn handlers_and_layers_know_who_calls() {
    let claims: JsonMap = serde_json::from_value(json!({ "email": "a@b", "n": 7 })).unwrap();
    let access = Access::new("https://auth.example.com", "alice")
        .with_client_id("cli")
        .with_scopes(["basic"])
        .with_claims(claims)
        .with_key("thumb");
    let tokens = StaticTokens::new().token("secret", access);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = from_fn({
        let seen = Arc::clone(&seen);
        move |call: Call, next: Next| {
            let headers = format!("{:?}", call.context().headers());
            seen.lock().unwrap().push(headers);
            let principal = call.caller().map(|caller| caller.principal().to_owned());
            let access = call.context().extensions().get::<Access>();
            assert_eq!(principal.as_deref(), access.map(|access| access.caller().principal()));
            next.run(call)
        }
    });
    let who = async |access: Access, context: Context, Extension(caller): Extension<Caller>| {
        assert_eq!(context.headers().get("authorization"), None);
        assert_eq!(context.headers()["x-other"], "kept");
        assert_eq!(context.caller(), Some(access.caller()));
        assert_eq!(&caller, access.caller());
        assert_eq!(access.claim::<u32>("n"), Some(7));
        assert_eq!(access.claim::<u32>("email"), None);
        assert_eq!(access.claims().len(), 2);
        format!(
            "{} {} {:?} {} {:?} {:?} {:?}",
            access.issuer(),
            access.subject(),
            access.client_id(),
            access.scopes(),
            access.claim::<String>("email"),
            access.key(),
            access.expires_at(),
        )
    };
    let auth = ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(tokens);
    let running =
        Running::build(builder().auth(auth).tool(Tool::new("who", who)).layer(layer)).await;
    let post = bearing(call("who"), "secret").add("X-Other", "kept");
    let expected =
        r#"https://auth.example.com alice Some("cli") basic Some("a@b") Some("thumb") None"#;
    assert_eq!(running.ask(&post).await.tool_text(), expected);
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 1 && !seen[0].contains("secret"), "{seen:?}");
}

/// An issuer's word is about its own subjects only.
#[test]
fn callers_are_told_apart_by_issuer_and_subject() {
    let pairs = [
        ("https://a", "b"),
        ("https://a", "b c"),
        ("https://a b", "c"),
        ("https://a%20b", "c"),
        ("https://a%2520b", "c"),
        ("https://b", "b"),
        ("https://a", ""),
        ("https://a/", "b"),
    ];
    let principals: HashSet<_> = pairs
        .iter()
        .map(|(issuer, subject)| Access::new(issuer, subject).caller().principal().to_owned())
        .collect();
    assert_eq!(principals.len(), pairs.len(), "{principals:?}");
    assert_eq!(Access::new("https://a", "b").caller().principal(), "https://a b");
}

/// What a layer of the HTTP stack says of a caller is not believed by a server that asks for tokens.
#[tokio::test]
async fn nobody_is_let_in_on_another_ones_word() {
    let forged = Access::new("https://auth.example.com", "root").with_scopes(["files:write"]);
    for auth in [resource(), resource().optional()] {
        let server = builder().tools([who(), admin()]).auth(auth).build().unwrap();
        let app = axum::Router::new()
            .route_service("/mcp", server.service())
            .layer(axum::Extension(Caller::new("root")))
            .layer(axum::Extension(forged.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let serving = tokio::spawn(axum::serve(listener, app).into_future());
        let mut conn = crate::support::Conn::open(addr).await;
        assert_eq!(conn.ask(&call("admin")).await.status, 401);
        let anonymous = conn.ask(&call("who")).await;
        if anonymous.status == 200 {
            assert_eq!(anonymous.tool_text(), "None None");
        }
        assert_eq!(conn.ask(&bearing(call("admin"), "plain")).await.status, 403);
        let told = conn.ask(&bearing(call("who"), "plain")).await.tool_text();
        assert_eq!(told, r#"Some("plain") Some("https://auth.example.com plain")"#);
        serving.abort();
    }
}

fn who() -> Tool {
    Tool::new("who", async |access: Option<Access>, caller: Option<Caller>| {
        let caller = caller.map(|caller| caller.principal().to_owned());
        format!("{:?} {caller:?}", access.map(|access| access.subject().to_owned()))
    })
}

fn admin() -> Tool {
    Tool::new("admin", async || "").scopes(["files:write"])
}

/// Limits are those of the caller, wherever it calls from.
#[tokio::test]
async fn limits_go_by_the_caller() {
    let (begun, bell) = (Bell::new(), Bell::new());
    let wait = {
        let (begun, bell) = (begun.clone(), bell.clone());
        Tool::new("wait", move || {
            let (begun, bell) = (begun.clone(), bell.clone());
            async move {
                begun.ring();
                bell.wait().await;
                "done"
            }
        })
    };
    let one = limits(|limits| limits.exchanges_per_caller = 1);
    let server = guarded(resource()).tool(wait).limits(one).layer(RateLimit::default());
    let running = Running::build(server).await;
    let mut h2 = H2::open(running.addr).await;
    let held = h2.begin(h2_request("localhost", &bearing(call("wait"), "plain")));
    let held = tokio::spawn(held);
    begun.rung().await;
    assert_eq!(running.ask(&bearing(call("ok"), "plain")).await.status, 429);
    assert_eq!(running.ask(&bearing(call("ok"), "reader")).await.tool_text(), "ok");
    bell.ring();
    assert_eq!(within(held).await.unwrap().unwrap().status(), 200);
}

/// A state is good for the one whom it was sealed for.
#[cfg(feature = "asking")]
#[tokio::test]
async fn states_are_their_callers() {
    use crate::ask::{Name, accept, post};
    let twice = async |ask: mcp_server::Ask| {
        let first = ask.form::<Name>("first", "Who?").await.accepted().map(|it| it.name);
        let second = ask.form::<Name>("second", "And who?").await.accepted().map(|it| it.name);
        format!("{first:?} {second:?}")
    };
    let running = Running::build(guarded(resource()).tool(Tool::new("twice", twice))).await;
    let post = |more: &serde_json::Value, token: &str| {
        let mut params = json!({ "name": "twice" });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        bearing(post("tools/call", params), token)
    };
    let answer = |key: &str| json!({ key: accept(json!({ "name": key })) });
    let more = json!({ "inputResponses": answer("first") });
    let asked = running.ask(&post(&more, "plain")).await.result();
    assert!(asked["requestState"].is_string(), "{asked}");
    let more = json!({ "inputResponses": answer("second"), "requestState": asked["requestState"] });
    let stolen = running.ask(&post(&more, "reader")).await;
    assert_eq!((stolen.status, stolen.code()), (400, Some(-32602)));
    let own = running.ask(&post(&more, "plain")).await;
    assert_eq!(own.tool_text(), r#"Some("first") Some("second")"#);
}

/// What a verifier has to say to the client goes with whatever the request comes to.
#[tokio::test]
async fn a_verifier_may_add_headers() {
    let nonce = |value: &'static str| {
        (http::HeaderName::from_static("dpop-nonce"), http::HeaderValue::from_static(value))
    };
    let verify = move |presented: Presented| async move {
        let ((name, next), (_, other)) = (nonce("next"), nonce("other"));
        match presented.token().as_str() {
            "good" => Ok(Access::new("i", "s").with_response_header(name, next)),
            _ => Err(TokenError::invalid("No").with_response_header(name, other)),
        }
    };
    let auth = ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(verify);
    let running = Running::build(guarded(auth)).await;
    for (post, status, value) in [
        (call("ok"), 200, "next"),
        (call("absent"), 400, "next"),
        (call("ok").line("GET /mcp HTTP/1.1"), 405, "next"),
    ] {
        let reply = running.ask(&bearing(post, "good")).await;
        assert_eq!((reply.status, reply.field("dpop-nonce")), (status, Some(value)));
    }
    let reply = running.ask(&bearing(call("ok"), "bad")).await;
    assert_eq!((reply.status, reply.field("dpop-nonce")), (401, Some("other")));
}
