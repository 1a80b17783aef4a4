//! Signing in by steps: what users are sent with, what they come back with, and what is never sent on.

use mcp_client::oauth::{
    Challenge, ClientId, Granted, Identity, OAuth, OAuthError, Pending, Policy, Registered, Scopes,
};
use serde_json::json;

use crate::support::Robot;
use crate::support::provider::{AS, PRM, Provider, REGISTER, TOKEN, params};
use crate::support::sign_in::{Is, REDIRECT, dynamic, pending, registered};

/// What the page was asked with.
fn asked(pending: &Pending) -> Vec<(String, String)> {
    params(pending.url().as_str().split_once('?').unwrap().1)
}

fn param(pending: &Pending, name: &str) -> Option<String> {
    asked(pending).into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
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
        provider.on(PRM, "200 OK", &provider.resource(&json!({ "resource": resource })));
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

// O2: who may call themselves otherwise is held to that.
#[tokio::test]
async fn an_issuer_of_another_name_answers_by_that() {
    let provider = Provider::start().await;
    let found = format!("{}/", provider.origin);
    provider.on(AS, "200 OK", &provider.metadata(&json!({ "issuer": found })));
    let policy = Policy::new().danger_accept_issuer(&provider.origin, &found);
    let fetcher = provider.builder().build_fetcher(policy).unwrap();
    for (iss, expected) in [(&found, true), (&provider.origin, false)] {
        let registered = registered(&fetcher, &dynamic()).await.unwrap();
        assert_eq!(registered.registration().issuer, provider.origin);
        let pending = registered.sign_in(REDIRECT, &Scopes::default()).unwrap();
        let back = format!("code=c&state={}&iss={iss}", pending.url().state());
        assert_eq!(pending.receive(&back).is_ok(), expected, "{iss}");
    }
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
        provider.on(AS, "200 OK", &provider.metadata(&changes));
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
    let table: [(&str, Is); 9] = [
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
        provider.on(AS, "200 OK", &provider.metadata(&changes));
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
            provider.on(AS, "200 OK", &provider.metadata(&json!({ name: url })));
            let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
            let error = registered.sign_in(REDIRECT, &Scopes::default()).unwrap_err();
            assert!(error.is_unsafe(), "{url}: {error}");
        }
        provider.on(AS, "200 OK", &provider.metadata(&json!({ "registration_endpoint": url })));
        let error = registered(&provider.fetcher(), &dynamic()).await.unwrap_err();
        assert!(error.is_unsafe(), "{url}: {error}");
    }
    for name in ["authorization_endpoint", "token_endpoint"] {
        provider.on(AS, "200 OK", &provider.metadata(&json!({ name: null })));
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
    provider.on(AS, "200 OK", &provider.metadata(&json!({ "authorization_endpoint": page })));
    let pending = pending(&provider).await;
    assert!(pending.url().as_str().starts_with(&format!("{page}&response_type=code&")));
}

#[tokio::test]
async fn an_application_adds_its_own_parameters() {
    let provider = Provider::start().await;
    let scopes = json!({ "scopes_supported": ["offline_access"] });
    provider.on(AS, "200 OK", &provider.metadata(&scopes));
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": ["a"] })));
    let registered = registered(&provider.fetcher(), &dynamic()).await.unwrap();
    let set = |mut registered: Registered, params: &[(&str, &str)]| {
        for (name, value) in params {
            registered = registered.authorization_parameter(*name, *value).unwrap();
        }
        let pending = registered.sign_in(REDIRECT, &Scopes::default()).unwrap();
        asked(&pending).split_off(8)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let hint = [("login_hint", "ada&co@x"), ("audience", "a"), ("audience", "https://api")];
    assert_eq!(
        set(registered.clone(), &hint),
        [
            pair("prompt", "consent"),
            pair("login_hint", "ada&co@x"),
            pair("audience", "https://api")
        ]
    );
    assert_eq!(set(registered.clone(), &[("prompt", "login")]), [pair("prompt", "login")]);
    // What the flow itself rests on, and whatever could lead around it.
    let own = asked(&registered.sign_in(REDIRECT, &Scopes::default()).unwrap());
    let own = own.iter().map(|(name, _)| &**name).filter(|name| *name != "prompt");
    let around = ["", "request", "request_uri", "response_mode", "dpop_jkt"];
    for name in own.chain(around) {
        let refused = registered.clone().authorization_parameter(name, "x").unwrap_err();
        assert!(refused.is_usage(), "{name}");
        let oauth = OAuth::sign_in(Robot).authorization_parameter(name, "x");
        assert!(oauth.unwrap_err().is_usage(), "{name}");
    }
    // A value may say who the user is.
    let shown = registered.authorization_parameter("login_hint", "ada@x").unwrap();
    assert!(!format!("{shown:?}").contains("ada@x"));
}

#[tokio::test]
async fn scopes_are_those_that_are_needed() {
    let provider = Provider::start().await;
    provider.on(
        AS,
        "200 OK",
        &provider.metadata(&json!({ "scopes_supported": ["offline_access"] })),
    );
    let table = [
        (json!(null), None, "", None),
        (json!(["a", "b", "c"]), None, "", Some("a b c offline_access")),
        (json!(["a"]), Some("mcp:basic"), "", Some("mcp:basic offline_access")),
        (json!(["a"]), Some("write"), "basic", Some("basic write offline_access")),
    ];
    for (basic, challenge, before, expected) in table {
        provider.on(PRM, "200 OK", &provider.resource(&json!({ "scopes_supported": basic })));
        let challenge = challenge.map(|scope| Challenge::new("Bearer").with("scope", scope));
        let challenges = challenge.into_iter().collect::<Vec<_>>();
        let discovered = provider.fetcher().discover(&challenges).await.unwrap();
        let identified = discovered.identify(&provider.origin).await.unwrap();
        let before = Scopes::parse(before);
        let uris = [REDIRECT.to_owned()];
        let registered = identified.register(&dynamic(), &uris, &before).await.unwrap();
        let pending = registered.sign_in(REDIRECT, &before).unwrap();
        assert_eq!(param(&pending, "scope").as_deref(), expected);
        assert_eq!(param(&pending, "prompt").as_deref(), expected.map(|_| "consent"));
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
