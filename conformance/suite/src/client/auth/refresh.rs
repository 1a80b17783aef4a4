//! Tokens that expire.

use serde_json::{Value, json};

use super::super::asking::call;
use super::super::{Answer, Cx, Seen};
use super::params::Params;
use super::registration::registering;
use super::step_up::expired;
use super::trail::Trail;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-refresh", Http, refresh),
    client_check!("client-auth-no-refresh-token", Http, no_refresh_token),
];

/// A world whose tokens expire after two uses.
pub(super) fn expiring(world: World) -> World {
    let world = world.bend(Place::Mcp, |visit| {
        visit.token.as_ref().filter(|token| token.uses >= 2).map(|_| expired(visit.seen))
    });
    world.steps((0..5).map(|_| call("echo")).collect::<Vec<_>>().into())
}

const REFRESH: &str = "refresh_token";

async fn refresh(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for keeps in [false, true] {
        let renewed = if keeps { json!({ REFRESH: null }) } else { json!({}) };
        let trail = expiring(registering()).renewed(renewed).play(&cx).await?;
        trail.went_on("a token that expired")?;
        if trail.exchanges(REFRESH).is_empty() {
            return Err(Stop::skip("the client does not refresh tokens"));
        }
        refreshed(&trail, keeps)?;
    }
    let once = expiring(World::new()).bend(Place::Token, |visit| {
        let is_refresh = Params::of_form(visit.seen).text("grant_type") == REFRESH;
        (is_refresh && visit.turn == 1).then(|| Answer::bytes("text/plain", "busy").status(503))
    });
    let trail = once.play(&cx).await?;
    trail.ended("a refresh answered with 503")?;
    let last = trail.told.last().is_some_and(|told| told.get("result").is_some());
    let seen = format!("{:?}", trail.told.last());
    cx.warnings.unless(last, "results again after one 503", seen);
    for (what, answer) in [
        ("503 for ever", Answer::bytes("text/plain", "busy").status(503)),
        ("invalid_grant", Answer::json(json!({ "error": "invalid_grant" })).status(400)),
    ] {
        let world = expiring(World::new()).steps(json!([call("echo"), call("echo"), call("echo")]));
        let world = world.bend(Place::Token, move |visit| {
            let is_refresh = Params::of_form(visit.seen).text("grant_type") == REFRESH;
            is_refresh.then(|| answer.clone())
        });
        let trail = world.play(&cx).await?;
        trail.ended(what)?;
        let tries = trail.exchanges(REFRESH).len();
        let seen = format!("{tries} of them with {what}");
        cx.warnings.unless(tries <= 3, "at most 3 tries to refresh", seen);
        if what == "invalid_grant" {
            let again = trail.at(Place::Authorize).count() >= 2;
            let seen = || trail.way();
            expect(again || trail.error(2).is_ok(), "a new sign-in, or an error", seen())?;
        }
    }
    Ok(())
}

/// Each refresh is as it has to be.
fn refreshed(trail: &Trail, keeps: bool) -> Verdict {
    let first = trail.token_request()?;
    let code = Params::of_form(first);
    let mut tokens = Vec::new();
    for seen in trail.at(Place::Token) {
        let form = Params::of_form(seen);
        if form.text("grant_type") != REFRESH {
            continue;
        }
        for name in ["resource", "client_id", "client_secret"] {
            let (due, found) = (code.get(name), form.get(name));
            let shown = format!("{name} {found:?}");
            expect(found == due, format!("{name} {due:?} as before"), shown)?;
        }
        let (due, found) = (first.header("Authorization"), seen.header("Authorization"));
        expect(found == due, "the client authenticated as before", format!("{found:?}"))?;
        expect(seen.http_method() == "POST", "POST", seen.http_method())?;
        tokens.push(form.text(REFRESH).to_owned());
    }
    let is_same = tokens.windows(2).all(|two| matches!(two, [one, other] if one == other));
    let expected = if keeps {
        "the same refresh token as long as no other came"
    } else {
        "the refresh token that came last"
    };
    expect(tokens.len() < 2 || is_same == keeps, expected, format!("{tokens:?}"))?;
    let strays = |seen: &&Seen| Place::of(seen) != Place::Token && seen.mentions("refresh-");
    let stray = trail.requests.iter().find(strays).map(Seen::target);
    expect(stray.is_none(), "refresh tokens only at the token endpoint", stray.unwrap_or_default())
}

async fn no_refresh_token(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let none = json!({ REFRESH: null });
    let trail = expiring(World::new()).token(none.clone()).play(&cx).await?;
    trail.came_to(Place::Token, "a challenge")?;
    trail.ended("a token without a refresh token that expired")?;
    expect(!trail.told.is_empty(), "a result or an error for each step", trail.way())?;
    never_refreshes(&trail)?;
    let for_ever = World::new().token(none).steps(json!([call("echo")]));
    let for_ever = for_ever.bend(Place::Mcp, |visit| {
        // A client that never gives up is let through at some time.
        visit.token.as_ref().filter(|_| visit.turn < 100).map(|_| expired(visit.seen))
    });
    let trail = for_ever.play(&cx).await?;
    trail.came_to(Place::Token, "a challenge")?;
    trail.ended("401 for ever")?;
    never_refreshes(&trail)?;
    let asked = trail.at(Place::Authorize).count();
    expect(asked <= 3, "at most 3 authorization requests with 401 for ever", format!("{asked}"))
}

fn never_refreshes(trail: &Trail) -> Verdict {
    let tries = trail.exchanges(REFRESH);
    let seen: Value = tries.iter().map(Params::encode).collect::<Vec<_>>().into();
    expect(tries.is_empty(), "no refresh without a refresh token", seen.to_string())
}
