//! Who the client is: identities, and how they are come by.

use mcp_client::oauth::{AuthMethod, ClientId, ClientMetadata, Identity, Scopes};
use serde_json::{Value, json};

use crate::support::provider::{AS, PRM, Provider, REGISTER};
use crate::support::sign_in::{REDIRECT, dynamic, registered};

#[tokio::test]
async fn what_is_told_where_the_client_registers() {
    let provider = Provider::start().await;
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": ["a"] })));
    let register = async |redirect: &str, identity: &Identity| -> Value {
        let discovered = provider.fetcher().discover(&[]).await.unwrap();
        let identified = discovered.identify(&provider.origin).await.unwrap();
        identified.register(identity, &[redirect.to_owned()], &Scopes::default()).await.unwrap();
        provider.last(REGISTER).json()
    };
    assert_eq!(
        register(REDIRECT, &dynamic()).await,
        json!({
            "client_name": "Test",
            "application_type": "native",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": "a",
        })
    );
    for (redirect, expected) in [
        ("http://localhost:1/cb", "native"),
        ("http://[::1]:1/cb", "native"),
        ("https://localhost/cb", "native"),
        ("https://app.example/cb", "web"),
    ] {
        assert_eq!(register(redirect, &dynamic()).await["application_type"], expected);
    }
    let told = ClientMetadata::new("Test").web(true).with("software_id", "x").with("scope", "mine");
    let told = register(REDIRECT, &Identity::new().dynamic(told)).await;
    assert_eq!(told["application_type"], "web");
    assert_eq!((&told["software_id"], &told["scope"]), (&json!("x"), &json!("mine")));
    for (supported, expected) in [
        (json!(null), "client_secret_basic"),
        (json!(["client_secret_post"]), "client_secret_post"),
        (json!(["client_secret_basic", "client_secret_post"]), "client_secret_basic"),
    ] {
        let changes = json!({
            "token_endpoint_auth_methods_supported": supported,
            "grant_types_supported": ["authorization_code"],
        });
        provider.on(AS, "200 OK", &provider.metadata(&changes));
        let told = register(REDIRECT, &dynamic()).await;
        assert_eq!(told["token_endpoint_auth_method"], expected);
        assert_eq!(told["grant_types"], json!(["authorization_code"]));
    }
}

// O17.
#[tokio::test]
async fn answers_to_registrations() {
    let provider = Provider::start().await;
    let client = json!({
        "client_id": "id", "client_secret": "s", "client_secret_expires_at": 0, "token_endpoint_auth_method": "client_secret_post",
    });
    for status in ["200 OK", "201 Created"] {
        provider.on(REGISTER, status, &client);
        let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
        let registration = registered.registration();
        assert_eq!(
            registration.client,
            ClientId::confidential("id", "s").auth_method(AuthMethod::SecretPost)
        );
        assert_eq!(registration.issuer, provider.origin);
        assert_eq!(registration.redirect_uris, [REDIRECT]);
        assert_eq!(registration.expires_at, None);
    }
    let refused =
        json!({ "error": "invalid_redirect_uri", "error_description": "no loopback here" });
    for status in ["400 Bad Request", "200 OK"] {
        provider.on(REGISTER, status, &refused);
        let error = registered(&provider.fetcher(), &dynamic()).await.unwrap_err();
        assert!(error.is_registration());
        assert!(error.to_string().contains("invalid_redirect_uri, no loopback here"), "{error}");
    }
    provider.on_text(REGISTER, "403 Forbidden", "ask the office");
    let error = registered(&provider.fetcher(), &dynamic()).await.unwrap_err();
    assert!(error.is_registration() && error.to_string().contains("ask the office"), "{error}");
    provider.on(REGISTER, "503 Service Unavailable", &json!({}));
    assert!(registered(&provider.fetcher(), &dynamic()).await.unwrap_err().is_transport());
    let expired = json!({ "client_id": "id", "client_secret": "s", "client_secret_expires_at": 1 });
    provider.on(REGISTER, "201 Created", &expired);
    assert!(registered(&provider.fetcher(), &dynamic()).await.unwrap_err().is_registration());
}

#[tokio::test]
async fn identities_in_their_order() {
    let provider = Provider::start().await;
    let document = "https://app.example/client.json";
    let all = dynamic().document(document).registered(&provider.origin, ClientId::public("known"));
    let id = async |identity: &Identity| {
        let registered = registered(&provider.fetcher(), identity).await;
        registered.map(|registered| registered.registration().client.id().to_owned())
    };
    for supported in [true, false] {
        let changes = json!({ "client_id_metadata_document_supported": supported });
        provider.on(AS, "200 OK", &provider.metadata(&changes));
        assert_eq!(id(&all).await.unwrap(), "known");
        let expected = if supported { document } else { "dynamic" };
        assert_eq!(id(&dynamic().document(document)).await.unwrap(), expected);
        // Another issuer's is not shown here.
        let elsewhere =
            Identity::new().registered("https://other.example", ClientId::public("secret-id"));
        let error = id(&elsewhere).await.unwrap_err();
        assert!(error.is_registration());
        assert!(error.to_string().contains("\"https://other.example\""), "{error}");
        assert!(error.to_string().contains(&provider.origin), "{error}");
        assert_eq!(
            id(&elsewhere.clone().dynamic(ClientMetadata::new("T"))).await.unwrap(),
            "dynamic"
        );
        assert!(id(&Identity::new()).await.unwrap_err().is_registration());
    }
    provider.on(
        AS,
        "200 OK",
        &provider.metadata(&json!({ "client_id_metadata_document_supported": true })),
    );
    for document in
        ["http://app.example/client.json", "https://app.example", "https://app.example/", "client"]
    {
        assert!(
            id(&Identity::new().document(document)).await.unwrap_err().is_usage(),
            "{document}"
        );
    }
    assert!(provider.asked().iter().all(|asked| !asked.body.contains("secret-id")));
}

// Some issuers let no scope be registered that is not their own.
#[tokio::test]
async fn scopes_that_cannot_be_registered_are_left_out() {
    let provider = Provider::start().await;
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": ["a"] })));
    let refused = json!({ "error": "invalid_client_metadata", "error_description": "scope" });
    provider.once(REGISTER, "400 Bad Request", &refused);
    registered(&provider.fetcher(), &dynamic()).await.unwrap();
    let asked = provider.asked();
    let told = asked.iter().filter(|asked| asked.line == REGISTER).map(|asked| asked.json());
    let told = told.collect::<Vec<_>>();
    assert_eq!(told.len(), 2);
    assert_eq!((&told[0]["scope"], told[1].get("scope")), (&json!("a"), None));

    provider.on(REGISTER, "400 Bad Request", &refused);
    assert!(registered(&provider.fetcher(), &dynamic()).await.unwrap_err().is_registration());
    assert_eq!(provider.lines().iter().filter(|line| *line == REGISTER).count(), 4);
}

// O13.
#[tokio::test]
async fn an_identity_stays_with_its_issuer() {
    let (one, two) = (Provider::start().await, Provider::start().await);
    let registered = registered(&one.fetcher(), &dynamic()).await.unwrap();
    let discovered = two.fetcher().discover(&[]).await.unwrap();
    let identified = discovered.identify(&two.origin).await.unwrap();
    let error = identified.with_registration(registered.registration().clone()).unwrap_err();
    assert!(error.is_mismatch(), "{error}");
    assert_eq!(two.lines(), [PRM, AS]);
}
