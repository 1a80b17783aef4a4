//! Nothing that is secret is logged or shown.

use std::sync::Arc;

use mcp_client::oauth::{
    Algorithm, AssertionSource, AuthorizationUrl, ClientId, FileStore, IdentityAssertion,
    IdentityProvider, LoopbackRedirect, MemoryStore, OAuth, SigningKey, TokenStore,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::provider::{AS, Provider, TOKEN};
use crate::support::{Log, Step, World, call, hear, param, story, visit};

/// A browser of the user, that follows the redirect.
fn browser() -> LoopbackRedirect {
    LoopbackRedirect::new(|url: &AuthorizationUrl| {
        let url = url.as_str().to_owned();
        tokio::spawn(async move {
            let back = visit(&url).await.unwrap();
            let (host, target) = back.trim_start_matches("http://").split_once('/').unwrap();
            let mut stream = TcpStream::connect(host).await.unwrap();
            let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
        });
        Ok::<_, std::convert::Infallible>(())
    })
}

#[tokio::test]
async fn nothing_secret_is_logged_or_shown() {
    let log = Log::default();
    let _hears = hear(log.clone());
    let world = World::start().await;
    world.plan().challenge = Some("a".into());
    let store = Arc::new(MemoryStore::new());
    let issuer = format!("http://{}/as", world.host);
    let client = ClientId::confidential("mine", "client-0-s3cret");
    let settings = || {
        let oauth = OAuth::sign_in(browser()).store(Arc::clone(&store));
        oauth.registered(issuer.clone(), client.clone())
    };
    let mut shown = format!("{:?} {client:?} {store:?} {:?}", settings(), browser());
    let client = world.builder().oauth(settings()).build().unwrap();
    call(&client).await.unwrap();

    // All that can go wrong, and be told of.
    world.expire_all();
    call(&client).await.unwrap();
    let wants = r#"Bearer error="insufficient_scope", scope="b""#;
    world.next("POST /mcp", Step::challenge("403 Forbidden", wants));
    call(&client).await.unwrap();
    let credentials = store.load(&world.url).await.unwrap().unwrap();
    shown += &format!("{credentials:?} {client:?}");
    let steps = [
        Step::json("503 Service Unavailable", ""),
        Step::json("400 Bad Request", r#"{"error":"invalid_scope"}"#),
        Step::json("200 OK", r#"{"access_token":"access-0-s3cret\u00e4"}"#),
        Step::json("400 Bad Request", r#"{"error":"invalid_grant"}"#),
    ];
    for step in steps {
        world.expire_all();
        world.next("POST /as/token", step);
        if let Err(error) = call(&client).await {
            shown += &format!("{error:?} {}", story(&error));
        }
    }
    world.next("GET /as/authorize", Step::json("302 Found\r\nlocation: http://127.0.0.1:1/", ""));
    world.expire_all();
    world.revoke_all();
    client.sign_out().await.unwrap();

    let page = world.at("GET /as/authorize")[0].head.clone();
    let state = param(page.split(' ').nth(1).unwrap(), "state").unwrap();
    let verifier = param(&world.at("POST /as/token")[0].body, "code_verifier").unwrap();
    let told = log.lines().join("\n") + &shown;
    // What was planted is there, so that there was something to be shown.
    let sent = world.all().iter().map(|it| it.head.clone() + &it.body).collect::<String>();
    for secret in ["access-2-s3cret", "refresh-2-s3cret", "client-0-s3cret", "code-1-s3cret"] {
        assert!(sent.contains(secret), "{secret}");
    }
    for secret in ["s3cret", &state, &verifier] {
        let found = told.lines().find(|line| line.contains(secret));
        assert_eq!(found, None, "{secret}");
    }
    assert!(log.lines().len() > 10, "{:?}", log.lines());
}

/// The whole way, with the receiver and the file of a real application.
#[tokio::test]
async fn a_whole_sign_in_with_a_browser_and_a_file() {
    let world = World::start().await;
    let folder = std::env::temp_dir().join(format!("mcp-oauth-{}-whole", std::process::id()));
    let store = || FileStore::new(&folder).unwrap();
    let client = world.builder().oauth(OAuth::sign_in(browser()).store(store())).build().unwrap();
    call(&client).await.unwrap();
    // The next start finds the token, and after that the identity with its port.
    let client = world.builder().oauth(OAuth::sign_in(browser()).store(store())).build().unwrap();
    call(&client).await.unwrap();
    assert_eq!(world.count("GET /as/authorize"), 1);
    client.sign_in().await.unwrap();
    assert_eq!((world.count("GET /as/authorize"), world.count("POST /as/register")), (2, 1));
    let uris = world
        .at("GET /as/authorize")
        .into_iter()
        .map(|page| param(page.head.split(' ').nth(1).unwrap(), "redirect_uri").unwrap());
    let uris = uris.collect::<Vec<_>>();
    assert_eq!(uris[0], uris[1]);
    std::fs::remove_dir_all(&folder).unwrap();
}

const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsgFVxoDai74+ceTW
xOxK8+rEWhshMTLI7M8aynaEx1ehRANCAAQVvV2cnQe3qwnX4pzmUH6udyOaUSrl
KiEWZIb2qccvXa5vZfYZ2UpT0sre/ru0pcFq4/gDj35yDhXEWiSWyHCV
-----END PRIVATE KEY-----
";

/// Calls with one grant after the other, through all that can go wrong and be told of.
async fn without_users(server: &Provider, idp: &Provider) -> String {
    let key = SigningKey::from_pem(Algorithm::Es256, KEY.as_bytes()).unwrap();
    let confidential = |id| ClientId::confidential(id, "client-s3cret");
    let assertion = || async { Ok::<_, String>(IdentityAssertion::id_token("identity-s3cret")) };
    let provider = IdentityProvider::new(&idp.origin, confidential("idp"), assertion);
    let source = AssertionSource::new(|_| async { Ok::<_, String>("workload-s3cret") });
    let mut shown = format!("{key:?} {provider:?} {source:?} {:?}", assertion().await);
    let grants = [
        OAuth::client_credentials(&server.origin, ClientId::signing("id", key)),
        OAuth::client_credentials(&server.origin, confidential("id")),
        OAuth::workload_identity(&server.origin, ClientId::public("id"), source),
        OAuth::enterprise(provider, &server.origin, confidential("id")),
    ];
    // What somebody may repeat who has seen what this grant sends.
    let seen =
        ["why", "client-s3cret", "workload-s3cret", "client-s3cret identity-s3cret id-jag-s3cret"];
    for (oauth, repeats) in grants.into_iter().zip(seen) {
        let is_enterprise = repeats.contains("id-jag");
        let store = Arc::new(MemoryStore::new());
        let oauth = oauth.dpop().store(Arc::clone(&store));
        shown += &format!("{oauth:?}");
        let client = server.builder().oauth(oauth).build().unwrap();
        server.guard(&["DPoP"]);
        call(&client).await.unwrap();
        let stored = store.load(&server.url()).await.unwrap().unwrap();
        shown += &format!("{stored:?} {client:?} {store:?}");
        let key = serde_json::to_value(&stored).unwrap()["granted"]["dpop"]["key"].take();
        assert!(!shown.contains(key.as_str().unwrap()));
        for answer in [json!({ "error": "e", "error_description": repeats }), Value::Null] {
            let asked = if is_enterprise { &[idp, server][..] } else { &[server] };
            for provider in asked {
                provider.once(TOKEN, "400 Bad Request", &answer);
                server.refuse("401 Unauthorized", &["DPoP"]);
                if let Err(error) = call(&client).await {
                    shown += &format!("{error:?} {}", story(&error));
                }
            }
        }
    }
    shown
}

#[tokio::test]
async fn nothing_secret_of_those_without_users_is_logged_or_shown() {
    let log = Log::default();
    let _hears = hear(log.clone());
    let (server, idp) = (Provider::start().await, Provider::start().await);
    let metadata = json!({ "dpop_signing_alg_values_supported": ["ES256"] });
    server.on(AS, "200 OK", &server.metadata(&metadata));
    let bound = json!({ "access_token": "access-s3cret", "token_type": "DPoP" });
    server.on(TOKEN, "200 OK", &bound);
    let issued = json!({
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "access_token": "id-jag-s3cret",
    });
    idp.on(TOKEN, "200 OK", &issued);
    let told = without_users(&server, &idp).await + &log.lines().join("\n");

    let sent = format!("{:?} {:?}", server.asked(), idp.asked());
    for secret in ["access-s3cret", "id-jag-s3cret", "identity-s3cret", "workload-s3cret"] {
        assert!(sent.contains(secret), "{secret}");
    }
    let key = KEY.lines().nth(1).unwrap();
    assert!(!told.contains("s3cret") && !told.contains(key) && !sent.contains(key));
    let mut signed = 0;
    for asked in server.asked() {
        let proof = asked.header("dpop").map(str::to_owned);
        for token in proof.into_iter().chain(asked.param("client_assertion")) {
            assert!(!told.contains(&token));
            signed += 1;
        }
    }
    assert!(signed > 8 && log.lines().len() > 10, "{signed} {:?}", log.lines());
}
