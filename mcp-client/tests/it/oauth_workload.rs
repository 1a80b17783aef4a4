//! Workloads that are let in for what their platform says of them. RFC 7523, section 2.1.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_client::Client;
use mcp_client::oauth::{AssertionSource, ClientId, OAuth, OAuthError, Secret};
use serde_json::json;

use crate::support::provider::{AS, MCP, PRM, Provider, TOKEN};
use crate::support::{call, story};

async fn world(client: ClientId, source: AssertionSource) -> (Provider, Client) {
    let provider = Provider::start().await;
    provider.guard(&["Bearer"]);
    let oauth = OAuth::workload_identity(&provider.origin, client, source);
    let client = provider.builder().oauth(oauth).build().unwrap();
    (provider, client)
}

#[tokio::test]
async fn one_request_with_an_assertion_made_for_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let source = AssertionSource::new(move |request| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        let text = format!("{n} {} {} {}", request.issuer, request.resource, request.scopes);
        async move { Ok::<_, std::convert::Infallible>(text) }
    });
    let (provider, client) = world(ClientId::public("workload"), source).await;
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": ["a", "b"] })));
    provider.once(TOKEN, "200 OK", &json!({ "access_token": "short", "expires_in": 0 }));
    call(&client).await.unwrap();
    assert_eq!(provider.lines(), [MCP, PRM, AS, TOKEN, MCP]);
    call(&client).await.unwrap();
    let (issuer, resource) = (&provider.origin, provider.url());
    for (n, request) in provider.at(TOKEN).iter().enumerate() {
        let expected = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", &format!("{n} {issuer} {resource} a b")),
            ("scope", "a b"),
            ("resource", &resource),
            ("client_id", "workload"),
        ];
        let form = request.form();
        assert!(form.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{form:?}");
        assert_eq!(request.header("authorization"), None);
    }
    assert_eq!(provider.at(TOKEN).len(), 2);
}

#[tokio::test]
async fn a_file_is_read_anew_each_time() {
    let path = std::env::temp_dir().join(format!("mcp-workload-{}", std::process::id()));
    fs::write(&path, "first\n").unwrap();
    let source = AssertionSource::file(&path);
    let (provider, client) = world(ClientId::public("workload"), source).await;
    call(&client).await.unwrap();
    fs::write(&path, " second ").unwrap();
    provider.refuse("401 Unauthorized", &["Bearer"]);
    call(&client).await.unwrap();
    let sent = provider.at(TOKEN).iter().map(|it| it.param("assertion")).collect::<Vec<_>>();
    assert_eq!(sent, [Some("first".to_owned()), Some("second".to_owned())]);

    let too_large = "s3cret".repeat(AssertionSource::FILE_BYTES / 6 + 1);
    for (content, why) in [(Some(" \n"), "empty"), (Some(&*too_large), "more than"), (None, "(os")]
    {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        provider.refuse("401 Unauthorized", &["Bearer"]);
        let error = call(&client).await.unwrap_err();
        assert!(error.oauth().is_some_and(OAuthError::is_assertion), "{error:?}");
        let story = story(&error);
        assert!(story.contains(why) && !story.contains("s3cret"), "{story}");
        assert!(why == "empty" || story.contains(path.to_str().unwrap()), "{story}");
    }
    assert_eq!(provider.at(TOKEN).len(), 2);
}

/// Nothing else is tried, whatever the reason, and the next call has another assertion.
#[tokio::test]
async fn a_refusal_is_final() {
    for code in ["invalid_grant", "invalid_client", "invalid_scope", "unauthorized_client"] {
        for client in [ClientId::public("w"), ClientId::confidential("w", "a secret")] {
            let source = AssertionSource::new(|_| async { Ok::<_, String>("the assertion") });
            let (provider, client) = world(client, source).await;
            provider.on(TOKEN, "400 Bad Request", &json!({ "error": code }));
            let error = call(&client).await.unwrap_err();
            assert!(story(&error).ends_with(code), "{}", story(&error));
            assert_eq!(provider.lines(), [MCP, PRM, AS, TOKEN]);
            provider.refuse("401 Unauthorized", &["Bearer"]);
            call(&client).await.unwrap_err();
            assert_eq!(provider.at(TOKEN).len(), 2);
        }
    }
}

#[tokio::test]
async fn a_source_that_fails_says_why() {
    let source = AssertionSource::new(|_| async { Err::<Secret, _>("no platform here") });
    let (provider, client) = world(ClientId::public("w"), source).await;
    let error = call(&client).await.unwrap_err();
    assert!(error.oauth().unwrap().is_assertion());
    assert!(story(&error).ends_with("the workload has no assertion: no platform here"));
    assert_eq!(provider.lines(), [MCP, PRM, AS]);
}
