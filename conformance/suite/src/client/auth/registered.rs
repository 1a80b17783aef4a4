//! Who the client is to an issuer that knows it already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::super::{Cx, Seen};
use super::params::{Params, decoded};
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-preregistered", Http, preregistered),
    client_check!("client-auth-preregistered-other-issuer", Http, other_issuer),
];

/// An issuer that takes only clients it knows.
fn closed() -> World {
    World::new().metadata(json!({
        "client_id_metadata_document_supported": null, "registration_endpoint": null,
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    }))
}

async fn preregistered(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let known = [("known", "plain-s3cret"), ("known client", "a:b%c+d e/&"), ("a:b", "\u{e4}")];
    for (id, secret) in known {
        let told = json!({ "issuer": "{origin}", "client_id": id, "client_secret": secret });
        let trail = closed().told(told).play(&cx).await?;
        let after = format!("the credentials {id:?} and {secret:?}");
        trail.went_on(&after)?;
        let asked = trail.authorization(0)?;
        expect(
            asked.text("client_id") == id,
            format!("client_id {id:?}"),
            asked.text("client_id"),
        )?;
        has_basic(trail.token_request()?, id, secret)?;
        let registered = trail.at(Place::Register).next();
        expect(registered.is_none(), format!("no registration after {after}"), trail.way())?;
    }
    Ok(())
}

/// The client says by HTTP Basic who it is, escaped as in forms, and does not repeat its secret in the body. OAuth 2.1,
/// Client Secret.
pub(super) fn has_basic(seen: &Seen, id: &str, secret: &str) -> Verdict {
    let header = seen.header("Authorization").unwrap_or_default();
    let pair = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let pair = pair.and_then(|(_, pair)| STANDARD.decode(pair).ok());
    let pair = pair.and_then(|pair| String::from_utf8(pair).ok()).unwrap_or_default();
    let (found, password) = pair.split_once(':').unwrap_or_default();
    let is_right = decoded(found) == id && decoded(password) == secret;
    let expected = format!("Basic with {id:?} and {secret:?}, each escaped as in a form");
    expect(is_right, expected, format!("{header:?}, which is {pair:?}"))?;
    let form = Params::of_form(seen);
    let is_once = form.get("client_secret").is_none();
    expect(is_once, "no client_secret in the body besides", String::from_utf8_lossy(&seen.body))
}

async fn other_issuer(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let other = "https://other.example.com";
    let (id, secret) = ("known-elsewhere", "s3cret-of-elsewhere");
    for world in [closed(), super::registration::registering()] {
        let told = json!({ "issuer": other, "client_id": id, "client_secret": secret });
        let trail = world.told(told).play(&cx).await?;
        trail.came_to(Place::Issuer, "credentials of another issuer")?;
        trail.ended("credentials of another issuer")?;
        let secret = STANDARD.encode(format!("{id}:{secret}"));
        let shown = trail.requests.iter().find(|seen| {
            [id, "s3cret-of-elsewhere", &*secret].iter().any(|text| seen.mentions(text))
        });
        let expected = format!("nothing here that belongs to {other}");
        let seen = || shown.map(|seen| seen.target().to_owned()).unwrap_or_default();
        expect(shown.is_none(), expected, seen())?;
        let anew = trail.at(Place::Register).next().is_some();
        let told = trail.step(0)?;
        let expected = "an error where known credentials do not fit";
        cx.warnings.unless(anew || told.get("error").is_some(), expected, trail.way());
    }
    Ok(())
}
