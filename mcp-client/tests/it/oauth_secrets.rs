//! Nothing that is secret is logged or shown.

use std::sync::Arc;

use mcp_client::oauth::{
    AuthorizationUrl, ClientId, FileStore, LoopbackRedirect, MemoryStore, OAuth, TokenStore,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

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
