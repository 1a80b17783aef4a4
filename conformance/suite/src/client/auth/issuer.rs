//! `iss`: whose answer it is with which the user comes back.

use serde_json::{Value, json};

use super::super::Cx;
use super::params::Params;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-iss-match", Http, matches),
    client_check!("client-auth-iss-mismatch", Http, mismatch),
    client_check!("client-auth-iss-missing", Http, missing),
    client_check!("client-auth-iss-unadvertised", Http, unadvertised),
    client_check!("client-auth-iss-normalised", Http, normalised),
    client_check!("client-auth-iss-duplicate", Http, duplicate),
    client_check!("client-auth-iss-mix-up", Http, mix_up),
    client_check!("client-auth-iss-error-response", Http, error_response),
];

/// An issuer at `/tenant1` that says whether it names itself in its answers.
fn advertising(supported: &Value) -> World {
    let name = "authorization_response_iss_parameter_supported";
    World::new().issuers(&["/tenant1"]).metadata(json!({ name: supported }))
}

/// The same with this issuer in the answer.
fn naming(supported: &Value, iss: &str) -> World {
    let iss = iss.to_owned();
    advertising(supported).callback(move |visit, said| {
        said.with("iss", &iss.replace("{origin}", &visit.seen.origin)).encode()
    })
}

async fn matches(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = advertising(&json!(true)).play(&cx).await?;
    trail.went_on("an answer with the right iss")?;
    let trail = advertising(&Value::Null).play(&cx).await?;
    trail.went_on("an answer without iss, where none was announced")?;
    let escaped = advertising(&json!(true)).callback(|visit, said| {
        let url = visit.issuer_url();
        let every = url.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        format!("iss={every}&{}", said.without("iss").encode())
    });
    escaped.play(&cx).await?.went_on("the right iss with every character escaped")
}

async fn mismatch(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for other in ["https://evil.example.com", "{origin}/tenant2", "{origin}"] {
        let trail = naming(&json!(true), other).play(&cx).await?;
        trail.dropped_the_answer(&format!("the iss {other}"))?;
    }
    Ok(())
}

async fn missing(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let absent = advertising(&json!(true)).callback(|_, said| said.without("iss").encode());
    absent.play(&cx).await?.dropped_the_answer("an answer without the iss that was announced")?;
    naming(&json!(true), "").play(&cx).await?.dropped_the_answer("an empty iss")
}

async fn unadvertised(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for supported in [Value::Null, json!(false)] {
        let after = format!("where {supported} was announced");
        let wrong = naming(&supported, "https://evil.example.com").play(&cx).await?;
        wrong.dropped_the_answer(&format!("a wrong iss {after}"))?;
        let right = naming(&supported, "{origin}/tenant1").play(&cx).await?;
        right.went_on(&format!("the right iss {after}"))?;
    }
    Ok(())
}

async fn normalised(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let alike = [
        |url: &str| format!("{url}/"),
        |url: &str| url.replacen("http", "HTTP", 1),
        |url: &str| url.replace("tenant1", "%74enant1"),
        |url: &str| url.replace("tenant1", "Tenant1"),
        |url: &str| url.replace("/tenant1", "/./tenant1"),
        |url: &str| url.replace("//", "//@"),
    ];
    for change in alike {
        let world = advertising(&json!(true))
            .callback(move |visit, said| said.with("iss", &change(&visit.issuer_url())).encode());
        let example = change("http://HOST:PORT/tenant1");
        world.play(&cx).await?.dropped_the_answer(&format!("the iss {example}"))?;
    }
    Ok(())
}

async fn duplicate(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for is_right_first in [true, false] {
        let world = advertising(&json!(true)).callback(move |visit, said| {
            let (right, wrong) = (visit.issuer_url(), "https://evil.example.com".to_owned());
            let (one, other) = if is_right_first { (right, wrong) } else { (wrong, right) };
            said.with("iss", &one).and("iss", &other).encode()
        });
        world.play(&cx).await?.dropped_the_answer("a right and a wrong iss in one answer")?;
    }
    Ok(())
}

async fn mix_up(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for (own, other) in [("/one", "/two"), ("/two", "/one")] {
        let name = "authorization_response_iss_parameter_supported";
        let world = World::new().issuers(&[own]).metadata(json!({ name: true }));
        // It knows the other issuer well: it has just left it.
        let trail =
            world.clone().issuers(&[other]).then_issuer(own).callback(move |visit, said| {
                let others = format!("{}{other}", visit.seen.origin);
                said.with("iss", &others).encode()
            });
        let trail = trail.play(&cx).await?;
        trail.came_to(Place::Token, "the first sign-in")?;
        let mut answered = trail.at(Place::Token).filter(|seen| Place::issuer(seen) == own);
        let seen = format!("with the iss of {other}: {}", trail.way());
        expect(answered.next().is_none(), format!("no token request to {own}"), seen)?;
        let code = format!("{}-code", own.trim_start_matches('/'));
        let mut strayed = trail.at(Place::Token).filter(|seen| seen.mentions(&code));
        let expected = format!("no code of {own} at {other}");
        expect(strayed.next().is_none(), expected, trail.way())?;
    }
    Ok(())
}

async fn error_response(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for iss in ["https://evil.example.com", "{origin}/tenant1"] {
        let is_right = iss.starts_with("{origin}");
        let world = advertising(&json!(true)).callback(move |visit, said| {
            let state = Params::of_query(visit.seen).text("state").to_owned();
            let iss = iss.replace("{origin}", &visit.seen.origin);
            let refusal = said.without("code").with("state", &state).with("iss", &iss);
            let page = format!("{}/page-about-it", visit.seen.origin);
            let refusal = refusal.and("error", "access_denied").and("error_uri", &page);
            refusal.and("error_description", MARK).encode()
        });
        let trail = world.steps(json!([{ "do": "tools/list" }])).play(&cx).await?;
        let after = format!("a refusal with the iss {iss}");
        trail.dropped_the_answer(&after)?;
        trail.error(0)?;
        if !is_right {
            let one = trail.at(Place::Authorize).count() == 1;
            expect(one, "no other authorization request", trail.way())?;
            let visited = trail.at(Place::Elsewhere).next();
            expect(visited.is_none(), "no visit to error_uri", trail.way())?;
            let is_shown = trail.said.contains(MARK);
            expect(!is_shown, "nothing shown of what it says", trail.said.trim())?;
        }
    }
    Ok(())
}

/// What nobody is to show.
const MARK: &str = "call-0800-scammers";
