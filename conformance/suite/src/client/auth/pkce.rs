//! What protects the answer to an authorization request: the verifier, the state, and where it goes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::json;

use super::super::Cx;
use super::super::asking::call;
use super::step_up::{expired, needs_write};
use super::trail::Trail;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::at;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-redirect-uri", Http, redirect_uri),
    client_check!("client-auth-pkce", Http, pkce),
    client_check!("client-auth-state", Http, state),
];

/// What a client does that has to sign in twice, the second time for more, and whose tokens expire after three uses.
pub(super) async fn long_life(cx: &Cx, world: World) -> Verdict<Trail> {
    let world = needs_write(world).bend(Place::Mcp, |visit| {
        visit.token.as_ref().filter(|token| token.uses >= 3).map(|_| expired(visit.seen))
    });
    let list = || json!({ "do": "tools/list" });
    let steps = json!([list(), call("echo"), call("echo"), list(), call("echo"), list(), list()]);
    let trail = world.steps(steps).play(cx).await?;
    trail.came_to(Place::Token, "a challenge")?;
    Ok(trail)
}

async fn redirect_uri(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for world in [World::new(), super::registration::registering()] {
        let trail = long_life(&cx, world).await?;
        let registrations =
            trail.at(Place::Register).map(|seen| at(&seen.message, "/redirect_uris"));
        let registrations = registrations.collect::<Vec<_>>();
        let forms = trail.exchanges("authorization_code");
        for (asked, form) in trail.authorizations().iter().zip(&forms) {
            let uri = asked.text("redirect_uri");
            let is_local = LOCAL.iter().any(|start| {
                let rest = uri.strip_prefix(start);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']))
            });
            let is_plain = uri.starts_with("http://") || !uri.contains(':');
            expect(is_local || !is_plain, "a redirect URI on this machine or https", uri)?;
            let is_known = is_local || uri.starts_with("https://");
            cx.warnings.unless(is_known, "a redirect URI on this machine or https", uri);
            let is_registered = registrations
                .iter()
                .any(|uris| uris.as_array().is_some_and(|uris| uris.iter().any(|it| it == uri)));
            let seen = format!("{registrations:?}");
            expect(registrations.is_empty() || is_registered, format!("{uri} registered"), seen)?;
            let again = form.text("redirect_uri");
            expect(again == uri, format!("{uri} in the token request as well"), again)?;
        }
    }
    Ok(())
}

const LOCAL: [&str; 3] = ["http://localhost", "http://127.0.0.1", "http://[::1]"];

async fn pkce(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = long_life(&cx, World::new()).await?;
    let (asked, forms) = (trail.authorizations(), trail.exchanges("authorization_code"));
    let seen = format!("{} and {}", asked.len(), forms.len());
    expect(asked.len() == forms.len(), "a token request for each authorization", seen)?;
    let mut challenges = Vec::new();
    for (asked, form) in asked.iter().zip(&forms) {
        let method = asked.text("code_challenge_method");
        expect(method == "S256", "code_challenge_method S256", method)?;
        let verifier = form.text("code_verifier");
        let is_unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let is_long = (43..=128).contains(&verifier.len());
        let expected = "a code_verifier of 43 to 128 unreserved characters";
        expect(is_long && verifier.chars().all(is_unreserved), expected, verifier)?;
        let due = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let challenge = asked.text("code_challenge");
        expect(challenge == due, format!("code_challenge {due} of {verifier}"), challenge)?;
        let is_new = !challenges.contains(&challenge);
        expect(is_new, "a new code_verifier for each authorization", verifier)?;
        challenges.push(challenge);
    }
    Ok(())
}

async fn state(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = long_life(&cx, World::new()).await?;
    let asked = trail.authorizations();
    let states = asked.iter().map(|asked| asked.text("state")).collect::<Vec<_>>();
    let are_long = states.iter().all(|state| state.len() >= 22);
    cx.warnings.unless(are_long, "a state of 22 characters or more", format!("{states:?}"));
    let are_new =
        states.iter().enumerate().all(|(at, state)| !states.iter().take(at).any(|it| it == state));
    cx.warnings.unless(are_new, "a new state for each authorization", format!("{states:?}"));
    if states.iter().all(|state| state.is_empty()) {
        return Ok(());
    }
    let absent = World::new().callback(|_, said| said.without("state").encode());
    absent.play(&cx).await?.dropped_the_answer("an answer without the state")?;
    let other = World::new().callback(|_, said| said.with("state", "another").encode());
    other.play(&cx).await?.dropped_the_answer("an answer with another state")?;
    let right_first = World::new().callback(|_, said| said.and("state", "another").encode());
    right_first.play(&cx).await?.dropped_the_answer("an answer with two states")?;
    let right_last = World::new().callback(|_, said| format!("state=another&{}", said.encode()));
    right_last.play(&cx).await?.dropped_the_answer("an answer with two states")
}
