//! Tokens that are bound to a key. RFC 9449.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_client::Client;
use mcp_client::oauth::{
    AssertionSource, Challenge, ClientId, Credentials, IdentityAssertion, IdentityProvider,
    MemoryStore, OAuth, OAuthError, Scopes, SigningKey, TokenStore,
};
use mcp_client::types::SubscriptionFilter;
use mcp_transport::dpop::{Checked, Expected, check};
use mcp_transport::jose::Algorithm;
use serde_json::{Value, json};

use crate::support::provider::{AS, Asked, MCP, PRM, Provider, TOKEN, params};
use crate::support::sign_in::{Is, REDIRECT, dynamic, pending};
use crate::support::{Robot, call, story};

/// A server and an issuer that know of proofs, which refuse the first call with these challenges.
async fn provider(challenges: &[&str]) -> Provider {
    let provider = Provider::start().await;
    provider.on(
        AS,
        "200 OK",
        &provider.metadata(&json!({ "dpop_signing_alg_values_supported": ["ES256"] })),
    );
    provider.on(TOKEN, "200 OK", &bound(1));
    provider.guard(challenges);
    provider
}

fn bound(n: usize) -> Value {
    json!({ "access_token": format!("access-{n}"), "token_type": "DPoP", "expires_in": 3600 })
}

fn service(provider: &Provider) -> OAuth {
    OAuth::client_credentials(&provider.origin, ClientId::confidential("id", "a secret"))
}

fn client(provider: &Provider, oauth: OAuth) -> Client {
    provider.builder().oauth(oauth).build().unwrap()
}

/// What the proof of a request has told, after all checks of a server.
fn proof(provider: &Provider, asked: &Asked, token: Option<&str>) -> Checked {
    let path = asked.line.strip_prefix("POST ").unwrap();
    let expected = Expected {
        method: "POST",
        url: &format!("{}{path}", provider.origin),
        access_token: token,
        nonces: &[],
        algorithms: &[Algorithm::Es256],
        now: SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs(),
        window: Duration::from_secs(60),
    };
    assert_eq!(asked.head.matches("\r\ndpop: ").count(), 1, "{}", asked.head);
    check(asked.header("dpop").unwrap(), &expected).unwrap()
}

/// The scheme of the last call's token.
fn scheme(provider: &Provider) -> String {
    let call = provider.last(MCP);
    call.header("authorization").unwrap().split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn every_request_has_a_proof_of_its_own() {
    let provider = provider(&["DPoP"]).await;
    let client = client(&provider, service(&provider));
    for _ in 0..3 {
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    assert_eq!(provider.lines(), [MCP, PRM, AS, TOKEN, MCP, MCP, MCP]);
    let token = proof(&provider, &provider.last(TOKEN), None);
    let mut ids = vec![token.jti];
    for request in &provider.at(MCP)[1..] {
        assert_eq!(request.header("authorization"), Some("DPoP access-1"));
        let checked = proof(&provider, request, Some("access-1"));
        assert_eq!((checked.thumbprint, checked.nonce), (token.thumbprint, None));
        assert!(!ids.contains(&checked.jti));
        ids.push(checked.jti);
    }
    // The request without a token has nothing to prove.
    assert_eq!(provider.at(MCP)[0].header("dpop"), None);
}

#[tokio::test]
async fn when_tokens_are_bound() {
    let es256 = json!(["ES256"]);
    let table = [
        // The challenges, what the server requires, what the issuer knows, what the application wants; whether it is
        // proved at the token endpoint.
        (&["Bearer"][..], json!(null), es256.clone(), false, Ok(false)),
        (&["Bearer"], json!(false), es256.clone(), true, Ok(true)),
        (&["Bearer"], json!(true), es256.clone(), false, Ok(true)),
        (&["Bearer", "DPoP"], json!(null), es256.clone(), false, Ok(true)),
        (&["DPoP algs=\"ES256\""], json!(null), json!(["RS256", "ES256"]), false, Ok(true)),
        // An issuer that says nothing is tried only where it matters.
        (&["Bearer", "DPoP"], json!(null), json!(null), false, Ok(false)),
        (&["DPoP"], json!(null), json!(null), false, Ok(true)),
        (&["Bearer"], json!(null), json!(null), true, Ok(true)),
        // One that knows no proofs that could be made.
        (&["Bearer", "DPoP"], json!(null), json!(["RS256"]), true, Ok(false)),
        (&["Bearer"], json!(true), json!(["RS256"]), false, Err(())),
        (&["DPoP"], json!(null), json!([]), true, Err(())),
    ];
    for (challenges, required, known, wanted, expected) in table {
        let row = format!("{challenges:?} {required} {known} {wanted}");
        let provider = provider(challenges).await;
        let resource = json!({ "dpop_bound_access_tokens_required": required });
        provider.on(PRM, "200 OK", &provider.resource(&resource));
        let metadata = json!({ "dpop_signing_alg_values_supported": known });
        provider.on(AS, "200 OK", &provider.metadata(&metadata));
        let kind = if expected == Ok(true) { "DPoP" } else { "Bearer" };
        provider.on(TOKEN, "200 OK", &json!({ "access_token": "a", "token_type": kind }));
        let oauth = if wanted { service(&provider).dpop() } else { service(&provider) };
        let called = call(&client(&provider, oauth)).await;
        match expected {
            Ok(is_bound) => {
                assert_eq!(called.unwrap(), "ok", "{row}");
                assert_eq!(provider.last(TOKEN).header("dpop").is_some(), is_bound, "{row}");
                assert_eq!(provider.last(MCP).header("dpop").is_some(), is_bound, "{row}");
                assert_eq!(scheme(&provider), kind, "{row}");
            }
            Err(()) => {
                let error = called.unwrap_err();
                assert!(error.oauth().unwrap().is_discovery(), "{row}: {error:?}");
                assert!(story(&error).contains("proofs by ES256"), "{}", story(&error));
                assert!(provider.at(TOKEN).is_empty(), "{row}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_that_is_not_what_was_asked_for() {
    let bearer = json!({ "access_token": "a", "token_type": "Bearer" });
    // The server takes others as well.
    let other = provider(&["Bearer", "DPoP"]).await;
    other.on(TOKEN, "200 OK", &bearer);
    call(&client(&other, service(&other))).await.unwrap();
    assert!(other.last(TOKEN).header("dpop").is_some());
    assert_eq!((&*scheme(&other), other.last(MCP).header("dpop")), ("Bearer", None));

    let table: [(&str, Value, &str); 2] = [
        ("DPoP", bearer, "is bound to no key"),
        (
            "Bearer",
            json!({ "access_token": "a", "token_type": "DPoP" }),
            "a key which the client has not",
        ),
    ];
    for (challenge, tokens, why) in table {
        let provider = provider(&[challenge]).await;
        provider.on(TOKEN, "200 OK", &tokens);
        let error = call(&client(&provider, service(&provider))).await.unwrap_err();
        assert!(story(&error).contains(why), "{}", story(&error));
        assert_eq!((provider.at(TOKEN).len(), provider.at(MCP).len()), (1, 1));
    }
}

/// A token from before is neither offered again nor renewed, even where it has just been got.
#[tokio::test]
async fn a_server_that_wants_proofs_only_later() {
    for is_fresh in [true, false] {
        let provider = provider(&[]).await;
        provider.once(TOKEN, "200 OK", &json!({ "access_token": "plain" }));
        let client = client(&provider, service(&provider));
        client.sign_in().await.unwrap();
        if !is_fresh {
            call(&client).await.unwrap();
        }
        provider.refuse("401 Unauthorized", &["DPoP"]);
        assert_eq!(call(&client).await.unwrap(), "ok");
        let with = provider.at(MCP);
        let with = with.iter().map(|it| it.header("authorization").unwrap()).collect::<Vec<_>>();
        assert_eq!((with[0], *with.last().unwrap()), ("Bearer plain", "DPoP access-1"));
    }
}

const NONCE: &str = r#"DPoP error="use_dpop_nonce""#;

#[tokio::test]
async fn nonces_are_sent_back() {
    let provider = provider(&["DPoP"]).await;
    let wants = json!({ "error": "use_dpop_nonce" });
    provider.once(TOKEN, "400 Bad Request\r\ndpop-nonce: for-issuer", &wants);
    let client = client(&provider, service(&provider));
    let nonce = format!("{NONCE}\r\ndpop-nonce: for-server");
    provider.refuse("401 Unauthorized", &[&nonce]);
    let given = "200 OK\r\ncontent-type: application/json\r\ndpop-nonce: another";
    let ok = r#"{"jsonrpc":"2.0","id":"{id}","result":{}}"#.replace("\"{id}\"", "{id}");
    let result = json!({ "resultType": "complete", "content": [{ "type": "text", "text": "ok" }] });
    provider.on_text(MCP, given, &ok.replace("{}", &result.to_string()));
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    // Server and issuer are of one origin here, so that each has the last of both.
    let of = |asked: &[Asked], token| {
        asked.iter().map(|it| proof(&provider, it, token).nonce).collect::<Vec<_>>()
    };
    let some = |nonce: &str| Some(nonce.to_owned());
    assert_eq!(of(&provider.at(TOKEN), None), [None, some("for-issuer")]);
    let called = of(&provider.at(MCP)[1..], Some("access-1"));
    assert_eq!(called, [some("for-issuer"), some("for-server"), some("another")]);
}

#[tokio::test]
async fn a_nonce_is_tried_once() {
    // The issuer wants ever another one.
    let wants = json!({ "error": "use_dpop_nonce", "error_description": "again" });
    let issuer = provider(&["DPoP"]).await;
    issuer.on(TOKEN, "400 Bad Request\r\ndpop-nonce: n", &wants);
    let error = call(&client(&issuer, service(&issuer))).await.unwrap_err();
    assert!(story(&error).contains("use_dpop_nonce, again"), "{}", story(&error));
    assert_eq!(issuer.at(TOKEN).len(), 2);
    // It sends none.
    issuer.guard(&["DPoP"]);
    issuer.on(TOKEN, "400 Bad Request", &wants);
    call(&client(&issuer, service(&issuer))).await.unwrap_err();
    assert_eq!(issuer.at(TOKEN).len(), 3);

    // The server, which gets no other token for it either.
    let server = provider(&["DPoP"]).await;
    server.on(
        MCP,
        &format!("401 Unauthorized\r\nwww-authenticate: {NONCE}\r\ndpop-nonce: n"),
        &json!({}),
    );
    let error = call(&client(&server, service(&server))).await.unwrap_err();
    assert!(error.oauth().unwrap().is_refused(), "{error:?}");
    assert_eq!((server.at(TOKEN).len(), server.at(MCP).len()), (1, 3));
}

#[tokio::test]
async fn keys_are_stored_with_tokens() {
    let provider = provider(&[]).await;
    let mut short = bound(1);
    short["expires_in"] = json!(0);
    short["refresh_token"] = json!("refresh-1");
    provider.once(TOKEN, "200 OK", &short);
    let pending = pending_with(&provider, &[Challenge::new("DPoP")]).await;
    let back = format!("{REDIRECT}?code=c&state={}", pending.url().state());
    let page = params(pending.url().as_str().split_once('?').unwrap().1);
    // It may be finished in another process.
    let stored = serde_json::to_string(&pending).unwrap();
    let pending: mcp_client::oauth::Pending = serde_json::from_str(&stored).unwrap();
    let granted = pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap();
    let key = proof(&provider, &provider.last(TOKEN), None).thumbprint;
    let named = page.iter().find(|(name, _)| name == "dpop_jkt").map(|(_, value)| value.clone());
    assert_eq!(named.unwrap(), key.to_string());

    // A client that is started later finds it, and renews it by the same key.
    let store = Arc::new(MemoryStore::new());
    let mut credentials = Credentials::default();
    let granted = serde_json::to_string(&granted).unwrap();
    credentials.granted = Some(serde_json::from_str(&granted).unwrap());
    store.save(&provider.url(), &credentials).await.unwrap();
    provider.on(TOKEN, "200 OK", &bound(2));
    let oauth = OAuth::sign_in(Robot).store(Arc::clone(&store));
    assert_eq!(call(&client(&provider, oauth)).await.unwrap(), "ok");
    let refreshed = provider.at(TOKEN);
    let refreshed = refreshed.iter().find(|it| it.param("refresh_token").is_some()).unwrap();
    assert_eq!(proof(&provider, refreshed, None).thumbprint, key);
    let last = provider.last(MCP);
    assert_eq!(last.header("authorization"), Some("DPoP access-2"));
    assert_eq!(proof(&provider, &last, Some("access-2")).thumbprint, key);

    // Without the key the token is good for nothing, and is not sent.
    let mut without: Value = serde_json::from_str(&granted).unwrap();
    without.as_object_mut().unwrap().remove("dpop").unwrap();
    credentials.granted = Some(serde_json::from_value(without).unwrap());
    store.save(&provider.url(), &credentials).await.unwrap();
    let oauth = OAuth::sign_in(Robot).store(store);
    assert_eq!(call(&client(&provider, oauth)).await.unwrap(), "ok");
    assert_eq!(provider.last(MCP).header("authorization"), None);
}

async fn pending_with(provider: &Provider, challenges: &[Challenge]) -> mcp_client::oauth::Pending {
    let discovered = provider.fetcher().discover(challenges).await.unwrap();
    let identified = discovered.identify(&provider.origin).await.unwrap();
    let uris = [REDIRECT.to_owned()];
    let registered = identified.register(&dynamic(), &uris, &Scopes::default()).await.unwrap();
    registered.sign_in(REDIRECT, &Scopes::default()).unwrap()
}

#[tokio::test]
async fn by_steps_tokens_are_bound_on_demand() {
    let provider = provider(&[]).await;
    let plain = pending(&provider).await;
    assert!(!plain.url().as_str().contains("dpop_jkt"));
    let discovered = provider.fetcher().discover(&[]).await.unwrap();
    let identified = discovered.identify(&provider.origin).await.unwrap();
    let uris = [REDIRECT.to_owned()];
    let registered = identified.register(&dynamic(), &uris, &Scopes::default()).await.unwrap();
    let bound = registered.bind().sign_in(REDIRECT, &Scopes::default()).unwrap();
    assert!(bound.url().as_str().contains("&dpop_jkt="));
}

#[tokio::test]
async fn with_every_grant_that_needs_no_user() {
    let key = || SigningKey::generate(Algorithm::EdDsa).unwrap();
    for n in 0..3 {
        let (provider, idp) = (provider(&["DPoP"]).await, Provider::start().await);
        let issued = json!({
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "access_token": "jag", "token_type": "N_A",
        });
        idp.on(TOKEN, "200 OK", &issued);
        let oauth = match n {
            0 => OAuth::client_credentials(&provider.origin, ClientId::signing("id", key())),
            1 => {
                let source = AssertionSource::new(|_| async { Ok::<_, String>("assertion") });
                OAuth::workload_identity(&provider.origin, ClientId::public("id"), source)
            }
            _ => {
                let token = || async { Ok::<_, String>(IdentityAssertion::id_token("id token")) };
                let there = IdentityProvider::new(&idp.origin, ClientId::public("id"), token);
                OAuth::enterprise(there, &provider.origin, ClientId::confidential("id", "secret"))
            }
        };
        let wants = json!({ "error": "use_dpop_nonce" });
        provider.once(TOKEN, "400 Bad Request\r\ndpop-nonce: nonce", &wants);
        assert_eq!(call(&client(&provider, oauth)).await.unwrap(), "ok");
        for request in provider.at(TOKEN) {
            proof(&provider, &request, None);
        }
        assert_eq!(provider.at(TOKEN).len(), 2);
        assert_eq!(scheme(&provider), "DPoP");
        // What the identity provider gives is not bound, and who is asked there proves nothing.
        assert!(idp.asked().iter().all(|it| it.header("dpop").is_none()));
    }
}

/// A call with other credentials is left as it is.
#[tokio::test]
async fn a_header_of_the_caller_has_no_proof() {
    let provider = provider(&["DPoP"]).await;
    let client = client(&provider, service(&provider));
    call(&client).await.unwrap();
    client.call_tool("t", ()).header("authorization", "Basic x").await.unwrap();
    let last = provider.last(MCP);
    assert_eq!((last.header("authorization"), last.header("dpop")), (Some("Basic x"), None));
}

#[tokio::test]
async fn more_scopes_where_tokens_are_bound() {
    let provider = provider(&["DPoP"]).await;
    let client = client(&provider, service(&provider));
    call(&client).await.unwrap();
    let wants = r#"DPoP error="insufficient_scope", scope="more""#;
    provider.refuse("403 Forbidden", &[wants]);
    provider.once(TOKEN, "200 OK", &bound(2));
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(provider.last(TOKEN).param("scope").unwrap(), "more");
    assert_eq!(provider.last(MCP).header("authorization"), Some("DPoP access-2"));
    let is: Is = OAuthError::is_refused;
    provider.refuse("403 Forbidden", &[wants]);
    assert!(is(call(&client).await.unwrap_err().oauth().unwrap()));
}

/// What one of them wants to see the other never gets, and a subscription has proofs as calls have.
#[tokio::test]
async fn each_origin_has_its_own_nonce() {
    let (server, issuer) = (provider(&["DPoP"]).await, provider(&[]).await);
    let elsewhere = json!({ "authorization_servers": [issuer.origin] });
    server.on(PRM, "200 OK", &server.resource(&elsewhere));
    let wants = json!({ "error": "use_dpop_nonce" });
    issuer.once(TOKEN, "400 Bad Request\r\ndpop-nonce: for-issuer", &wants);
    let client = client(&server, service(&issuer));
    server.refuse("401 Unauthorized", &[&format!("{NONCE}\r\ndpop-nonce: for-server")]);
    call(&client).await.unwrap();
    // It is answered with what is no stream, which is an error once it has been opened.
    let _ = client.listen(SubscriptionFilter::new().tools()).await;
    let with = server.at(MCP).into_iter().skip(1);
    let nonces = with.map(|it| proof(&server, &it, Some("access-1")).nonce).collect::<Vec<_>>();
    let some = |nonce: &str| Some(nonce.to_owned());
    assert_eq!(nonces, [None, some("for-server"), some("for-server")]);
    let nonces = issuer.at(TOKEN).into_iter().map(|it| proof(&issuer, &it, None).nonce);
    assert_eq!(nonces.collect::<Vec<_>>(), [None, some("for-issuer")]);
}

/// A call with credentials of its own is not made again for a proof that it has not.
#[tokio::test]
async fn a_nonce_for_a_header_of_the_caller() {
    let provider = provider(&["DPoP"]).await;
    let client = client(&provider, service(&provider));
    call(&client).await.unwrap();
    let count = provider.at(MCP).len();
    provider.refuse("401 Unauthorized", &[&format!("{NONCE}\r\ndpop-nonce: n")]);
    let error = client.call_tool("t", ()).header("authorization", "DPoP own").await.unwrap_err();
    assert_eq!((error.status().unwrap().as_u16(), provider.at(MCP).len()), (401, count + 1));
}
