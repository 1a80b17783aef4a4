//! Tokens that are good, but not for everything.

use serde_json::json;

use super::super::asking::call;
use super::super::{Answer, Cx, Seen};
use super::scope::scopes;
use super::visit::Place;
use super::world::{WELL_KNOWN, World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::Verdict;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-step-up", Http, step_up),
    client_check!("client-auth-step-up-limit", Http, limit),
];

/// 401 for a token that is none any more.
pub(super) fn expired(seen: &Seen) -> Answer {
    let challenge = format!(
        "Bearer error=\"invalid_token\", resource_metadata=\"{}{WELL_KNOWN}\"",
        seen.origin
    );
    Answer::bytes("text/plain", "expired").status(401).header("WWW-Authenticate", challenge)
}

/// 403 for a token that lacks a scope.
fn insufficient(seen: &Seen, scope: &str) -> Answer {
    let challenge = format!(
        "Bearer error=\"insufficient_scope\", scope=\"{scope}\", \
         resource_metadata=\"{}{WELL_KNOWN}\"",
        seen.origin
    );
    Answer::bytes("text/plain", "more").status(403).header("WWW-Authenticate", challenge)
}

/// A world whose server asks for `mcp:basic` first, and for `mcp:write` where tools are called.
pub(super) fn needs_write(world: World) -> World {
    world.challenged_scope("mcp:basic").bend(Place::Mcp, |visit| {
        let scope = &visit.token.as_ref()?.scope;
        let lacks = visit.seen.method() == "tools/call" && !scopes(scope).contains(&"mcp:write");
        lacks.then(|| insufficient(visit.seen, "mcp:write"))
    })
}

async fn step_up(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let listed = json!({ "scopes_supported": ["mcp:basic", "mcp:write", "mcp:profile"] });
    let trail = needs_write(World::new().resource(listed)).play(&cx).await?;
    trail.authorization(0)?;
    trail.ended("a scope that is missing")?;
    let asked = trail.authorizations();
    let expected = "a second authorization, for more scopes";
    cx.warnings.unless(asked.len() >= 2, expected, trail.way());
    let Some(second) = asked.get(1) else { return Ok(()) };
    let second = scopes(second.text("scope"));
    let has = |scope| second.contains(&scope);
    let expected = "the missing scope mcp:write and, still, mcp:basic";
    cx.warnings.unless(has("mcp:write") && has("mcp:basic"), expected, second.join(" "));
    let expected = "no scope that nothing needs, such as mcp:profile";
    cx.warnings.unless(!has("mcp:profile"), expected, second.join(" "));
    let called = trail.result(1);
    cx.warnings.unless(called.is_ok(), "the call again with the new token", trail.way());
    Ok(())
}

async fn limit(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for (is_new, most) in [(false, 3), (true, 10)] {
        let world = World::new().steps(json!([call("echo")])).bend(Place::Mcp, move |visit| {
            visit.token.as_ref().filter(|_| visit.seen.method() == "tools/call")?;
            // A client that never gives up is let through at some time.
            let goes_on = visit.turn < 100;
            let scope = if is_new { format!("mcp:s{}", visit.turn) } else { "mcp:more".into() };
            goes_on.then(|| insufficient(visit.seen, &scope))
        });
        let trail = world.play(&cx).await?;
        trail.came_to(Place::Token, "a challenge")?;
        let refused = trail
            .at(Place::Mcp)
            .find(|seen| seen.method() == "tools/call" && seen.header("Authorization").is_some());
        let since = refused.map_or(0, |seen| seen.number);
        let again = trail.at(Place::Authorize).filter(|seen| seen.number > since).count();
        let what = if is_new { "another scope each time" } else { "the same scope for ever" };
        let seen = format!("{again} of them");
        let expected = format!("at most {most} authorization requests after 403 with {what}");
        cx.warnings.unless(again <= most, expected, seen);
        cx.warnings.unless(trail.exit.is_some(), "an end", format!("none after 403 with {what}"));
    }
    Ok(())
}
