//! Our client signs in to our server: the code flow, who the client is, and who is let in.

use conformance::client::{Browser, Robot};
use mcp_client::oauth::{
    AuthMethod, AuthorizationUrl, ClientId, LoopbackRedirect, OAuth, Redirect, RedirectHandler,
};
use mcp_client::{BoxError, BoxFuture};
use mcp_server::auth::JwtVerifier;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::oauth::{Asked, Issuer, Protected, SignsIn, run, text, tools, whoami_with};

/// Takes nothing but what the authorization server calls an access token.
fn jwts(issuer: &Issuer) -> JwtVerifier {
    JwtVerifier::discover(&*issuer.name).require_at_jwt()
}

#[test]
fn a_user_signs_in_with_a_browser() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = Protected::start(&issuer, jwts(&issuer));
        let redirect = LoopbackRedirect::new(|url: &AuthorizationUrl| {
            let url = url.as_str().to_owned();
            // What it fails with leaves the sign-in waiting.
            tokio::spawn(async move { Browser::default().follow(&url, None).await });
            Ok::<_, BoxError>(())
        });
        let user = SignsIn::by(&server.url, OAuth::sign_in(redirect), |oauth| oauth);
        assert_eq!(tools(&user.client).await, ["whoami", "write"]);
        let id = user.client_id().await;
        assert_eq!(user.call("whoami").await, format!("user by {id}: mcp"));

        let log = issuer.log().await;
        let way: Vec<_> = log.iter().map(|asked| &*asked.endpoint).collect();
        let expected = ["discovery", "registration", "authorization", "resume", "resume", "token"];
        // The server, too, asks who the issuer is, and for the keys.
        assert_eq!(way[..6], expected);
        let mut rest = way[6..].to_vec();
        rest.sort_unstable();
        assert_eq!(rest, ["discovery", "jwks"]);
        registers(&log[1]);
        let authorization = &log[2];
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", &*id),
            ("resource", &*server.url),
            ("scope", "mcp offline_access"),
            ("prompt", "consent"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(authorization.param(name), value, "{name}");
        }
        assert_eq!(authorization.param("code_challenge").len(), 43);
        let token = log.iter().find(|asked| asked.endpoint == "token").unwrap();
        assert_eq!((token.status, token.client.as_deref()), (200, Some(&*id)));
        assert_eq!(token.param("resource"), server.url);
        assert_eq!(token.param("redirect_uri"), authorization.param("redirect_uri"));
        assert_eq!(token.param("code_verifier").len(), 43);
    });
}

fn registers(asked: &Asked) {
    assert_eq!(asked.status, 201);
    for (name, value) in [
        ("client_name", json!("ours")),
        ("application_type", json!("native")),
        ("grant_types", json!(["authorization_code", "refresh_token"])),
        ("token_endpoint_auth_method", json!("none")),
    ] {
        assert_eq!(asked.params()[name], value, "{name}");
    }
}

// Specification: Token Handling, Access Token Privilege Restriction.
#[test]
fn a_token_is_good_for_one_server() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let one = Protected::start(&issuer, jwts(&issuer));
        let other = Protected::start(&issuer, jwts(&issuer));
        let user = SignsIn::to(&one.url);
        let said = user.call("whoami").await;
        let header = format!("Bearer {}", user.access_token().await);
        assert_eq!(whoami_with(&one.url, &header).await.unwrap(), said);
        let error = whoami_with(&other.url, &header).await.unwrap_err();
        assert_eq!(error.status().unwrap(), 401);
        // One changed byte of the signature.
        let last = if header.ends_with("AA") { "QQ" } else { "AA" };
        let forged = format!("{}{last}", &header[..header.len() - 2]);
        assert_eq!(whoami_with(&one.url, &forged).await.unwrap_err().status().unwrap(), 401);
    });
}

// A code that somebody else has had made goes to no token endpoint. RFC 9207.
#[test]
fn an_answer_of_another_issuer_goes_nowhere() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let server = Protected::start(&issuer, jwts(&issuer));
        let origin = issuer.name.replace("http://", "http%3A%2F%2F").replace(":", "%3A");
        for changes in [
            (format!("&iss={origin}"), "&iss=https%3A%2F%2Fevil.example".to_owned()),
            (format!("&iss={origin}"), format!("&iss={origin}%2F")),
            (format!("&iss={origin}"), String::new()),
            ("state=".to_owned(), "state=x".to_owned()),
        ] {
            let oauth = OAuth::sign_in(Forger { changes: changes.clone() });
            let user = SignsIn::by(&server.url, oauth, |oauth| oauth);
            let error = text(&user.client, "whoami").await.unwrap_err();
            assert!(error.oauth().unwrap().is_mismatch(), "{changes:?}: {error:?}");
        }
        assert_eq!(issuer.asked("authorization").await.len(), 4);
        assert!(issuer.asked("token").await.is_empty());
    });
}

/// Who changes what a user comes back with.
#[derive(Clone)]
struct Forger {
    changes: (String, String),
}

impl RedirectHandler for Forger {
    fn prepare<'a>(
        &'a self,
        _registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Redirect>) })
    }
}

impl Redirect for Forger {
    fn uri(&self) -> &str {
        Robot::REDIRECT
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move {
            let back = Box::new(Robot::default()).authorize(url).await?;
            let (from, to) = &self.changes;
            assert!(back.contains(&**from), "{back} has no {from}");
            Ok(back.replace(&**from, to))
        })
    }
}

#[test]
fn a_user_who_refuses_is_not_asked_again() {
    run(async || {
        let issuer = Issuer::start(&["--consent", "deny"]);
        let server = Protected::start(&issuer, jwts(&issuer));
        let user = SignsIn::to(&server.url);
        for _ in 0..2 {
            let error = text(&user.client, "whoami").await.unwrap_err();
            assert!(error.is_auth());
            assert!(error.oauth().unwrap().is_denied(), "{error:?}");
        }
        assert_eq!(issuer.asked("authorization").await.len(), 1);
        issuer.change(&json!({ "consent": "allow" })).await;
        user.client.sign_in().await.unwrap();
        assert!(user.call("whoami").await.starts_with("user by "));
        assert_eq!(issuer.asked("authorization").await.len(), 2);
    });
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
        let server = Protected::start(&issuer, jwts(&issuer));
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
        let server = Protected::start(&issuer, jwts(&issuer));
        let user = SignsIn::with(&server.url, |oauth| oauth.client_id_metadata(url));
        assert_eq!(user.call("whoami").await, format!("user by {url}: mcp"));
        assert!(issuer.asked("registration").await.is_empty());
    });
}

// Specification: Authorization Server Metadata Discovery.
#[test]
fn an_issuer_with_a_path() {
    run(async || {
        for (metadata, found) in [
            ("oauth", "/.well-known/oauth-authorization-server/tenant1"),
            ("openid", "/.well-known/openid-configuration/tenant1"),
            ("appended", "/tenant1/.well-known/openid-configuration"),
        ] {
            let issuer = Issuer::start(&["--path", "/tenant1", "--metadata", metadata]);
            let server = Protected::start(&issuer, jwts(&issuer));
            let user = SignsIn::to(&server.url);
            assert!(user.call("whoami").await.starts_with("user by "));
            let log = issuer.log().await;
            let documents = log.iter().filter(|asked| asked.status == 200 && asked.path == found);
            assert_eq!(documents.count(), 2, "of the client and of the server");
        }
    });
}
