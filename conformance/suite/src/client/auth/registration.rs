//! Who the client is to an issuer that does not know it yet.

use serde_json::{Value, json};

use super::super::{Answer, Cx, Seen};
use super::trail::Trail;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-cimd", Http, cimd),
    client_check!("client-auth-cimd-unadvertised", Http, cimd_unadvertised),
    client_check!("client-auth-registration-priority", Http, priority),
    client_check!("client-auth-dcr", Http, dcr),
    client_check!("client-auth-dcr-refused", Http, dcr_refused),
];

/// A world in which clients register, and documents do not count.
pub(super) fn registering() -> World {
    World::new().metadata(json!({ "client_id_metadata_document_supported": null }))
}

async fn cimd(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = World::new().play(&cx).await?;
    trail.went_on("metadata that know of documents")?;
    let id = trail.authorization(0)?.text("client_id").to_owned();
    let registered = trail.at(Place::Register).next();
    let seen = || registered.map(|seen| shown(&seen.message)).unwrap_or_default();
    cx.warnings.unless(registered.is_none(), "a document's URL, and no registration", seen());
    if registered.is_some() {
        return Ok(());
    }
    let (host, path) = id.strip_prefix("https://").and_then(|it| it.split_once('/')).unzip();
    let is_url = host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        && path.is_some_and(|path| !path.is_empty() && !path.contains('#'));
    let is_plain = id.split('/').all(|segment| !matches!(segment, "." | ".."));
    let expected = "an https URL with a path as client_id, without fragment and user";
    expect(is_url && is_plain, expected, &*id)?;
    let forms = trail.exchanges("authorization_code");
    let ids = forms.iter().flat_map(|form| form.all("client_id")).collect::<Vec<_>>();
    expect(ids == [&*id], format!("{id} in the token request"), format!("{ids:?}"))
}

async fn cimd_unadvertised(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for supported in [Value::Null, json!(false)] {
        let members = json!({ "client_id_metadata_document_supported": supported });
        let trail = World::new().metadata(members).play(&cx).await?;
        let id = trail.authorization(0)?.text("client_id").to_owned();
        let is_url = id.starts_with("https://");
        cx.warnings.unless(!is_url, "no document's URL where it is not on offer", id);
    }
    Ok(())
}

async fn priority(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let id = |trail: &Trail| {
        let first = trail.authorizations().into_iter().next();
        first.map(|asked| asked.text("client_id").to_owned()).unwrap_or_default()
    };
    let known = json!({ "issuer": "{origin}", "client_id": "known", "client_secret": "secret" });
    let trail = World::new().told(known).play(&cx).await?;
    let seen = id(&trail);
    cx.warnings.unless(seen == "known", "the credentials that the client knows", seen);
    let trail = World::new().play(&cx).await?;
    let seen = id(&trail);
    cx.warnings.unless(seen.starts_with("https://"), "a document before a registration", seen);
    let trail = registering().play(&cx).await?;
    let seen = id(&trail);
    cx.warnings.unless(seen.starts_with("client-"), "a registration where there is no other", seen);
    let nothing = json!({ "registration_endpoint": null });
    let trail = registering().metadata(nothing).play(&cx).await?;
    trail.ended("metadata that leave no way to a client id")?;
    let seen = id(&trail);
    cx.warnings.unless(seen.is_empty(), "no authorization request without a client id", seen);
    Ok(())
}

/// The client's registration; skips if it does not register where it has to.
fn registration(trail: &Trail) -> Verdict<&Seen> {
    let first = trail.at(Place::Register).next();
    first.ok_or_else(|| Stop::skip("the client does not register"))
}

async fn dcr(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = registering().play(&cx).await?;
    let told = &registration(&trail)?.message;
    trail.went_on("a registration")?;
    let texts = |name: &str| {
        let all = at(told, name).as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let uris = texts("/redirect_uris");
    expect(!uris.is_empty(), "redirect_uris", shown(told))?;
    let used = trail.authorization(0)?.text("redirect_uri").to_owned();
    expect(uris.contains(&&*used), format!("{used} among redirect_uris"), shown(told))?;
    let kind = at(told, "/application_type").as_str();
    let is_web = uris.iter().all(|uri| uri.starts_with("https://"));
    let fitting = if is_web { "web" } else { "native" };
    let is_known = matches!(kind, Some("web" | "native"));
    expect(is_known, "application_type web or native", shown(told))?;
    let expected = format!("application_type {fitting} with {uris:?}");
    cx.warnings.unless(kind == Some(fitting), expected, shown(told));
    let grants = texts("/grant_types");
    let has_code = at(told, "/grant_types").is_null() || grants.contains(&"authorization_code");
    expect(has_code, "authorization_code in grant_types, if any", shown(told))?;
    let has_refresh = grants.contains(&"refresh_token");
    cx.warnings.unless(has_refresh, "refresh_token in grant_types", shown(told));
    let method = at(told, "/token_endpoint_auth_method").as_str();
    let offered = ["none", "client_secret_basic", "client_secret_post"];
    let is_offered = method.is_none_or(|method| offered.contains(&method));
    expect(is_offered, format!("one of {offered:?}"), shown(told))?;
    let plain = registering()
        .bend(Place::Register, |_| Some(Answer::json(json!({ "client_id": "of-status-200" }))));
    plain.play(&cx).await?.went_on("a registration with status 200")
}

async fn dcr_refused(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let refusal = |code| Answer::json(json!({ "error": code, "error_description": "no" }));
    let plain = || Answer::bytes("text/plain", "no");
    let nobody = Answer::json(json!({ "client_name": "nobody" }));
    let answers = [
        ("400 invalid_redirect_uri", refusal("invalid_redirect_uri").status(400)),
        ("400 invalid_client_metadata", refusal("invalid_client_metadata").status(400)),
        ("403", plain().status(403)),
        ("500", plain().status(500)),
        ("201 without client_id", nobody.status(201)),
    ];
    for (what, answer) in answers {
        let (may_repeat, after) = (answer.status == 500, format!("a registration answered {what}"));
        let world = registering().steps(json!([{ "do": "tools/list" }]));
        let trail = world.bend(Place::Register, move |_| Some(answer.clone())).play(&cx).await?;
        registration(&trail)?;
        trail.stopped_at(Place::Register, &after)?;
        let bodies = trail.at(Place::Register).map(|seen| &seen.body).collect::<Vec<_>>();
        let tries = format!("{} of them after {after}", bodies.len());
        expect(bodies.len() <= 3, "at most 3 registrations", tries)?;
        let is_same = bodies.windows(2).any(|two| matches!(two, [one, other] if one == other));
        let expected = "no registration again with nothing changed";
        expect(!is_same || may_repeat, expected, &*after)?;
        let error = trail.error(0)?;
        let is_told = at(error, "/message").as_str().is_some_and(|text| !text.is_empty());
        cx.warnings.unless(is_told, "an error with a message", shown(error));
    }
    Ok(())
}
