//! Our client signs in to our server: the code flow, and who is let in.

use conformance::client::{Browser, Robot};
use mcp_client::oauth::{AuthorizationUrl, LoopbackRedirect, OAuth, Redirect, RedirectHandler};
use mcp_client::{BoxError, BoxFuture};
use mcp_server::auth::JwtVerifier;
use serde_json::json;

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
        // With the end of its signature changed.
        let last = if header.ends_with("AA") { "QQ" } else { "AA" };
        let mut forged = header.clone();
        forged.truncate(forged.len() - last.len());
        forged.push_str(last);
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
