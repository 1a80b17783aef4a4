//! Signing in by steps: what users are sent with, what they come back with, and what is never sent on.

use mcp_client::Client;
use mcp_client::oauth::{
    AuthMethod, Challenge, ClientId, ClientMetadata, Fetcher, Granted, Identity, OAuthError,
    Pending, Policy, Registered, Scopes,
};
use serde_json::{Value, json};

use crate::support::provider::{AS, PRM, Provider, REGISTER, TOKEN, params};

const REDIRECT: &str = "http://127.0.0.1:7777/callback";

fn dynamic() -> Identity {
    Identity::new().dynamic(ClientMetadata::new("Test"))
}

async fn registered(fetcher: &Fetcher, identity: &Identity) -> Result<Registered, OAuthError> {
    let discovered = fetcher.discover(&[]).await?;
    let issuer = discovered.issuers()[0].clone();
    let identified = discovered.identify(&issuer).await?;
    identified.register(identity, &[REDIRECT.to_owned()], &Scopes::default()).await
}

async fn pending(provider: &Provider) -> Pending {
    let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
    registered.sign_in(REDIRECT, &Scopes::default()).unwrap()
}

/// What the page was asked with.
fn asked(pending: &Pending) -> Vec<(String, String)> {
    params(pending.url().as_str().split_once('?').unwrap().1)
}

fn param(pending: &Pending, name: &str) -> Option<String> {
    asked(pending).into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// The user comes back with a code.
async fn granted(provider: &Provider) -> Granted {
    let pending = pending(provider).await;
    let back = format!("{REDIRECT}?code=the-code&state={}", pending.url().state());
    pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap()
}

#[tokio::test]
async fn from_a_server_to_a_token() {
    let provider = Provider::start().await;
    let pending = pending(&provider).await;
    let state = pending.url().state().to_owned();
    let page = pending.url().as_str().split('?').next().unwrap();
    assert_eq!(page, format!("{}/authorize", provider.origin));
    let names = asked(&pending).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        names,
        [
            "response_type",
            "client_id",
            "redirect_uri",
            "state",
            "code_challenge",
            "code_challenge_method",
            "resource"
        ]
    );
    let challenge = param(&pending, "code_challenge").unwrap();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "dynamic"),
        ("redirect_uri", REDIRECT),
        ("state", &state),
        ("code_challenge_method", "S256"),
        ("resource", &provider.url()),
    ] {
        assert_eq!(param(&pending, name).as_deref(), Some(value));
    }

    let back = format!("{REDIRECT}?code=a%2Bb&state={state}");
    let granted = pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap();
    assert_eq!(granted.tokens.access_token.expose(), "access-1");
    assert_eq!(granted.issuer, provider.origin);
    assert_eq!(provider.lines(), [PRM, AS, REGISTER, TOKEN]);
    let token = provider.last(TOKEN);
    assert_eq!(token.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(token.header("authorization"), None);
    let verifier = token.param("code_verifier").unwrap();
    assert_eq!(verifier.len(), 43);
    assert_eq!(s256(&verifier), challenge);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        token.form(),
        [
            own("grant_type", "authorization_code"),
            own("code", "a+b"),
            own("redirect_uri", REDIRECT),
            own("code_verifier", &verifier),
            own("resource", &provider.url()),
            own("client_id", "dynamic"),
        ]
    );
}

/// By the cryptography of the tests, not the client's code.
fn s256(verifier: &str) -> String {
    use base64::Engine as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest)
}

// O12: no byte of it is another, from the metadata to every request.
#[tokio::test]
async fn the_resource_is_the_same_everywhere() {
    for path in ["", "/", "/mcp", "/mcp/"] {
        let provider = Provider::start().await;
        let resource = format!("{}{path}", provider.origin).replace("http://", "HTTP://");
        provider.on(PRM, "200 OK", &provider.resource(json!({ "resource": resource })));
        let pending = pending(&provider).await;
        assert_eq!(param(&pending, "resource").as_ref(), Some(&resource));
        let back = format!("code=c&state={}", pending.url().state());
        let granted = pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap();
        assert_eq!(provider.last(TOKEN).param("resource").as_ref(), Some(&resource));
        granted.refresh(&provider.fetcher()).await.unwrap();
        assert_eq!(provider.last(TOKEN).param("resource").as_ref(), Some(&resource));
    }
}

#[tokio::test]
async fn each_sign_in_is_another() {
    let provider = Provider::start().await;
    let (one, two) = (pending(&provider).await, pending(&provider).await);
    assert_ne!(one.url().state(), two.url().state());
    assert_ne!(param(&one, "code_challenge"), param(&two, "code_challenge"));
    let back = format!("code=c&state={}", two.url().state());
    assert!(one.receive(&back).unwrap_err().is_mismatch());
}

// Whatever is wrong, no code goes to any token endpoint, and nothing of a stranger is shown.
#[tokio::test]
async fn who_answers_is_who_was_asked() {
    let provider = Provider::start().await;
    let slash = format!("{}/", provider.origin);
    let upper = provider.origin.replace("http", "HTTP");
    let right = Some(provider.origin.as_str());
    let table = [
        (json!(true), right, true),
        (json!(true), None, false),
        (json!(true), Some("https://evil.example"), false),
        (json!(true), Some(&slash), false),
        (json!(true), Some(&upper), false),
        (json!(true), Some(""), false),
        (json!(false), right, true),
        (json!(false), None, true),
        (json!(false), Some("https://evil.example"), false),
        (json!(null), None, true),
        (json!(null), Some(&slash), false),
    ];
    for (says, iss, expected) in table {
        let changes = json!({ "authorization_response_iss_parameter_supported": says });
        provider.on(AS, "200 OK", &provider.metadata(changes));
        let iss = iss.map(|iss| format!("&iss={}", iss.replace(':', "%3A").replace('/', "%2F")));
        let iss = iss.unwrap_or_default();
        let code = pending(&provider).await;
        let back = format!("{REDIRECT}?code=c&state={}{iss}", code.url().state());
        let received = code.receive(&back);
        assert_eq!(received.is_ok(), expected, "{says} {iss}");

        let denied = pending(&provider).await;
        let back = format!(
            "{REDIRECT}?error=access_denied&error_description=Call+us&state={}{iss}",
            denied.url().state()
        );
        let error = denied.receive(&back).unwrap_err();
        assert_eq!(error.is_denied(), expected);
        assert_eq!(error.is_mismatch(), !expected);
        assert_eq!(error.to_string().contains("Call us"), expected, "{error}");
    }
    assert!(!provider.lines().contains(&TOKEN.to_owned()));
}

#[tokio::test]
async fn an_answer_belongs_to_its_question() {
    let provider = Provider::start().await;
    let state = |pending: &Pending| pending.url().state().to_owned();
    let table: [(&str, fn(&OAuthError) -> bool); 9] = [
        ("code=c", OAuthError::is_mismatch),
        ("code=c&state=", OAuthError::is_mismatch),
        ("code=c&state=x{state}", OAuthError::is_mismatch),
        ("code=c&state={state}&state={state}", OAuthError::is_mismatch),
        ("code=c&code=d&state={state}", OAuthError::is_mismatch),
        ("error=access_denied&state=x", OAuthError::is_mismatch),
        ("error=access_denied&state={state}", OAuthError::is_denied),
        ("error=access_denied&code=c&state={state}", OAuthError::is_denied),
        ("state={state}", |error| !error.is_mismatch() && !error.is_denied()),
    ];
    for (back, expected) in table {
        for before in ["", "?", "/callback?", "https://app.example/cb?", &format!("{REDIRECT}?")] {
            let pending = pending(&provider).await;
            let back = format!("{before}{}", back.replace("{state}", &state(&pending)));
            let error = pending.receive(&back).unwrap_err();
            assert!(expected(&error), "{back}: {error}");
        }
    }
    assert!(!provider.lines().contains(&TOKEN.to_owned()));
}

#[tokio::test]
async fn without_pkce_nobody_signs_in() {
    let provider = Provider::start().await;
    for methods in [json!(null), json!([]), json!(["plain"]), json!("S256"), json!(["s256"])] {
        let changes = json!({ "code_challenge_methods_supported": methods });
        provider.on(AS, "200 OK", &provider.metadata(changes));
        let error = registered(&provider.fetcher(), &dynamic()).await.unwrap_err();
        assert!(error.is_discovery());
        assert!(error.to_string().contains("danger_allow_missing_pkce"), "{error}");
    }
    // Not even a client was registered.
    assert!(!provider.lines().contains(&REGISTER.to_owned()));

    let policy = Policy::new().danger_allow_missing_pkce(&provider.origin);
    let fetcher = provider.builder().build_fetcher(policy).unwrap();
    let pending = registered(&fetcher, &dynamic()).await.unwrap();
    let pending = pending.sign_in(REDIRECT, &Scopes::default()).unwrap();
    assert_eq!(param(&pending, "code_challenge_method").as_deref(), Some("S256"));
}

#[tokio::test]
async fn pages_and_endpoints_are_safe_or_not_visited() {
    let provider = Provider::start().await;
    for url in [
        "javascript:alert(1)//",
        "file:///etc/passwd",
        "http://auth.example.com/authorize",
        "https://10.0.0.1/authorize",
        "https://auth.example.com/a\" --flag",
        "vscode://run",
    ] {
        for name in ["authorization_endpoint", "token_endpoint"] {
            provider.on(AS, "200 OK", &provider.metadata(json!({ name: url })));
            let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
            let error = registered.sign_in(REDIRECT, &Scopes::default()).unwrap_err();
            assert!(error.is_unsafe(), "{url}: {error}");
        }
        provider.on(AS, "200 OK", &provider.metadata(json!({ "registration_endpoint": url })));
        let error = registered(&provider.fetcher(), &dynamic()).await.unwrap_err();
        assert!(error.is_unsafe(), "{url}: {error}");
    }
    for name in ["authorization_endpoint", "token_endpoint"] {
        provider.on(AS, "200 OK", &provider.metadata(json!({ name: null })));
        let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
        assert!(registered.sign_in(REDIRECT, &Scopes::default()).unwrap_err().is_discovery());
    }
}

#[tokio::test]
async fn users_come_back_to_safe_places() {
    let provider = Provider::start().await;
    let identity = Identity::new().registered(&provider.origin, ClientId::public("id"));
    let registered = registered(&provider.fetcher(), &identity).await.unwrap();
    for uri in [
        "https://app.example/cb",
        "http://localhost:1/cb",
        "http://127.0.0.1:1/",
        "http://[::1]:1/",
    ] {
        registered.sign_in(uri, &Scopes::default()).unwrap();
    }
    for uri in
        ["http://app.example/cb", "app:/cb", "", "https://app.example/cb#f", "http://10.0.0.1/"]
    {
        assert!(registered.sign_in(uri, &Scopes::default()).unwrap_err().is_usage(), "{uri}");
    }
}

#[tokio::test]
async fn a_page_keeps_its_own_parameters() {
    let provider = Provider::start().await;
    let page = format!("{}/authorize?tenant=a%2fb", provider.origin);
    provider.on(AS, "200 OK", &provider.metadata(json!({ "authorization_endpoint": page })));
    let pending = pending(&provider).await;
    assert!(pending.url().as_str().starts_with(&format!("{page}&response_type=code&")));
}

#[tokio::test]
async fn scopes_are_those_that_are_needed() {
    let provider = Provider::start().await;
    provider.on(
        AS,
        "200 OK",
        &provider.metadata(json!({ "scopes_supported": ["offline_access"] })),
    );
    let table = [
        (json!(null), None, "", None),
        (json!(["a", "b", "c"]), None, "", Some("a b c offline_access")),
        (json!(["a"]), Some("mcp:basic"), "", Some("mcp:basic offline_access")),
        (json!(["a"]), Some("write"), "basic", Some("basic write offline_access")),
    ];
    for (basic, challenge, before, expected) in table {
        provider.on(PRM, "200 OK", &provider.resource(json!({ "scopes_supported": basic })));
        let challenge = challenge.map(|scope| Challenge::new("Bearer").with("scope", scope));
        let challenges = challenge.into_iter().collect::<Vec<_>>();
        let discovered = provider.fetcher().discover(&challenges).await.unwrap();
        let identified = discovered.identify(&provider.origin).await.unwrap();
        let before = Scopes::parse(before);
        let uris = [REDIRECT.to_owned()];
        let registered = identified.register(&dynamic(), &uris, &before).await.unwrap();
        let pending = registered.sign_in(REDIRECT, &before).unwrap();
        assert_eq!(param(&pending, "scope").as_deref(), expected);
        assert_eq!(pending.requested(), Scopes::parse(expected.unwrap_or_default()));
    }
}

// For web applications: the user may come back to another process.
#[tokio::test]
async fn a_sign_in_can_be_stored() {
    let provider = Provider::start().await;
    let stored = serde_json::to_string(&pending(&provider).await).unwrap();
    let pending: Pending = serde_json::from_str(&stored).unwrap();
    let back = format!("code=c&state={}", pending.url().state());
    let granted = pending.receive(&back).unwrap().redeem(&provider.fetcher()).await.unwrap();
    let stored = serde_json::to_string(&granted).unwrap();
    assert_eq!(serde_json::from_str::<Granted>(&stored).unwrap(), granted);
}

#[tokio::test]
async fn what_is_told_where_the_client_registers() {
    let provider = Provider::start().await;
    provider.on(PRM, "200 OK", &provider.resource(json!({ "scopes_supported": ["a"] })));
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
        provider.on(AS, "200 OK", &provider.metadata(changes));
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
        provider.on(AS, "200 OK", &provider.metadata(changes));
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
        &provider.metadata(json!({ "client_id_metadata_document_supported": true })),
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

#[tokio::test]
async fn servers_without_encryption_get_no_tokens() {
    for url in ["http://mcp.example.com/mcp", "http://10.0.0.1/mcp"] {
        let error = Client::builder(url).build_fetcher(Policy::new()).unwrap_err();
        assert!(error.is_usage());
    }
}

// Nothing that is secret can be seen of anything that can be seen.
#[tokio::test]
async fn secrets_do_not_show() {
    let provider = Provider::start().await;
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
    provider.on(PRM, "200 OK", &provider.resource(json!({})));
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
    let error = self::registered(&fetcher, &dynamic()).await.unwrap_err();
    seen += &format!("{error} {error:?}");
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
    let table: [(&str, &str, fn(&OAuthError) -> bool, &str); 8] = [
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
        provider.on(AS, "200 OK", &provider.metadata(changes));
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
        &provider.metadata(json!({ "token_endpoint_auth_methods_supported": null })),
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
