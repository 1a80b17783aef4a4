//! Tokens that are bound to a key: good with a proof that the client holds it, and without one not. RFC 9449.

use serde_json::{Value, json};

use super::{AUTHORIZATION, own, protected, served, unauthorized};
use crate::check::{Check, server_check};
use crate::issuer::{Key, key, now};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict};
use crate::wire::Reply;

pub(in crate::server) const CHECKS: &[Check] =
    &[server_check!("server-auth-bound-token", Http, bound_token)];

/// A token, the key that it is bound to, and the nonce of the server, if it wants one.
struct Bound {
    key: Key,
    token: String,
    nonce: Value,
}

impl Bound {
    fn new(cx: &Cx) -> Verdict<Self> {
        let key = Key::random();
        let token = own(cx)?.token(&json!({ "cnf": { "jkt": key.thumbprint() } }));
        Ok(Self { key, token, nonce: Value::Null })
    }

    /// The claims of a proof that is right.
    fn claims(&self, cx: &Cx) -> Verdict<Value> {
        let url = own(cx)?.resource().split(['?', '#']).next().unwrap_or_default();
        Ok(json!({
            "htm": "POST",
            "htu": url,
            "iat": now(),
            "jti": key::unique(),
            "ath": key::hashed(&self.token),
            "nonce": self.nonce,
        }))
    }

    /// A proof, signed by `signer` with changes of header and claims.
    fn proof(&self, cx: &Cx, signer: &Key, header: &Value, claims: &Value) -> Verdict<String> {
        let usual = json!({ "typ": "dpop+jwt", "kid": null, "jwk": signer.jwk() });
        let claims = key::merged(self.claims(cx)?, claims);
        Ok(signer.sign(&key::merged(usual, header), &claims))
    }

    async fn ask(&self, cx: &Cx, scheme: &str, proofs: &[&str]) -> Verdict<Reply> {
        let discover = cx.post(&cx.request("server/discover"))?;
        let post = discover.set(AUTHORIZATION, format!("{scheme} {}", self.token));
        cx.send(&proofs.iter().fold(post, |post, proof| post.header("DPoP", *proof))).await
    }

    /// Asks with a right proof, and once more with the nonce that the server may want.
    async fn ask_rightly(&mut self, cx: &Cx) -> Verdict<(Reply, String)> {
        let proof = self.proof(cx, &self.key, &json!({}), &json!({}))?;
        let reply = self.ask(cx, "DPoP", &[&proof]).await?;
        let nonce = reply.head.as_ref().and_then(|head| head.get("DPoP-Nonce"));
        let Some(nonce) = nonce.filter(|_| reply.status() == Some(401)) else {
            return Ok((reply, proof));
        };
        self.nonce = nonce.into();
        let proof = self.proof(cx, &self.key, &json!({}), &json!({}))?;
        Ok((self.ask(cx, "DPoP", &[&proof]).await?, proof))
    }
}

async fn bound_token(cx: Cx) -> Verdict {
    let challenges = unauthorized(&protected(&cx).await?)?;
    let Some(offered) = challenges.iter().find(|it| it.is_of("DPoP")) else {
        return Err(Stop::skip("the server does not offer DPoP in its challenge"));
    };
    if offered.get("algs").is_some_and(|algs| algs.split(' ').all(|it| it != "ES256")) {
        return Err(Stop::skip("the server takes no proofs by ES256"));
    }
    let mut bound = Bound::new(&cx)?;
    let (reply, proof) = bound.ask_rightly(&cx).await?;
    served(&reply).of("the token with its proof")?;
    let is_refused = |name: &str, reply: Reply| unauthorized(&reply).map(drop).of(name);
    is_refused("as a bearer token", bound.ask(&cx, "Bearer", &[]).await?)?;
    let with_proof = bound.proof(&cx, &bound.key, &json!({}), &json!({}))?;
    is_refused(
        "as a bearer token beside a proof",
        bound.ask(&cx, "Bearer", &[&with_proof]).await?,
    )?;
    is_refused("without a proof", bound.ask(&cx, "DPoP", &[]).await?)?;
    is_refused("with two proofs", bound.ask(&cx, "DPoP", &[&with_proof, &with_proof]).await?)?;
    let again = bound.ask(&cx, "DPoP", &[&proof]).await?;
    cx.warnings.unless(
        again.status() == Some(401),
        "a proof that is used again: status 401",
        again.told(),
    );
    for (name, header, claims) in wrong(&cx)? {
        let proof = bound.proof(&cx, &bound.key, &header, &claims)?;
        is_refused(name, bound.ask(&cx, "DPoP", &[&proof]).await?)?;
    }
    let other = Key::random();
    let of_other = bound.proof(&cx, &other, &json!({}), &json!({}))?;
    is_refused("with a proof of another key", bound.ask(&cx, "DPoP", &[&of_other]).await?)?;
    let borrowed = bound.proof(&cx, &other, &json!({ "jwk": bound.key.jwk() }), &json!({}))?;
    is_refused("with a proof that another key signed", bound.ask(&cx, "DPoP", &[&borrowed]).await?)
}

/// What makes a proof wrong: changes of its header and of its claims.
fn wrong(cx: &Cx) -> Verdict<Vec<(&'static str, Value, Value)>> {
    let origin = cx.endpoint()?.origin();
    Ok(vec![
        ("a proof for GET", json!({}), json!({ "htm": "GET" })),
        ("a proof for another URL", json!({}), json!({ "htu": format!("{origin}/elsewhere") })),
        ("a proof for another token", json!({}), json!({ "ath": key::hashed("another") })),
        ("a proof for no token", json!({}), json!({ "ath": null })),
        ("a proof of an hour ago", json!({}), json!({ "iat": now() - 3600 })),
        ("a proof of an hour from now", json!({}), json!({ "iat": now() + 3600 })),
        ("a proof without jti", json!({}), json!({ "jti": null })),
        ("a proof of another type", json!({ "typ": "JWT" }), json!({})),
        ("a proof by no algorithm", json!({ "alg": "none" }), json!({})),
        ("a proof without its key", json!({ "jwk": null }), json!({})),
    ])
}
