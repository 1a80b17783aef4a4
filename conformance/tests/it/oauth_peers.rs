//! Signing in with other SDKs: their clients to our server, our client to their servers. What each of them does and leaves
//! out is in `peers/README.md`.

use mcp_client::oauth::TokenStore;
use mcp_server::auth::{Dpop, JwtVerifier, NonceKey};
use serde_json::{Value, json};

use crate::interop::{PYTHON, Sdk, TYPESCRIPT};
use crate::oauth::{Issuer, Protected, SignsIn, run, text, tools};
use crate::support::{Program, Serving, is_installed};

#[test]
fn the_typescript_client_signs_in_to_our_server() {
    client_on_our_server(&TYPESCRIPT);
}

#[test]
fn the_python_client_signs_in_to_our_server() {
    client_on_our_server(&PYTHON);
}

#[test]
fn our_client_signs_in_to_the_typescript_server() {
    our_client_on_server(&TYPESCRIPT, NamesScopes::Its);
}

#[test]
fn our_client_signs_in_to_the_python_server() {
    our_client_on_server(&PYTHON, NamesScopes::None);
}

#[test]
fn our_client_renews_a_token_that_the_typescript_server_refuses() {
    our_client_renews(&TYPESCRIPT);
}

#[test]
fn our_client_renews_a_token_that_the_python_server_refuses() {
    our_client_renews(&PYTHON);
}

#[test]
fn our_client_signs_in_again_to_the_typescript_server() {
    our_client_signs_in_again(&TYPESCRIPT);
}

#[test]
fn our_client_signs_in_again_to_the_python_server() {
    our_client_signs_in_again(&PYTHON);
}

#[test]
fn the_typescript_client_signs_in_to_our_server_without_a_user() {
    client_without_a_user(&TYPESCRIPT);
}

#[test]
fn the_python_client_signs_in_to_our_server_without_a_user() {
    client_without_a_user(&PYTHON);
}

#[test]
fn the_typescript_client_has_its_tokens_bound_at_our_server() {
    run_with(&TYPESCRIPT, async || {
        let issuer = Issuer::start(&["--dpop-nonce"]);
        let tokens = Dpop::new(JwtVerifier::discover(&*issuer.name)).required();
        let server = Protected::start(&issuer, tokens.nonces(&NonceKey::random().unwrap()));
        let report = report(&TYPESCRIPT, &["--dpop", &server.url]);
        check(&report, &server.url);
        assert_eq!(report["token"]["tokenType"], "DPoP");
        assert!(issuer.asked("token").await.iter().all(|asked| asked.dpop));
    });
}

/// What a server says is missing where a tool needs more than it got.
#[derive(Clone, Copy, PartialEq)]
enum NamesScopes {
    /// What the tool needs, without what everything needs.
    Its,
    None,
}

fn client_on_our_server(sdk: &Sdk) {
    run_with(sdk, async || {
        let issuer = Issuer::start(&[]);
        let server = Protected::start(&issuer, JwtVerifier::discover(&*issuer.name));
        let report = report(sdk, &[&server.url]);
        check(&report, &server.url);
        assert_eq!(report["token"]["tokenType"], "Bearer");
        let asked = issuer.asked("token").await;
        assert!(asked.iter().all(|asked| asked.param("resource") == server.url));
    });
}

fn client_without_a_user(sdk: &Sdk) {
    run_with(sdk, async || {
        let known = json!([{
            "client_id": "machine", "client_secret": "a-secret-of-a-machine-long-enough",
            "grant_types": ["client_credentials"], "redirect_uris": [], "response_types": [],
        }]);
        let issuer = Issuer::start(&["--clients", &known.to_string()]);
        let server = Protected::start(&issuer, JwtVerifier::discover(&*issuer.name));
        let machine = ["--machine", "machine:a-secret-of-a-machine-long-enough"];
        let report =
            report(sdk, &[&machine[..], &["--issuer", &issuer.name, &server.url]].concat());
        assert_eq!(report["connected"], true, "{report}");
        let whoami = json!({ "isError": false, "text": "machine by machine: mcp" });
        assert_eq!(report["calls"]["whoami"], whoami, "{report}");
    });
}

/// Runs their client to its end.
pub(crate) fn report(sdk: &Sdk, arguments: &[&str]) -> Value {
    let client = Program::start(sdk.command(sdk.signing_in).args(arguments));
    let report = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(client.end(), [""; 0]);
    report
}

/// It listed, called, and asked for more when it was told that it needs more.
fn check(report: &Value, url: &str) {
    assert_eq!(report["connected"], true, "{report}");
    assert_eq!(report["list"], json!(["whoami", "write"]));
    let who = report["calls"]["whoami"]["text"].as_str().unwrap();
    assert!(who.starts_with("user by ") && who.ends_with(": mcp"), "{who}");
    assert_eq!(report["calls"]["write"], json!({ "isError": false, "text": "written" }));
    let mut asked = Vec::new();
    for authorization in report["authorizations"].as_array().unwrap() {
        assert_eq!(authorization["resource"], url);
        asked.push(words(&authorization["scope"]));
    }
    assert_eq!(
        asked,
        [vec!["mcp", "offline_access"], vec!["files:write", "mcp", "offline_access"]]
    );
    assert_eq!(words(&report["token"]["scope"]), ["files:write", "mcp"]);
}

/// The scopes of a list, which has no order, in one.
fn words(list: &Value) -> Vec<&str> {
    let mut words: Vec<_> = list.as_str().unwrap().split(' ').collect();
    words.sort_unstable();
    words
}

fn our_client_on_server(sdk: &Sdk, names: NamesScopes) {
    run_with(sdk, async || {
        let issuer = Issuer::start(&[]);
        let server = Serving::start(sdk.command(sdk.protected).arg(&issuer.name));
        let user = SignsIn::to(&server.url);
        assert_eq!(tools(&user.client).await, ["whoami", "write"]);
        let id = user.client_id().await;
        assert_eq!(user.call("whoami").await, format!("user by {id}: mcp"));
        if names == NamesScopes::Its {
            assert_eq!(user.call("write").await, "written");
            assert_eq!(user.call("whoami").await, format!("user by {id}: mcp files:write"));
        } else {
            // Nobody can know what to ask for, but the application.
            let error = text(&user.client, "write").await.unwrap_err();
            assert_eq!(error.status().unwrap(), 403);
            let user = SignsIn::with(&server.url, |oauth| oauth.scopes(["mcp", "files:write"]));
            assert_eq!(user.call("write").await, "written");
        }
        for asked in issuer.asked("authorization").await {
            assert_eq!(asked.param("resource"), server.url);
        }
        assert_eq!(issuer.asked("authorization").await.len(), 2);
    });
}

fn our_client_renews(sdk: &Sdk) {
    run_with(sdk, async || {
        let issuer = Issuer::start(&[]);
        let server = Serving::start(sdk.command(sdk.protected).arg(&issuer.name));
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        // Its clock is not ours to set: another token, which is as bad as one that has expired.
        let mut stored = user.stored().await;
        stored.granted.as_mut().unwrap().tokens.access_token = "stale".into();
        user.store.save(&server.url, &stored).await.unwrap();
        assert_eq!(text(&user.another(), "whoami").await.unwrap(), said);
        let refreshes = issuer.grants("refresh_token").await;
        let refreshes: Vec<_> =
            refreshes.iter().map(|it| (it.status, it.param("resource"))).collect();
        assert_eq!(refreshes, [(200, &*server.url)]);
        assert_eq!(issuer.asked("authorization").await.len(), 1);
    });
}

// With tokens that the server has to ask about.
fn our_client_signs_in_again(sdk: &Sdk) {
    run_with(sdk, async || {
        let issuer = Issuer::start(&["--format", "opaque"]);
        let mut server = sdk.command(sdk.protected);
        server.args(["--introspect", "resource-server:resource-server-secret", &issuer.name]);
        let server = Serving::start(&mut server);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        issuer.test("revoke", "").await;
        assert_eq!(user.call("whoami").await, said);
        let refreshes = issuer.grants("refresh_token").await;
        assert_eq!(refreshes[0].error.as_deref(), Some("invalid_grant"));
        assert_eq!(issuer.asked("authorization").await.len(), 2);
        assert_eq!(issuer.asked("registration").await.len(), 1);
    });
}

fn run_with<F: Future<Output = ()>>(sdk: &Sdk, test: impl FnOnce() -> F) {
    if is_installed(sdk.installed) {
        run(test);
    }
}
