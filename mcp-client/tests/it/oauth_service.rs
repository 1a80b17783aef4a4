//! Services that are let in by themselves. Extension: OAuth Client Credentials; RFC 7523.

use std::time::{SystemTime, UNIX_EPOCH};

use mcp_client::Client;
use mcp_client::oauth::{Algorithm, AuthMethod, ClientId, OAuth, OAuthError, SigningKey};
use mcp_transport::jose::Unverified;
use serde_json::{Value, json};

use crate::support::provider::{AS, Asked, MCP, PRM, Provider, TOKEN};
use crate::support::sign_in::Is;
use crate::support::{call, story};

const INSUFFICIENT: &str = r#"Bearer error="insufficient_scope", scope="#;

fn secret() -> ClientId {
    ClientId::confidential("id:1", "the s3cret")
}

/// A server that refuses the first call, and a client that is let in as `client`.
async fn world(client: ClientId) -> (Provider, Client) {
    let provider = Provider::start().await;
    provider.guard(&["Bearer"]);
    let oauth = OAuth::client_credentials(&provider.origin, client);
    let client = provider.builder().oauth(oauth).build().unwrap();
    (provider, client)
}

fn own(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn tokens(provider: &Provider, n: usize, more: &Value) {
    let mut body = json!({ "access_token": format!("access-{n}"), "token_type": "Bearer" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    provider.once(TOKEN, "200 OK", &body);
}

async fn fails(client: &Client) -> OAuthError {
    let error = call(client).await.unwrap_err();
    assert!(error.is_auth(), "{error:?}");
    error.oauth().unwrap().clone()
}

#[tokio::test]
async fn by_a_secret_in_the_way_that_the_issuer_wants() {
    let basic = Some("Basic aWQlM0ExOnRoZSUyMHMzY3JldA==");
    let in_form = [("client_id", "id:1"), ("client_secret", "the s3cret")];
    let table = [
        (json!(null), basic, &[][..]),
        (json!(["client_secret_basic"]), basic, &[]),
        (json!(["private_key_jwt", "client_secret_basic", "client_secret_post"]), basic, &[]),
        (json!(["client_secret_post", "private_key_jwt"]), None, &in_form),
    ];
    for (methods, header, params) in table {
        let (provider, client) = world(secret()).await;
        let metadata = json!({ "token_endpoint_auth_methods_supported": methods });
        provider.on(AS, "200 OK", &provider.metadata(&metadata));
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(provider.lines(), [MCP, PRM, AS, TOKEN, MCP, MCP]);
        let token = provider.last(TOKEN);
        assert_eq!(token.header("authorization"), header, "{methods}");
        let mut expected =
            own(&[("grant_type", "client_credentials"), ("resource", &provider.url())]);
        expected.extend(own(params));
        assert_eq!(token.form(), expected);
        assert_eq!(provider.last(MCP).header("authorization"), Some("Bearer access-1"));
    }
}

#[tokio::test]
async fn scopes_are_asked_for_and_nothing_that_is_for_users() {
    let (provider, client) = world(secret()).await;
    let scopes = json!(["a", "b", "offline_access"]);
    let metadata = json!({ "scopes_supported": scopes, "code_challenge_methods_supported": null });
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": scopes })));
    provider.on(AS, "200 OK", &provider.metadata(&metadata));
    call(&client).await.unwrap();
    assert_eq!(provider.last(TOKEN).param("scope").unwrap(), "a b");
}

/// The claims of the assertion of a request, which `key` has signed.
fn assertion(asked: &Asked, key: &SigningKey) -> Value {
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    assert_eq!(asked.param("client_assertion_type").as_deref(), Some(kind));
    let token = asked.param("client_assertion").unwrap();
    let token = Unverified::parse(&token).unwrap();
    assert_eq!(token.key_id(), key.public_jwk().key_id());
    token.verify(key.public_jwk(), key.algorithm()).unwrap().decode().unwrap()
}

#[tokio::test]
async fn by_a_key() {
    let table = [
        (Algorithm::Es256, json!(null)),
        (Algorithm::Es256, json!(["RS256", "ES256"])),
        (Algorithm::EdDsa, json!(["Ed25519"])),
    ];
    for (algorithm, known) in table {
        let key = SigningKey::generate(algorithm).unwrap().with_key_id("k");
        let (provider, client) = world(ClientId::signing("nightly", key.clone())).await;
        let metadata = json!({ "token_endpoint_auth_signing_alg_values_supported": known });
        provider.on(AS, "200 OK", &provider.metadata(&metadata));
        tokens(&provider, 1, &json!({ "expires_in": 0 }));
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(call(&client).await.unwrap(), "ok");
        let requests = provider.at(TOKEN);
        let mut ids = Vec::new();
        for request in &requests {
            let names = request.form().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            let expected = ["grant_type", "resource", "client_assertion_type", "client_assertion"];
            assert_eq!(names, expected);
            assert_eq!(request.header("authorization"), None);
            let claims = assertion(request, &key);
            for (name, value) in [("iss", "nightly"), ("sub", "nightly"), ("aud", &provider.origin)]
            {
                assert_eq!(claims[name], value);
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            let life = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
            assert!(life <= 300 && claims["iat"].as_u64().unwrap().abs_diff(now) < 300);
            ids.push(claims["jti"].clone());
        }
        assert_eq!(requests.len(), 2);
        assert_ne!(ids[0], ids[1]);
    }
}

/// Who is asked may be known by another name, which is that of whom assertions are for.
#[tokio::test]
async fn an_assertion_is_for_what_the_issuer_calls_itself() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let provider = Provider::start().await;
    provider.guard(&["Bearer"]);
    let name = format!("{}/", provider.origin);
    provider.on(AS, "200 OK", &provider.metadata(&json!({ "issuer": name })));
    let policy = mcp_client::oauth::Policy::new().danger_accept_issuer(&provider.origin, &name);
    let client = ClientId::signing("nightly", key.clone());
    let oauth = OAuth::client_credentials(&provider.origin, client).policy(policy);
    let client = provider.builder().oauth(oauth).build().unwrap();
    tokens(&provider, 1, &json!({ "expires_in": 0 }));
    call(&client).await.unwrap();
    call(&client).await.unwrap();
    for request in provider.at(TOKEN) {
        assert_eq!(assertion(&request, &key)["aud"], name);
    }
    assert_eq!(provider.at(TOKEN).len(), 2);
}

#[tokio::test]
async fn what_cannot_be_is_said_before_a_token_is_asked_for() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let rs256 = json!({ "token_endpoint_auth_signing_alg_values_supported": ["RS256"] });
    let table: [(ClientId, Value, Is, &str); 4] = [
        (ClientId::signing("id", key), rs256, OAuthError::is_registration, "signs by ES256"),
        (ClientId::public("id"), json!({}), OAuthError::is_usage, "a secret or a key"),
        (
            ClientId::public("id").auth_method(AuthMethod::PrivateKeyJwt),
            json!({}),
            OAuthError::is_usage,
            "a secret or a key",
        ),
        (
            secret(),
            json!({ "token_endpoint": null }),
            OAuthError::is_discovery,
            "no token_endpoint",
        ),
    ];
    for (client, metadata, is, text) in table {
        let (provider, client) = world(client).await;
        provider.on(AS, "200 OK", &provider.metadata(&metadata));
        let error = fails(&client).await;
        assert!(is(&error) && error.to_string().contains(text), "{error:?}");
        assert_eq!(provider.lines(), [MCP, PRM, AS]);
    }
    let provider = Provider::start().await;
    provider.guard(&["Bearer"]);
    let oauth = OAuth::client_credentials("https://as.example", secret());
    let client = provider.builder().oauth(oauth).build().unwrap();
    let error = fails(&client).await;
    assert!(error.is_registration(), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&provider.origin) && text.contains("https://as.example"), "{text}");
    assert_eq!(provider.lines(), [MCP, PRM]);
}

/// The first of several that knows the client, or the one that the application chooses.
#[tokio::test]
async fn one_of_several_issuers() {
    let provider = Provider::start().await;
    let other = "https://other.example";
    let issuers = json!({ "authorization_servers": [other, provider.origin] });
    provider.on(PRM, "200 OK", &provider.resource(&issuers));
    for chosen in [None, Some(provider.origin.clone()), Some(other.to_owned())] {
        provider.guard(&["Bearer"]);
        let is_known = chosen.as_deref() != Some(other);
        let oauth = OAuth::client_credentials(&provider.origin, secret());
        let oauth = oauth.choose_issuer(move |_| chosen.clone());
        let client = provider.builder().oauth(oauth).build().unwrap();
        if is_known {
            call(&client).await.unwrap();
        } else {
            assert!(fails(&client).await.is_registration());
        }
    }
    assert_eq!(provider.at(TOKEN).len(), 2);
}

/// A refresh token, which should not be there, is not used.
#[tokio::test]
async fn a_token_is_got_again_before_it_expires_and_when_it_is_refused() {
    let (provider, client) = world(secret()).await;
    tokens(&provider, 1, &json!({ "expires_in": 0, "refresh_token": "refresh-1" }));
    tokens(&provider, 2, &json!({ "expires_in": 3600, "refresh_token": "refresh-2" }));
    tokens(&provider, 3, &json!({ "expires_in": 3600 }));
    call(&client).await.unwrap();
    call(&client).await.unwrap();
    call(&client).await.unwrap();
    provider.refuse("401 Unauthorized", &[r#"Bearer error="invalid_token""#]);
    call(&client).await.unwrap();
    assert_eq!(provider.lines(), [MCP, PRM, AS, TOKEN, MCP, TOKEN, MCP, MCP, MCP, TOKEN, MCP]);
    for request in provider.at(TOKEN) {
        assert_eq!(request.param("grant_type").unwrap(), "client_credentials");
        assert_eq!(request.param("refresh_token"), None);
        assert_eq!(request.param("resource").unwrap(), provider.url());
    }
    assert_eq!(provider.last(MCP).header("authorization"), Some("Bearer access-3"));
}

#[tokio::test]
async fn more_scopes_are_asked_for_once() {
    let (provider, client) = world(secret()).await;
    call(&client).await.unwrap();
    provider.refuse("403 Forbidden", &[&format!(r#"{INSUFFICIENT}"a""#)]);
    call(&client).await.unwrap();
    for scope in ["b", "c"] {
        provider.refuse("403 Forbidden", &[&format!(r#"{INSUFFICIENT}"{scope}""#)]);
    }
    let error = fails(&client).await;
    assert!(error.is_refused() && error.to_string().contains("`c`"), "{error:?}");
    let scopes = provider.at(TOKEN).iter().map(|it| it.param("scope")).collect::<Vec<_>>();
    assert_eq!(scopes, [None, Some("a".to_owned()), Some("a b".to_owned())]);
    // What has been asked for in vain is not asked for again.
    provider.refuse("403 Forbidden", &[&format!(r#"{INSUFFICIENT}"b""#)]);
    assert!(fails(&client).await.is_refused());
    assert_eq!(provider.at(TOKEN).len(), 3);
}

/// The issuer's refusal ends a call: with a key at once, with a secret after the other way to send it.
#[tokio::test]
async fn a_refusal_is_final() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    for (client, count) in [(ClientId::signing("id", key), 1), (secret(), 2)] {
        let (provider, client) = world(client).await;
        let refusal = json!({ "error": "invalid_client", "error_description": "unknown" });
        provider.on(TOKEN, "401 Unauthorized", &refusal);
        let error = call(&client).await.unwrap_err();
        assert!(story(&error).contains("invalid_client, unknown"), "{}", story(&error));
        assert_eq!(provider.at(TOKEN).len(), count);
    }
    // The same for a token that cannot be got again.
    for in_time in [true, false] {
        let (provider, client) = world(secret()).await;
        tokens(&provider, 1, &json!({ "expires_in": if in_time { 3600 } else { 0 } }));
        call(&client).await.unwrap();
        provider.on(TOKEN, "400 Bad Request", &json!({ "error": "invalid_grant" }));
        provider.refuse("401 Unauthorized", &["Bearer"]);
        assert!(fails(&client).await.is_invalid_grant());
        assert_eq!(provider.at(TOKEN).len(), 2);
        // It may be good next time.
        if in_time {
            provider.refuse("401 Unauthorized", &["Bearer"]);
        }
        tokens(&provider, 2, &json!({}));
        call(&client).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_moves_to_another_issuer_is_followed() {
    for in_time in [true, false] {
        let (old, new) = (Provider::start().await, Provider::start().await);
        old.guard(&["Bearer"]);
        let oauth = OAuth::client_credentials(&old.origin, secret());
        let oauth = oauth.registered(&new.origin, ClientId::confidential("there", "secret-2"));
        let client = old.builder().oauth(oauth).build().unwrap();
        tokens(&old, 1, &json!({ "expires_in": if in_time { 3600 } else { 0 } }));
        call(&client).await.unwrap();
        old.on(TOKEN, "400 Bad Request", &json!({ "error": "invalid_client" }));
        let moved = json!({ "authorization_servers": [new.origin] });
        old.on(PRM, "200 OK", &old.resource(&moved));
        old.refuse("401 Unauthorized", &["Bearer"]);
        call(&client).await.unwrap();
        assert_eq!(new.lines(), [AS, TOKEN]);
        let basic = new.last(TOKEN).header("authorization").unwrap().to_owned();
        assert_eq!(basic, "Basic dGhlcmU6c2VjcmV0LTI=");
    }
}

/// It is the refusal that counts, and not that the server takes no token which has expired.
#[tokio::test]
async fn a_token_that_expires_before_it_is_used() {
    let (provider, client) = world(secret()).await;
    tokens(&provider, 1, &json!({ "expires_in": 0 }));
    client.sign_in().await.unwrap();
    provider.on(TOKEN, "400 Bad Request", &json!({ "error": "unauthorized_client" }));
    let error = fails(&client).await;
    assert!(error.to_string().ends_with("unauthorized_client"), "{error:?}");
    assert_eq!(provider.at(TOKEN).len(), 2);
}
