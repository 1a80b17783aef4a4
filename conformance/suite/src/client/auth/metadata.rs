//! Finding the issuer's metadata, and making sure of them.

use serde_json::{Value, json};

use super::super::answer::Part;
use super::super::{Answer, Cx};
use super::discovery::no_documents;
use super::trail::Trail;
use super::visit::{Form, Place};
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-as-metadata-root", Http, as_metadata_root),
    client_check!("client-auth-as-metadata-path", Http, as_metadata_path),
    client_check!("client-auth-metadata-issuer", Http, metadata_issuer),
    client_check!("client-auth-metadata-malformed", Http, metadata_malformed),
    client_check!("client-auth-pkce-unsupported", Http, pkce_unsupported),
];

async fn as_metadata_root(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = World::new().play(&cx).await?;
    asked_for(&trail, &[Form::OAuth], "", "metadata at the first place")?;
    for (what, is_due, answer) in no_documents() {
        let world = World::new().form(Form::OpenId).bend(Place::Issuer, move |visit| {
            (visit.seen.target() == Form::OAuth.path("")).then(|| answer.clone())
        });
        let trail = world.play(&cx).await?;
        let after = format!("{what} at the first place");
        if is_due {
            asked_for(&trail, &[Form::OAuth, Form::OpenId], "", &after)?;
        } else {
            let went_on = trail.at(Place::Authorize).next().is_some();
            cx.warnings.unless(
                went_on,
                "the next place tried",
                format!("{after}: {}", trail.way()),
            );
            trail.ended(&after)?;
        }
    }
    Ok(())
}

/// The client went on, and asked for the metadata in these places in this order.
fn asked_for(trail: &Trail, forms: &[Form], issuer: &str, after: &str) -> Verdict {
    let expected = forms.iter().map(|form| form.path(issuer)).collect::<Vec<_>>();
    let paths = trail.paths(Place::Issuer);
    let seen = format!("{} after {after}", paths.join(", "));
    expect(paths == expected, format!("requests to {}", expected.join(", ")), seen)?;
    trail.went_on(after)
}

async fn as_metadata_path(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let forms = [Form::OAuth, Form::OpenId, Form::OpenIdBehind];
    for issuer in ["/tenant1", "/a/b"] {
        for (at, form) in forms.into_iter().enumerate() {
            let trail = World::new().issuers(&[issuer]).form(form).play(&cx).await?;
            let forms = forms.get(..=at).unwrap_or_default();
            asked_for(&trail, forms, issuer, &format!("the issuer {issuer}"))?;
        }
    }
    Ok(())
}

async fn metadata_issuer(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let wrong = [
        ("", json!("https://honest.example")),
        ("", json!("{origin}/")),
        ("/tenant1", json!("{origin}/tenant1/")),
        ("/tenant1/", json!("{origin}/tenant1")),
        ("/tenant1", json!("{origin}/Tenant1")),
        ("/tenant1", json!("{origin}/%74enant1")),
        ("/tenant1", json!("{origin}")),
        ("", Value::Null),
        ("", json!(5)),
    ];
    for (issuer, named) in wrong {
        let after = format!("the issuer {named} in the metadata of {{origin}}{issuer}");
        let served = issuer.trim_end_matches('/');
        let world = World::new().issuers(&[served]).metadata(json!({ "issuer": named }));
        let named = json!({ "authorization_servers": [format!("{{origin}}{issuer}")] });
        let trail = world.resource(named).play(&cx).await?;
        trail.stopped_at(Place::Issuer, &after)?;
        let registered = trail.at(Place::Register).next().is_none();
        let seen = format!("after {after}: {}", trail.way());
        expect(registered, "no registration", seen)?;
    }
    Ok(())
}

async fn metadata_malformed(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let json_of = |body: &str| Answer::bytes("application/json", body);
    let documents = [
        ("no JSON", json_of("{\"issuer\": ")),
        ("an array", json_of("[]")),
        ("null", json_of("null")),
    ];
    for (what, answer) in documents {
        let world = World::new().bend(Place::Issuer, move |_| Some(answer.clone()));
        world.play(&cx).await?.stopped_at(Place::Issuer, &format!("metadata that are {what}"))?;
    }
    let itself = World::new().bend(Place::Issuer, |visit| {
        let here = format!("{}{}", visit.seen.origin, visit.seen.target());
        Some(Answer::accepted().status(307).header("Location", here))
    });
    itself.play(&cx).await?.stopped_at(Place::Issuer, "a redirect to itself")?;
    let members = [
        json!({ "authorization_endpoint": null }),
        json!({ "token_endpoint": null }),
        json!({ "authorization_endpoint": 5 }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "token_endpoint": "file:///token" }),
    ];
    for members in members {
        let trail = World::new().metadata(members.clone()).play(&cx).await?;
        trail.stopped_at(Place::Issuer, &format!("{members} in the metadata"))?;
    }
    endless(&cx).await
}

/// A document that is right, but for 64 MiB of blanks before it.
async fn endless(cx: &Cx) -> Verdict {
    let world = World::new().bend(Place::Issuer, |visit| {
        let issuer = json!({
            "issuer": visit.seen.origin, "code_challenge_methods_supported": ["S256"],
            "authorization_endpoint": format!("{}/authorize", visit.seen.origin),
            "token_endpoint": format!("{}/token", visit.seen.origin),
            "response_types_supported": ["code"], "client_id_metadata_document_supported": true,
        });
        Some(behind_blanks(&issuer))
    });
    world.play(cx).await?.stopped_at(Place::Issuer, "metadata of more than 64 MiB")
}

/// A document behind 64 MiB of blanks.
pub(super) fn behind_blanks(document: &Value) -> Answer {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    let raw = |text: &str| Part::Raw(text.as_bytes().to_vec());
    let blanks = Part::Repeat(vec![b' '; 1024 * 1024], 64);
    Answer::wire([raw(head), blanks, raw(&document.to_string())])
}

async fn pkce_unsupported(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for form in [Form::OAuth, Form::OpenId] {
        for methods in [Value::Null, json!([]), json!("{null}"), json!(["plain"])] {
            let after = format!("code_challenge_methods_supported {methods} as {form:?}");
            let members = json!({ "code_challenge_methods_supported": methods });
            let trail = World::new().form(form).metadata(members).play(&cx).await?;
            trail.stopped_at(Place::Issuer, &after)?;
        }
    }
    Ok(())
}
