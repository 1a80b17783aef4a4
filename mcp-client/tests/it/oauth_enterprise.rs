//! Users of an enterprise, whose identity provider lets them in. Extension: Enterprise-Managed Authorization.

use mcp_client::oauth::{
    ClientId, IdentityAssertion, IdentityProvider, OAuth, OAuthError, ProviderError,
};
use mcp_client::{BoxError, Client};
use serde_json::{Value, json};

use crate::support::provider::{AS, MCP, PRM, Provider, TOKEN};
use crate::support::sign_in::Is;
use crate::support::{call, story};

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// A server, the identity provider of an enterprise, and a client of both.
struct World {
    server: Provider,
    idp: Provider,
    client: Client,
}

type Assertion = fn() -> Result<IdentityAssertion, BoxError>;

impl World {
    async fn start(client: ClientId, is_found: bool, assertion: Assertion) -> Self {
        let (server, idp) = (Provider::start().await, Provider::start().await);
        server.guard(&["Bearer"]);
        let issued = json!({
            "issued_token_type": ID_JAG, "access_token": "id-jag-1", "token_type": "N_A", "expires_in": 300,
        });
        idp.on(TOKEN, "200 OK", &issued);
        let assertion = move || std::future::ready(assertion());
        let mut provider = IdentityProvider::new(&idp.origin, client, assertion);
        if !is_found {
            provider = provider.token_endpoint(format!("{}/token", idp.origin));
        }
        let there = ClientId::confidential("there", "secret there");
        let oauth = OAuth::enterprise(provider, &server.origin, there);
        let client = server.builder().oauth(oauth).build().unwrap();
        Self { server, idp, client }
    }
}

fn id_token() -> Result<IdentityAssertion, BoxError> {
    Ok(IdentityAssertion::id_token("the ID token"))
}

#[tokio::test]
async fn a_user_who_has_signed_in_is_let_in() {
    let basic = ("Basic aWRwOnNlY3JldCUyMG9mJTIwaWRw", None);
    let table = [
        (ClientId::public("idp"), false, None, Some("idp")),
        (ClientId::confidential("idp", "secret of idp"), true, Some(basic.0), basic.1),
    ];
    for (client, is_found, header, client_id) in table {
        let world = World::start(client, is_found, id_token).await;
        let resource = world.server.resource(&json!({ "scopes_supported": ["a", "b"] }));
        world.server.on(PRM, "200 OK", &resource);
        assert_eq!(call(&world.client).await.unwrap(), "ok");
        let lines: &[&str] = if is_found { &[AS, TOKEN] } else { &[TOKEN] };
        assert_eq!(world.idp.lines(), lines);
        assert_eq!(world.server.lines(), [MCP, PRM, AS, TOKEN, MCP]);

        let exchange = world.idp.last(TOKEN);
        let mut expected = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", ID_JAG),
            ("audience", &world.server.origin),
            ("resource", "{server}/mcp"),
            ("subject_token", "the ID token"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("scope", "a b"),
        ];
        let url = world.server.url();
        expected[3].1 = &url;
        expected.extend(client_id.map(|id| ("client_id", id)));
        let form = exchange.form();
        assert!(form.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{form:?}");
        assert_eq!(exchange.header("authorization"), header);

        let redeemed = world.server.last(TOKEN);
        let expected = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", "id-jag-1"),
            ("resource", &url),
        ];
        let form = redeemed.form();
        assert!(form.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{form:?}");
        let there = "Basic dGhlcmU6c2VjcmV0JTIwdGhlcmU=";
        assert_eq!(redeemed.header("authorization"), Some(there));
        let bearer = world.server.last(MCP).header("authorization").unwrap().to_owned();
        assert_eq!(bearer, "Bearer access-1");
        // Each secret went to one place.
        let all = |provider: &Provider| format!("{:?}", provider.asked());
        assert!(!all(&world.server).contains("the%20ID%20token"));
        assert!(!all(&world.idp).contains(there) && !all(&world.idp).contains("id-jag-1"));
    }
}

/// The provider is asked each time, although there is a refresh token.
#[tokio::test]
async fn the_enterprise_decides_again_when_a_token_ends() {
    let saml = || Ok::<_, BoxError>(IdentityAssertion::saml2("PHNhbWw-"));
    let world = World::start(ClientId::public("idp"), false, saml).await;
    let short = json!({ "access_token": "a", "refresh_token": "r", "expires_in": 0 });
    world.server.once(TOKEN, "200 OK", &short);
    call(&world.client).await.unwrap();
    call(&world.client).await.unwrap();
    assert_eq!(world.idp.lines(), [TOKEN, TOKEN]);
    assert_eq!(world.server.lines(), [MCP, PRM, AS, TOKEN, MCP, TOKEN, MCP]);
    let exchange = world.idp.last(TOKEN);
    let kind = "urn:ietf:params:oauth:token-type:saml2";
    assert_eq!(exchange.param("subject_token_type").unwrap(), kind);
    assert_eq!(exchange.param("subject_token").unwrap(), "PHNhbWw-");
}

/// What the two answer, whether an error is to be the provider's, its code, and what it is besides.
type Row = ((&'static str, Value), (&'static str, Value), bool, Option<&'static str>, Is);

fn failures() -> Vec<Row> {
    let issued = |kind: &str| {
        ("200 OK", json!({ "issued_token_type": kind, "access_token": "t0ken-of-idp" }))
    };
    let refused =
        |code: &str| ("400 Bad Request", json!({ "error": code, "error_description": "why not" }));
    let (empty, out) = (("200 OK", json!({})), ("503 Out of order", json!({})));
    let never = || ("200 OK", json!({}));
    let is_other: Is = |error| error.to_string().contains("another kind");
    let is_none: Is = |error| error.to_string().contains("no access token");
    let access = issued("urn:ietf:params:oauth:token-type:access_token");
    let unnamed = ("200 OK", json!({ "access_token": "t0ken-of-idp" }));
    let (grant, denied) = ("invalid_grant", "access_denied");
    vec![
        (refused(grant), never(), true, Some(grant), OAuthError::is_invalid_grant),
        (refused(denied), never(), true, Some(denied), OAuthError::is_denied),
        (out.clone(), never(), true, None, OAuthError::is_transport),
        (empty, never(), true, None, is_none),
        (access, never(), true, None, is_other),
        (unnamed, never(), true, None, is_other),
        (issued(ID_JAG), refused(grant), false, Some(grant), OAuthError::is_invalid_grant),
        (issued(ID_JAG), out, false, None, OAuthError::is_transport),
    ]
}

#[tokio::test]
async fn errors_say_where_it_failed() {
    for (at_idp, at_server, is_idps, code, is) in failures() {
        let world = World::start(ClientId::public("idp"), false, id_token).await;
        world.idp.on(TOKEN, at_idp.0, &at_idp.1);
        world.server.on(TOKEN, at_server.0, &at_server.1);
        let failed = call(&world.client).await.unwrap_err();
        let error = failed.oauth().unwrap();
        assert_eq!(error.is_identity_provider(), is_idps, "{error:?}");
        let said = error.provider().map(|ProviderError { code, .. }| &**code);
        assert!(said == code && is(error), "{error:?}");
        let at = if is_idps { &world.idp.origin } else { &world.server.origin };
        assert!(error.to_string().starts_with(&format!("{at}/token ")), "{error}");
        assert_eq!(world.server.lines().contains(&TOKEN.to_owned()), !is_idps);
        assert!(!story(&failed).contains("t0ken"));
    }
}

#[tokio::test]
async fn a_user_who_is_not_signed_in() {
    let nobody = || Err("nobody is signed in".into());
    let world = World::start(ClientId::public("idp"), true, nobody).await;
    let error = call(&world.client).await.unwrap_err();
    let is = |error: &OAuthError| error.is_assertion() && !error.is_identity_provider();
    assert!(error.oauth().is_some_and(is), "{error:?}");
    assert!(story(&error).ends_with("user's identity: nobody is signed in"), "{}", story(&error));
    assert!(world.idp.asked().is_empty());
}

#[tokio::test]
async fn a_provider_whose_metadata_is_anothers() {
    let world = World::start(ClientId::public("idp"), true, id_token).await;
    let metadata = world.idp.metadata(&json!({ "issuer": "https://evil.example" }));
    world.idp.on(AS, "200 OK", &metadata);
    let error = call(&world.client).await.unwrap_err();
    let is = |error: &OAuthError| error.is_mismatch() && error.is_identity_provider();
    assert!(error.oauth().is_some_and(is), "{error:?}");
    assert_eq!(world.idp.lines(), [AS]);
}
