//! Finding the server's metadata.

use serde_json::{Value, json};

use super::super::{Answer, Cx};
use super::trail::Trail;
use super::visit::Place;
use super::world::{WELL_KNOWN, World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-flow", Http, flow),
    client_check!("client-auth-prm-from-challenge", Http, prm_from_challenge),
    client_check!("client-auth-prm-well-known", Http, prm_well_known),
    client_check!("client-auth-prm-resource-mismatch", Http, prm_resource_mismatch),
    client_check!("client-auth-challenge-forms", Http, challenge_forms),
];

async fn flow(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for has_documents in [true, false] {
        let metadata = json!({ "client_id_metadata_document_supported": has_documents });
        let trail = World::new().metadata(metadata).play(&cx).await?;
        trail.went_on("a challenge")?;
        trail.ended_well()?;
        in_order(&trail)?;
    }
    Ok(())
}

/// Every step of the sign-in comes once the one before it is done.
fn in_order(trail: &Trail) -> Verdict {
    let first = |place| trail.at(place).map(|seen| seen.number).next();
    let without = trail.at(Place::Mcp).next();
    let is_open = without.is_some_and(|seen| seen.header("Authorization").is_none());
    expect(is_open, "a first request without a token", trail.way())?;
    let mut mcp = trail.at(Place::Mcp);
    let again = mcp.find(|seen| seen.header("Authorization").is_some());
    let method = without.map(|seen| seen.method());
    let is_same = again.is_some() && again.map(|seen| seen.method()) == method;
    let seen = || format!("{method:?}, and then {:?}", again.map(|seen| seen.method()));
    expect(is_same, "the first request again with the token", seen())?;
    let places = [Place::Mcp, Place::Resource, Place::Issuer, Place::Register, Place::Authorize];
    let steps = places.into_iter().chain([Place::Token]).filter_map(first);
    let steps = steps.chain(again.map(|seen| seen.number)).collect::<Vec<_>>();
    let expected =
        "challenge, the server's metadata, the issuer's, client id, authorization, token";
    expect(steps.is_sorted(), expected, trail.way())
}

async fn prm_from_challenge(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let at = "/custom/metadata/location.json";
    let challenge = format!("Bearer resource_metadata=\"{{origin}}{at}\"");
    let trail = World::new().resource_at(at).challenges([challenge]).play(&cx).await?;
    trail.went_on("a challenge with an address of its own")?;
    let paths = trail.paths(Place::Resource);
    expect(paths == [at], format!("metadata only from {at}"), format!("{paths:?}"))
}

/// What stands in the place of a document that is not there, and whether that is all that a client has to cope with.
pub(super) fn no_documents() -> Vec<(&'static str, bool, Answer)> {
    let page = || Answer::bytes("text/html", "<!DOCTYPE html><title>Welcome</title>");
    vec![
        ("404", true, page().status(404)),
        ("500", false, page().status(500)),
        ("a page", false, page()),
        ("broken JSON", false, Answer::bytes("application/json", "{\"resource\":")),
    ]
}

async fn prm_well_known(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for challenges in [vec!["Bearer realm=\"mcp\""], vec![]] {
        let world = World::new().challenges(challenges.clone());
        let after = format!("the challenges {challenges:?}");
        let trail = world.play(&cx).await?;
        trail.went_on(&after)?;
        let paths = trail.paths(Place::Resource);
        let expected = format!("metadata from {WELL_KNOWN}, and nothing of the root");
        expect(paths == [WELL_KNOWN], expected, format!("{paths:?} after {after}"))?;
        let world = world.resource_at(ROOT).resource(json!({ "resource": "{origin}" }));
        for (what, is_due, answer) in no_documents() {
            let world = world.clone().bend(Place::Resource, move |visit| {
                (visit.seen.target() == WELL_KNOWN).then(|| answer.clone())
            });
            let trail = world.play(&cx).await?;
            let after = format!("{after}, and {what} at {WELL_KNOWN}");
            let paths = trail.paths(Place::Resource);
            let expected = format!("{WELL_KNOWN} before {ROOT}");
            let holds = paths == [WELL_KNOWN, ROOT];
            let seen = format!("{paths:?} after {after}");
            if is_due {
                expect(holds, expected, seen)?;
                trail.went_on(&after)?;
            } else {
                cx.warnings.unless(holds, expected, seen);
                trail.ended(&after)?;
            }
        }
    }
    Ok(())
}

const ROOT: &str = "/.well-known/oauth-protected-resource";

async fn prm_resource_mismatch(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let wrong = [
        json!("https://evil.example.com/mcp"),
        json!("http://127.0.0.1:1/mcp"),
        json!("{origin}/mc"),
        Value::Null,
    ];
    for resource in wrong {
        let trail = World::new().resource(json!({ "resource": resource })).play(&cx).await?;
        trail.stopped_at(Place::Resource, &format!("metadata of the resource {resource}"))?;
    }
    Ok(())
}

async fn challenge_forms(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let address = format!("resource_metadata=\"{{origin}}{CUSTOM}\"");
    let basic = "Basic realm=\"a, Bearer resource_metadata=\\\"{origin}/custom/trap\\\"\"";
    let forms = [
        vec![format!("bearer {address}")],
        vec![format!("BEARER {address}")],
        vec![format!("Bearer error=invalid_token, scope=mcp, {address}")],
        vec![format!("Bearer {address}, error_description=\"say \\\"hi\\\", and \\\\ go\"")],
        vec![format!("Bearer realm=\"a,b\" , {} , unknown=\"x\"", address.replace('=', " = "))],
        vec![format!("Bearer Resource_Metadata=\"{{origin}}{CUSTOM}\"")],
        vec![format!("{basic}, Bearer {address}")],
        vec![basic.to_owned(), format!("Bearer {address}")],
        vec![format!("Bearer {address}, {basic}")],
    ];
    for form in forms {
        let trail = World::new().resource_at(CUSTOM).challenges(form.clone()).play(&cx).await?;
        let after = form.join(" and ");
        trail.went_on(&after)?;
        let paths = trail.paths(Place::Resource);
        expect(
            paths == [CUSTOM],
            format!("metadata from {CUSTOM} after {after}"),
            paths.join(" "),
        )?;
    }
    let trail = World::new().challenges(["Basic realm=\"mcp\""]).play(&cx).await?;
    trail.ended("a Basic challenge alone")?;
    let answered = trail.at(Place::Mcp).find_map(|seen| seen.header("Authorization"));
    let is_basic = answered.is_some_and(|it| it.to_ascii_lowercase().starts_with("basic"));
    let seen = || Stop::fail("no Basic credentials out of nowhere", answered.unwrap_or_default());
    if is_basic { Err(seen()) } else { Ok(()) }
}

const CUSTOM: &str = "/custom/metadata,1/location.json";
