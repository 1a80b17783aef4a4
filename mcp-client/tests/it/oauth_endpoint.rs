//! The token endpoint: what is asked there, what is understood, and what is never told.

use mcp_client::Client;
use mcp_client::oauth::{AuthMethod, ClientId, Identity, OAuthError, Policy, Scopes};
use serde_json::json;

use crate::support::provider::{AS, PRM, Provider, REGISTER, TOKEN};
use crate::support::sign_in::{self, Is, REDIRECT, dynamic, granted, registered};
use crate::support::{Log, hear};

// Nothing that is secret can be seen of anything that can be seen.
#[tokio::test]
async fn secrets_do_not_show() {
    let (log, provider) = (Log::default(), Provider::start().await);
    let _hearing = hear(log.clone());
    provider.on(
        REGISTER,
        "201 Created",
        &json!({ "client_id": "id", "client_secret": "s3cret-client" }),
    );
    provider.on(
        TOKEN,
        "200 OK",
        &json!({ "access_token": "s3cret-access", "refresh_token": "s3cret-refresh" }),
    );
    let url = format!("{}?key=s3cret-query", provider.url());
    provider.on(PRM, "200 OK", &provider.resource(&json!({})));
    let fetcher = Client::builder(&url).build_fetcher(Policy::new()).unwrap();
    let mut seen = format!("{fetcher:?}");
    let discovered = fetcher.discover(&[]).await.unwrap();
    seen += &format!("{discovered:?}");
    let identified = discovered.identify(&provider.origin).await.unwrap();
    seen += &format!("{identified:?}");
    let registered =
        identified.register(&dynamic(), &[REDIRECT.to_owned()], &Scopes::default()).await.unwrap();
    seen += &format!("{registered:?} {:?}", registered.registration());
    let pending = registered.sign_in(REDIRECT, &Scopes::default()).unwrap();
    let state = pending.url().state().to_owned();
    seen += &format!("{pending:?} {:?}", pending.url());
    let received = pending.receive(&format!("code=s3cret-code&state={state}")).unwrap();
    seen += &format!("{received:?}");
    let granted = received.clone().redeem(&fetcher).await.unwrap();
    seen += &format!("{granted:?} {:?} {:?}", granted.tokens, granted.registration);
    let verifier = provider.last(TOKEN).param("code_verifier").unwrap();

    // One who repeats what it got, in every place there is.
    let echo = |code: &str| json!({ "error": code, "error_description": format!("{code} {verifier}"), "error_uri": code });
    for (code, secret) in [("s3cret-code", "c"), ("x s3cret-client", "k"), ("s3cret-refresh", "r")]
    {
        provider.on(TOKEN, "400 Bad Request", &echo(code));
        let error = if secret == "r" {
            granted.refresh(&fetcher).await.unwrap_err()
        } else {
            received.clone().redeem(&fetcher).await.unwrap_err()
        };
        seen += &format!("{error} {error:?} {:?} ", error.provider());
        let call = mcp_client::Error::from(error);
        seen += &format!("{call} {call:?}");
    }
    provider.on_text(TOKEN, "400 Bad Request", "what is s3cret-code?");
    let error = received.redeem(&fetcher).await.unwrap_err();
    seen += &format!("{error} {error:?}");
    provider.on(REGISTER, "201 Created", &json!({ "client_secret": "s3cret-client" }));
    let error = sign_in::registered(&fetcher, &dynamic()).await.unwrap_err();
    seen += &format!("{error} {error:?}");
    seen += &log.lines().join(" ");
    for secret in ["s3cret", &state, &verifier] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}

#[tokio::test]
async fn refreshed_tokens() {
    let provider = Provider::start().await;
    let granted = granted(&provider).await;
    // O8: one that says nothing of the refresh token leaves it as it is.
    let answer = json!({ "access_token": "access-2", "expires_in": "60" });
    provider.on(TOKEN, "200 OK", &answer);
    let second = granted.refresh(&provider.fetcher()).await.unwrap();
    assert_eq!(second.tokens.access_token.expose(), "access-2");
    assert_eq!(second.tokens.refresh_token, granted.tokens.refresh_token);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        provider.last(TOKEN).form(),
        [
            own("grant_type", "refresh_token"),
            own("refresh_token", "refresh-1"),
            own("resource", &provider.url()),
            own("client_id", "dynamic"),
        ]
    );
    provider.on(
        TOKEN,
        "200 OK",
        &json!({ "access_token": "access-3", "refresh_token": "refresh-2" }),
    );
    let third = second.refresh(&provider.fetcher()).await.unwrap();
    assert_eq!(third.tokens.refresh_token.unwrap().expose(), "refresh-2");
}

// O7: what may pass is told apart from what is final.
#[tokio::test]
async fn failures_of_the_token_endpoint() {
    let provider = Provider::start().await;
    let granted = granted(&provider).await;
    let table: [(&str, &str, Is, &str); 11] = [
        (
            "400 Bad Request",
            r#"{"error":"invalid_grant","error_description":"it is over"}"#,
            |error| &*error.provider().unwrap().code == "invalid_grant",
            "invalid_grant, it is over",
        ),
        // O10: errors under 200.
        (
            "200 OK",
            r#"{"ok":false,"error":"invalid_refresh_token"}"#,
            |error| error.provider().is_some(),
            "invalid_refresh_token",
        ),
        (
            "200 OK",
            r#"{"error":"bad_verification_code"}"#,
            |error| error.provider().is_some(),
            "bad_verification_code",
        ),
        ("503 Service Unavailable", "<html>", OAuthError::is_transport, "503"),
        ("500 Internal Server Error", "{}", OAuthError::is_transport, "500"),
        (
            "503 Service Unavailable",
            r#"{"error":"overloaded"}"#,
            OAuthError::is_transport,
            "overloaded",
        ),
        (
            "400 Bad Request",
            r#"{"error":"temporarily_unavailable"}"#,
            OAuthError::is_transport,
            "temp",
        ),
        ("500 Oops", r#"{"error":"invalid_grant"}"#, OAuthError::is_invalid_grant, "invalid_grant"),
        (
            "200 OK",
            "{}",
            |error| !error.is_transport() && error.provider().is_none(),
            "no access token",
        ),
        ("404 Not Found", "nothing", |error| !error.is_transport(), "404"),
        (
            "307 Temporary Redirect\r\nlocation: /elsewhere",
            "",
            |error| !error.is_transport(),
            "307",
        ),
    ];
    for (status, body, expected, text) in table {
        provider.on_text(TOKEN, status, body);
        let error = granted.refresh(&provider.fetcher()).await.unwrap_err();
        assert!(expected(&error), "{status} {body}: {error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    // Redirects are not followed.
    assert!(!provider.lines().iter().any(|line| line.contains("elsewhere")));
}

#[tokio::test]
async fn a_secret_is_shown_in_the_way_that_is_asked_for() {
    let provider = Provider::start().await;
    let client = ClientId::confidential("a:b", "p ss");
    let table = [
        (json!(null), client.clone(), "basic"),
        (json!(["client_secret_basic"]), client.clone(), "basic"),
        (json!(["client_secret_post"]), client.clone(), "post"),
        (json!(["none"]), client.clone(), "none"),
        (
            json!(["client_secret_basic"]),
            client.clone().auth_method(AuthMethod::SecretPost),
            "post",
        ),
        (json!(["client_secret_basic"]), ClientId::public("a:b"), "none"),
    ];
    for (supported, client, expected) in table {
        let changes = json!({ "token_endpoint_auth_methods_supported": supported });
        provider.on(AS, "200 OK", &provider.metadata(&changes));
        let identity = Identity::new().registered(&provider.origin, client);
        let registered = registered(&provider.fetcher(), &identity).await.unwrap();
        let pending = registered.sign_in(REDIRECT, &Scopes::default()).unwrap();
        let back = format!("code=c&state={}", pending.url().state());
        pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap();
        let token = provider.last(TOKEN);
        let basic = token.header("authorization");
        let (id, secret) = (token.param("client_id"), token.param("client_secret"));
        match expected {
            // Of `a%3Ab:p%20ss`.
            "basic" => {
                assert_eq!((basic, id, secret), (Some("Basic YSUzQWI6cCUyMHNz"), None, None))
            }
            "post" => assert_eq!(
                (basic, id.unwrap(), secret.unwrap()),
                (None, "a:b".into(), "p ss".into())
            ),
            _ => assert_eq!((basic, id.unwrap(), secret), (None, "a:b".into(), None)),
        }
    }
}

// O18: metadata that is missing or lies costs one more request, and no more.
#[tokio::test]
async fn a_way_that_is_not_understood_is_followed_by_one_more() {
    let provider = Provider::start().await;
    let identity = Identity::new().registered(&provider.origin, ClientId::confidential("id", "s"));
    provider.on(
        AS,
        "200 OK",
        &provider.metadata(&json!({ "token_endpoint_auth_methods_supported": null })),
    );
    let redeem = async |identity: &Identity| {
        let registered = registered(&provider.fetcher(), identity).await.unwrap();
        let pending = registered.sign_in(REDIRECT, &Scopes::default()).unwrap();
        let back = format!("code=c&state={}", pending.url().state());
        pending.receive(&back).unwrap().redeem(&provider.fetcher()).await
    };
    let unknown = json!({ "error": "invalid_client" });
    provider.once(TOKEN, "401 Unauthorized", &unknown);
    redeem(&identity).await.unwrap();
    let tokens = provider.lines().iter().filter(|line| *line == TOKEN).count();
    assert_eq!(tokens, 2);
    assert_eq!(provider.last(TOKEN).param("client_secret").as_deref(), Some("s"));

    provider.on(TOKEN, "401 Unauthorized", &unknown);
    assert!(redeem(&identity).await.is_err());
    assert_eq!(provider.lines().iter().filter(|line| *line == TOKEN).count(), 4);
    let settled = ClientId::confidential("id", "s").auth_method(AuthMethod::SecretBasic);
    assert!(redeem(&Identity::new().registered(&provider.origin, settled)).await.is_err());
    assert_eq!(provider.lines().iter().filter(|line| *line == TOKEN).count(), 5);
}
