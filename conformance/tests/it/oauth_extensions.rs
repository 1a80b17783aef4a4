//! What extensions add to signing in: tokens that are bound to a key, and clients without a user.

use mcp_client::oauth::{Algorithm, AuthMethod, ClientId, OAuth, SigningKey};
use mcp_server::auth::{Dpop, JwtVerifier, NonceKey};
use serde_json::{Value, json};

use crate::interop::TYPESCRIPT;
use crate::oauth::{Issuer, Protected, SignsIn, introspection, run, text, tools, whoami_with};
use crate::oauth_peers::report;

/// Takes bound tokens alone, and wants a nonce of its own in each proof.
fn bound(issuer: &Issuer) -> Protected {
    let tokens = JwtVerifier::discover(&*issuer.name);
    let nonces = NonceKey::random().unwrap();
    Protected::start(issuer, Dpop::new(tokens).required().nonces(&nonces))
}

// RFC 9449, sections 8 and 9: both servers have nonces, and each its own.
#[test]
fn bound_tokens_with_nonces_of_both_servers() {
    run(async || {
        let issuer = Issuer::start(&["--dpop-nonce"]);
        let server = bound(&issuer);
        // Nothing is set: the server's metadata asks for it.
        let user = SignsIn::to(&server.url);
        assert_eq!(tools(&user.client).await, ["whoami", "write"]);
        let said = user.call("whoami").await;
        assert!(said.ends_with(": mcp"), "{said}");
        assert_eq!(user.stored().await.granted.unwrap().tokens.token_type, "DPoP");
        let tokens = issuer.asked("token").await;
        assert!(tokens.iter().all(|asked| asked.dpop));
        let ends: Vec<_> = tokens.iter().map(|asked| asked.error.as_deref()).collect();
        assert_eq!(ends, [Some("use_dpop_nonce"), None]);

        assert_eq!(user.call("write").await, "written");
        assert_eq!(issuer.asked("authorization").await.len(), 2);

        // Whoever steals the token has no key.
        let token = user.access_token().await;
        for scheme in ["Bearer", "DPoP"] {
            let error = whoami_with(&server.url, &format!("{scheme} {token}")).await.unwrap_err();
            assert_eq!(error.status().unwrap(), 401, "{scheme}");
        }
        // And of the refresh token of a public client, which is bound as well.
        let (stolen, id) = (user.refresh_token().await, user.client_id().await);
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &*stolen),
            ("client_id", &*id),
            ("resource", &*server.url),
        ];
        assert_eq!(issuer.post("/token", &form).await.0, 400);
    });
}

#[test]
fn a_bound_token_is_renewed_with_its_key() {
    run(async || {
        let issuer = Issuer::start(&["--dpop-nonce"]);
        let server = bound(&issuer);
        let user = SignsIn::to(&server.url);
        let said = user.call("whoami").await;
        let old = user.access_token().await;
        // The key is stored with the tokens: whoever comes later has it.
        user.nearly_expire().await;
        assert_eq!(text(&user.another(), "whoami").await.unwrap(), said);
        assert_ne!(user.access_token().await, old);
        let refreshes = issuer.grants("refresh_token").await;
        assert!(refreshes.iter().all(|asked| asked.dpop));
        assert_eq!(refreshes.last().unwrap().status, 200);
        assert_eq!(issuer.asked("authorization").await.len(), 1);
    });
}

#[test]
fn bound_tokens_at_a_server_that_takes_others_as_well() {
    run(async || {
        let issuer = Issuer::start(&[]);
        let tokens = JwtVerifier::discover(&*issuer.name);
        let server = Protected::start(&issuer, Dpop::new(tokens));
        // It says that it takes both, and the better one first.
        let user = SignsIn::to(&server.url);
        user.call("whoami").await;
        assert_eq!(user.stored().await.granted.unwrap().tokens.token_type, "DPoP");
        // Nobody has to be able to.
        let report = report(&TYPESCRIPT, &[&server.url]);
        assert_eq!(report["calls"]["write"]["text"], "written", "{report}");
        assert_eq!(report["token"]["tokenType"], "Bearer");
    });
}

// The answer about such a token says what it is bound to.
#[test]
fn bound_tokens_that_say_nothing_themselves() {
    run(async || {
        let issuer = Issuer::start(&["--format", "opaque"]);
        let server = Protected::start(&issuer, Dpop::new(introspection(&issuer)).required());
        let user = SignsIn::to(&server.url);
        assert!(user.call("whoami").await.ends_with(": mcp"));
        let token = user.access_token().await;
        let error = whoami_with(&server.url, &format!("DPoP {token}")).await.unwrap_err();
        assert_eq!(error.status().unwrap(), 401);
        // Nor is it one that its holder need not prove, where there are such.
        let other = Protected::start(&issuer, introspection(&issuer).audience(&*server.url));
        let error = whoami_with(&other.url, &format!("Bearer {token}")).await.unwrap_err();
        assert_eq!(error.status().unwrap(), 401);
    });
}

// Extension: OAuth Client Credentials.
#[test]
fn clients_without_a_user() {
    run(async || {
        let key = SigningKey::generate(Algorithm::Es256).unwrap().with_key_id("one");
        let public: Value = serde_json::to_value(key.public_jwk()).unwrap();
        let machine = |id: &str, method: &str| {
            json!({
                "client_id": id, "token_endpoint_auth_method": method,
                "grant_types": ["client_credentials"], "redirect_uris": [], "response_types": [],
            })
        };
        let mut known = [
            machine("basic", "client_secret_basic"),
            machine("post", "client_secret_post"),
            machine("key", "private_key_jwt"),
        ];
        for client in &mut known[..2] {
            client["client_secret"] = SECRET.into();
        }
        known[2]["jwks"] = json!({ "keys": [public] });
        known[2]["token_endpoint_auth_signing_alg"] = "ES256".into();
        let issuer = Issuer::start(&["--clients", &json!(known).to_string()]);
        let server = Protected::start(&issuer, JwtVerifier::discover(&*issuer.name));
        for (client, scheme, has) in [
            (ClientId::confidential("basic", SECRET), Some("Basic"), None),
            (
                ClientId::confidential("post", SECRET).auth_method(AuthMethod::SecretPost),
                None,
                Some("client_secret"),
            ),
            (ClientId::signing("key", key), None, Some("client_assertion")),
        ] {
            let id = client.id().to_owned();
            let oauth = OAuth::client_credentials(&*issuer.name, client);
            let user = SignsIn::by(&server.url, oauth, |oauth| oauth);
            assert_eq!(user.call("whoami").await, format!("{id} by {id}: mcp"));
            assert_eq!(user.call("write").await, "written");
            server.expire_tokens(&issuer).await;
            assert_eq!(user.call("write").await, "written");
            let asked = issuer.grants("client_credentials").await;
            let asked: Vec<_> =
                asked.iter().filter(|asked| asked.client.as_ref() == Some(&id)).collect();
            assert_eq!(asked.len(), 3, "for a token, for more, and for another");
            for token in asked {
                assert_eq!((token.status, token.param("resource")), (200, &*server.url));
                assert_eq!(token.scheme.as_deref(), scheme);
                for name in ["client_secret", "client_assertion"] {
                    assert_eq!(!token.param(name).is_empty(), has == Some(name), "{id}: {name}");
                }
            }
        }
        assert!(issuer.asked("authorization").await.is_empty());
    });
}

#[test]
fn a_client_without_a_user_whose_secret_is_wrong() {
    run(async || {
        let known = json!([{
            "client_id": "basic", "client_secret": SECRET,
            "grant_types": ["client_credentials"], "redirect_uris": [], "response_types": [],
        }]);
        let issuer = Issuer::start(&["--clients", &known.to_string()]);
        let server = Protected::start(&issuer, JwtVerifier::discover(&*issuer.name));
        let client =
            ClientId::confidential("basic", "another").auth_method(AuthMethod::SecretBasic);
        let oauth = OAuth::client_credentials(&*issuer.name, client);
        let user = SignsIn::by(&server.url, oauth, |oauth| oauth);
        let error = text(&user.client, "whoami").await.unwrap_err();
        let said = error.oauth().unwrap().provider().unwrap();
        assert_eq!(&*said.code, "invalid_client");
        assert!(!format!("{error:?}").contains("another"));
        assert_eq!(issuer.asked("token").await.len(), 1);
    });
}

const SECRET: &str = "a secret of a machine, long enough";
