//! Tokens are shown to nobody: not in a log of any level, not in a debug form, not in an answer.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcp_server::auth::{Access, Presented, ResourceServer, StaticTokens, TokenError};
use mcp_server::types::JsonMap;
use mcp_server::{Context, Tool};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::{call, guarded};
use crate::support::{Post, Running};

/// In every token, and in whatever a verifier knows besides.
const CANARY: &str = "canary";

/// Keeps everything, TRACE included.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Text(&mut self.0.lock().unwrap()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Text(&mut self.0.lock().unwrap()));
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        write!(text, "\n{} {}", event.metadata().level(), event.metadata().target()).unwrap();
        event.record(&mut Text(&mut text));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text<'t>(&'t mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

fn access() -> Access {
    let claims: JsonMap = serde_json::from_value(json!({ "email": CANARY })).unwrap();
    Access::new(CANARY, CANARY)
        .with_client_id(CANARY)
        .with_claims(claims)
        .with_key(CANARY)
        .with_response_header(
            http::HeaderName::from_static("dpop-nonce"),
            http::HeaderValue::from_static("canary"),
        )
}

#[tokio::test]
async fn nothing_tells_a_token() {
    let logged = Everything::default();
    // A second one, or else a place that another thread comes to first may stay silent on this one.
    let _other = Dispatch::new(Everything::default());
    let _guard = tracing::subscriber::set_default(logged.clone());
    let verify = async |presented: Presented| {
        tracing::trace!(?presented, token = ?presented.token(), "verifying");
        match presented.token().as_str() {
            "canary-good" => Ok(access()),
            "canary-poor" => Ok(access().with_expiry(std::time::SystemTime::UNIX_EPOCH)),
            "canary-down" => Err(TokenError::unavailable(TokenError::RETRY_AFTER)),
            "canary-panics" => panic!("as it happens"),
            _ => Err(TokenError::invalid("No")),
        }
    };
    let auth = ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(verify);
    let shows = Tool::new("shows", async |context: Context, access: Access| {
        tracing::trace!(?context, ?access, extensions = ?context.extensions(), headers = ?context.headers());
        format!("{context:?} {access:?} {:?}", context.caller())
    });
    let admin = Tool::new("admin", async || "").scopes(["admin"]);
    let running = Running::build(guarded(auth).tools([shows, admin])).await;
    let posts: [Post; 10] = [
        call("shows").add("Authorization", "Bearer canary-good"),
        call("admin").add("Authorization", "Bearer canary-good"),
        call("shows").add("Authorization", "Bearer canary-poor"),
        call("shows").add("Authorization", "Bearer canary-down"),
        call("shows").add("Authorization", "Bearer canary-panics"),
        call("shows").add("Authorization", "Bearer canary-bad"),
        call("shows").add("Authorization", "Bearer canary bad"),
        call("shows").add("Authorization", "Basic canary"),
        call("shows").add("Authorization", "Bearer canary").add("Authorization", "Bearer canary"),
        call("shows").line("POST /mcp?access_token=canary HTTP/1.1"),
    ];
    for post in posts {
        let reply = running.ask(&post).await;
        let told = reply.fields.iter().filter(|(name, _)| name != "dpop-nonce");
        assert!(
            !format!("{:?} {}", told.collect::<Vec<_>>(), reply.text()).contains(CANARY),
            "{reply:?}"
        );
    }
    let logged = logged.0.lock().unwrap().clone();
    assert!(logged.contains("TRACE mcp_server") && logged.contains("TRACE it::auth"), "{logged}");
    let told: Vec<_> = logged.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn debug_forms_are_discreet() {
    let tokens = StaticTokens::new().token(CANARY, access());
    let auth = ResourceServer::new("https://mcp.example.com/mcp")
        .authorization_server("https://auth.example.com")
        .verifier(tokens.clone());
    let error = TokenError::invalid("No");
    let mut forms = format!("{tokens:?} {auth:?} {error:?} {:?}", access());
    let server = guarded(auth).build().unwrap();
    write!(forms, "{server:?} {:?} {:?}", server.service(), server.metadata_service()).unwrap();
    assert!(!forms.contains(CANARY), "{forms}");
}
