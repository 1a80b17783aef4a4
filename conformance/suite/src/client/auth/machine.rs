//! Grants in which no user takes part. Extensions: OAuth Client Credentials, Enterprise-Managed Authorization.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::super::{Answer, Cx, Seen};
use super::jws::{Key, unsigned};
use super::params::Params;
use super::refresh::expiring;
use super::registered::has_basic;
use super::trail::Trail;
use super::visit::Place;
use super::world::World;
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-credentials-jwt", Http, jwt),
    client_check!("client-credentials-secret", Http, secret),
    client_check!("client-enterprise-token-exchange", Http, token_exchange),
    client_check!("client-enterprise-jwt-bearer", Http, jwt_bearer),
];

/// An issuer that knows its clients and has them prove who they are in one of these ways.
fn closed(methods: &[&str]) -> World {
    World::new().metadata(json!({
        "client_id_metadata_document_supported": null, "registration_endpoint": null,
        "grant_types_supported": ["client_credentials", JWT_BEARER, "authorization_code"],
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
    }))
}

/// The token requests with this grant; skips if there is none.
fn requests<'t>(trail: &'t Trail, grant: &str, what: &str) -> Verdict<Vec<(&'t Seen, Params)>> {
    let forms = trail.at(Place::Token).map(|seen| (seen, Params::of_form(seen)));
    let forms = forms.filter(|(_, form)| form.text("grant_type") == grant).collect::<Vec<_>>();
    if forms.is_empty() {
        return Err(Stop::skip(format!("the client does not do {what}")));
    }
    Ok(forms)
}

/// No user was asked and nobody registered, and the server was called with the tokens.
fn alone(trail: &Trail, grant: &str) -> Verdict {
    trail.went_on(grant)?;
    let with_user = trail.at(Place::Authorize).chain(trail.at(Place::Register)).next();
    expect(with_user.is_none(), "neither authorization request nor registration", trail.way())?;
    for seen in trail.at(Place::Token) {
        let media_type = seen.head.as_ref().map(|head| head.media_type()).unwrap_or_default();
        let is_form = media_type == "application/x-www-form-urlencoded";
        expect(is_form && seen.http_method() == "POST", "a form by POST", media_type)?;
    }
    let headers = trail.at(Place::Mcp).filter_map(|seen| seen.header("Authorization"));
    let is_access = |header: &str| header.contains("access-") && header.contains("-s3cret");
    let other = headers.into_iter().find(|header| !is_access(header));
    expect(other.is_none(), "no token for the server but access tokens", other.unwrap_or_default())
}

fn names_resource(seen: &Seen, form: &Params) -> Verdict {
    let due = format!("{}/mcp", seen.origin);
    let named = form.all("resource").collect::<Vec<_>>();
    expect(named == [&*due], format!("once the resource {due}"), format!("{named:?}"))
}

const SERVICE: &str = "client_credentials";

async fn jwt(cx: Cx) -> Verdict {
    let key = Key::new()?;
    let told = json!({
        "grant": "client-credentials", "issuer": "{origin}", "client_id": "service",
        "private_key_pem": key.pem, "signing_algorithm": "ES256",
    });
    let world = expiring(closed(&["private_key_jwt", "client_secret_basic"])).told(told);
    let trail = world.token(json!({ "refresh_token": null })).play(&cx).await?;
    let requests = requests(&trail, SERVICE, "client credentials")?;
    alone(&trail, SERVICE)?;
    let mut ids: Vec<String> = Vec::new();
    for (seen, form) in requests {
        names_resource(seen, &form)?;
        let kind = form.text("client_assertion_type");
        expect(kind == ASSERTION, format!("client_assertion_type {ASSERTION}"), kind)?;
        let has_secret =
            form.get("client_secret").is_some() || seen.header("Authorization").is_some();
        expect(!has_secret, "no secret besides the assertion", form.encode())?;
        let (header, claims) = key.verified(form.text("client_assertion"))?;
        expect(at(&header, "/alg") == "ES256", "alg ES256", shown(&header))?;
        are_right(&cx, &claims, &seen.origin)?;
        // RFC 7523, section 3: a jti may be there, and then it is what tells the assertions apart.
        let id = at(&claims, "/jti").as_str().unwrap_or_default().to_owned();
        cx.warnings.unless(!id.is_empty(), "a jti", shown(&claims));
        let is_new = id.is_empty() || !ids.contains(&id);
        expect(is_new, format!("a jti other than {ids:?}"), shown(&claims))?;
        ids.push(id);
    }
    Ok(())
}

/// The claims are those of the client `service`, for the issuer, for a time.
fn are_right(cx: &Cx, claims: &Value, origin: &str) -> Verdict {
    let is_own = |name| at(claims, name) == "service";
    expect(is_own("/iss") && is_own("/sub"), "iss and sub \"service\"", shown(claims))?;
    let audience = at(claims, "/aud");
    let audience = audience.as_array().and_then(|all| all.first()).unwrap_or(audience);
    let is_issuer =
        [origin, &format!("{origin}/"), &format!("{origin}/token")].iter().any(|it| audience == it);
    expect(is_issuer, format!("aud {origin}"), shown(claims))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    let left = at(claims, "/exp").as_f64().unwrap_or_default() - now;
    cx.warnings.unless(left < 3660.0, "exp within an hour from now", shown(claims));
    expect(left > 0.0, "exp, later than now", shown(claims))
}

async fn secret(cx: Cx) -> Verdict {
    let (id, secret) = ("service:1", "a%b+c d\u{e4}");
    for method in ["client_secret_basic", "client_secret_post"] {
        let told = json!({
            "grant": "client-credentials", "issuer": "{origin}", "client_id": id, "client_secret": secret,
        });
        let trail = closed(&[method]).told(told).play(&cx).await?;
        let requests = requests(&trail, SERVICE, "client credentials")?;
        alone(&trail, SERVICE)?;
        for (seen, form) in requests {
            names_resource(seen, &form)?;
            if method == "client_secret_basic" {
                has_basic(seen, id, secret)?;
                continue;
            }
            let is_in_body = form.text("client_id") == id && form.text("client_secret") == secret;
            let expected = format!("{id:?} and {secret:?} in the body, and there only");
            let has_header = seen.header("Authorization").is_some();
            expect(is_in_body && !has_header, expected, form.encode())?;
        }
    }
    Ok(())
}

/// A user has signed in with the enterprise, whose provider at `/idp` lets the client in with an issuer at `/as`.
async fn enterprise(cx: &Cx) -> Verdict<(Trail, String, String)> {
    let claims = json!({
        "iss": "https://idp.example", "sub": "user", "aud": "app", "exp": 4_102_444_800_u64,
    });
    let id_token = unsigned(&claims);
    let grant = unsigned(&json!({ "iss": "https://idp.example", "jti": "grant" }));
    let told = json!({
        "grant": "enterprise-managed-authorization", "issuer": "{origin}/as",
        "client_id": "app:at server", "client_secret": "a%b+c d",
        "idp_issuer": "{origin}/idp", "idp_token_endpoint": "{origin}/idp/token",
        "idp_client_id": "app", "idp_id_token": id_token,
    });
    let given = grant.clone();
    let world = closed(&["client_secret_basic"]).issuers(&["/as"]).told(told);
    let world = world.bend(Place::Token, move |visit| {
        let given = json!({
            "issued_token_type": ID_JAG, "access_token": given, "token_type": "N_A",
            "expires_in": 300,
        });
        (visit.issuer == "/idp").then(|| Answer::json(given))
    });
    Ok((world.play(cx).await?, id_token, grant))
}

async fn token_exchange(cx: Cx) -> Verdict {
    let (trail, id_token, _) = enterprise(&cx).await?;
    let requests = requests(&trail, EXCHANGE, "enterprise-managed authorization")?;
    let first = trail.token_request()?;
    expect(Place::issuer(first) == "/idp", "the provider asked first", trail.way())?;
    for (seen, form) in requests {
        expect(Place::issuer(seen) == "/idp", "the provider's token endpoint", seen.target())?;
        let origin = &seen.origin;
        let due = [
            ("requested_token_type", ID_JAG.to_owned()),
            ("audience", format!("{origin}/as")),
            ("resource", format!("{origin}/mcp")),
            ("subject_token", id_token.clone()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
        ];
        for (name, due) in due {
            let found = form.all(name).collect::<Vec<_>>();
            expect(found == [&*due], format!("once {name} {due}"), format!("{found:?}"))?;
        }
        let by_header = seen.header("Authorization").is_some();
        let names_client = by_header || form.text("client_id") == "app";
        expect(names_client, "client_id \"app\"", form.encode())?;
        let actor = form.get("actor_token");
        expect(actor.is_none(), "no actor_token", actor.unwrap_or_default())?;
    }
    let mut others = trail.requests.iter().filter(|seen| Place::issuer(seen) != "/idp");
    let stray = others.find(|seen| seen.mentions(&id_token)).map(Seen::target);
    expect(stray.is_none(), "the ID token only at the provider", stray.unwrap_or_default())
}

async fn jwt_bearer(cx: Cx) -> Verdict {
    let (trail, _, grant) = enterprise(&cx).await?;
    requests(&trail, EXCHANGE, "enterprise-managed authorization")?;
    alone(&trail, JWT_BEARER)?;
    let forms = trail.at(Place::Token).filter(|seen| Place::issuer(seen) == "/as");
    for seen in forms {
        let form = Params::of_form(seen);
        let kind = form.text("grant_type");
        expect(kind == JWT_BEARER, format!("grant_type {JWT_BEARER}"), kind)?;
        let assertion = form.all("assertion").collect::<Vec<_>>();
        expect(assertion == [&*grant], format!("once assertion {grant}"), form.encode())?;
        has_basic(seen, "app:at server", "a%b+c d")?;
    }
    Ok(())
}

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
