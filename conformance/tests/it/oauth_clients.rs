//! Who our client is to the authorization server: known, a document, registered, or forgotten.

use conformance::client::Robot;
use mcp_client::oauth::{AuthMethod, ClientId};
use mcp_server::auth::JwtVerifier;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::oauth::{Issuer, Protected, SignsIn, run, text};

fn jwts(issuer: &Issuer) -> Protected {
    Protected::start(issuer, JwtVerifier::discover(&*issuer.name))
}

#[test]
fn clients_that_are_known_already() {
    run(async || {
        let client = |id: &str, method: &str| {
            json!({
                "client_id": id, "client_secret": SECRET, "token_endpoint_auth_method": method,
                "grant_types": ["authorization_code", "refresh_token"],
                "redirect_uris": [Robot::REDIRECT],
            })
        };
        let mut public = client("public", "none");
        public["client_secret"].take();
        public.as_object_mut().unwrap().retain(|_, value| *value != Value::Null);
        let known = json!([
            public,
            client("basic", "client_secret_basic"),
            client("post", "client_secret_post")
        ]);
        let issuer = Issuer::start(&["--no-registration", "--clients", &known.to_string()]);
        let server = jwts(&issuer);
        for (client, scheme, secret) in [
            (ClientId::public("public"), None, ""),
            (ClientId::confidential("basic", SECRET), Some("Basic"), ""),
            (
                ClientId::confidential("post", SECRET).auth_method(AuthMethod::SecretPost),
                None,
                SECRET,
            ),
        ] {
            let id = client.id().to_owned();
            let user = SignsIn::with(&server.url, |oauth| oauth.registered(&*issuer.name, client));
            assert_eq!(user.call("whoami").await, format!("user by {id}: mcp"));
            server.expire_tokens(&issuer).await;
            assert_eq!(user.call("whoami").await, format!("user by {id}: mcp"));
            let asked = issuer.asked("token").await;
            let (first, again) = (&asked[asked.len() - 2], &asked[asked.len() - 1]);
            assert_eq!(again.param("grant_type"), "refresh_token");
            for token in [first, again] {
                assert_eq!(token.client.as_ref(), Some(&id));
                assert_eq!(token.scheme.as_deref(), scheme, "{id}");
                assert_eq!(token.param("client_secret"), secret, "{id}");
            }
        }
        assert!(issuer.asked("registration").await.is_empty());
    });
}

/// It has what the two ways escape in different manners.
const SECRET: &str = "s3cret of+50%:/and & more, in any case long enough";

#[test]
fn a_client_whose_identity_is_a_document() {
    run(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let url = "https://client.example/metadata.json";
        let document = json!({
            "client_id": url, "client_name": "ours", "redirect_uris": [Robot::REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"], "token_endpoint_auth_method": "none",
        })
        .to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let length = document.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{document}"
                );
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let fetch = format!("https://client.example={origin}");
        let issuer = Issuer::start(&["--fetch", &fetch]);
        let server = jwts(&issuer);
        let user = SignsIn::with(&server.url, |oauth| oauth.client_id_metadata(url));
        assert_eq!(user.call("whoami").await, format!("user by {url}: mcp"));
        assert!(issuer.asked("registration").await.is_empty());
    });
}

#[test]
fn an_issuer_that_takes_no_strange_scopes_at_registration() {
    run(async || {
        let issuer = Issuer::start(&["--strict-registration"]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        assert!(user.call("whoami").await.ends_with(": mcp"));
        assert_eq!(user.call("write").await, "written");
        let asked = issuer.asked("registration").await;
        assert_eq!(asked.last().unwrap().status, 201);
        assert!(asked.len() <= 2, "{asked:?}");
    });
}

// It gets a secret and proves by it who it is.
#[test]
fn an_issuer_that_wants_every_client_to_have_a_secret() {
    run(async || {
        for (method, scheme) in
            [("client_secret_basic", Some("Basic")), ("client_secret_post", None)]
        {
            let issuer = Issuer::start(&["--auth-methods", method]);
            let server = jwts(&issuer);
            let user = SignsIn::to(&server.url);
            let said = user.call("whoami").await;
            server.expire_tokens(&issuer).await;
            assert_eq!(user.call("whoami").await, said);
            for token in issuer.asked("token").await {
                assert_eq!((token.status, token.scheme.as_deref()), (200, scheme), "{method}");
                assert_eq!(token.param("client_secret").is_empty(), scheme.is_some());
            }
        }
    });
}

#[test]
fn a_client_that_was_forgotten_registers_again() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        user.call("whoami").await;
        let old = user.client_id().await;
        issuer.test("forget-clients", "").await;
        server.expire_tokens(&issuer).await;
        let said = user.call("whoami").await;
        assert_ne!(user.client_id().await, old);
        assert_eq!(said, format!("user by {}: mcp", user.client_id().await));
        assert_eq!(issuer.asked("registration").await.len(), 2);
    });
}

#[test]
fn an_issuer_at_which_there_is_no_way_to_be_known() {
    run(async || {
        let issuer = Issuer::start(&["--no-registration", "--no-cimd"]);
        let server = jwts(&issuer);
        let user = SignsIn::to(&server.url);
        let error = text(&user.client, "whoami").await.unwrap_err();
        assert!(error.oauth().unwrap().is_registration(), "{error:?}");
        assert!(issuer.asked("authorization").await.is_empty());
    });
}
