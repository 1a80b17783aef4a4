//! `resource`: what a token is to be good for.

use serde_json::json;

use super::super::Cx;
use super::params::Params;
use super::pkce::long_life;
use super::trail::Trail;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-resource", Http, resource),
    client_check!("client-auth-resource-verbatim", Http, verbatim),
    client_check!("client-auth-resource-case", Http, case),
];

/// Every authorization and token request names this resource, as it is written here.
fn names(trail: &Trail, resource: &str) -> Verdict {
    let asked = trail.at(Place::Authorize).map(|seen| (seen, Params::of_query(seen)));
    let forms = trail.at(Place::Token).map(|seen| (seen, Params::of_form(seen)));
    for (seen, params) in asked.chain(forms) {
        let due = resource.replace("{origin}", &seen.origin);
        let named = params.all("resource").collect::<Vec<_>>();
        let place = Place::of(seen);
        let shown = format!("{named:?} at {place:?} {}", params.text("grant_type"));
        expect(named == [&*due], format!("once the resource {due}"), shown)?;
    }
    Ok(())
}

async fn resource(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = long_life(&cx, World::new()).await?;
    names(&trail, "{origin}/mcp")
}

async fn verbatim(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let root = "/.well-known/oauth-protected-resource";
    let world = World::new().challenges(["Bearer"]).resource_at(root);
    let trail = world.resource(json!({ "resource": "{origin}" })).play(&cx).await?;
    trail.went_on("the resource {origin}, without a slash")?;
    names(&trail, "{origin}")?;
    // A client may find that these are not its server; if it goes on, then with what they say.
    for resource in ["{origin}/", "{origin}/mcp/", "{origin}/mcp?tenant=1", "{origin}/mc%70"] {
        let trail = World::new().resource(json!({ "resource": resource })).play(&cx).await?;
        trail.came_to(Place::Resource, "a challenge")?;
        trail.ended(&format!("the resource {resource}"))?;
        // A slash at the end may be held to mean nothing.
        let bare = resource.strip_suffix('/').unwrap_or(resource);
        if let Err(Stop::Fail { expected, seen }) = names(&trail, resource) {
            names(&trail, bare)?;
            cx.warnings.unless(false, expected, seen);
        }
    }
    Ok(())
}

async fn case(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let world = World::new().bend(Place::Resource, |visit| {
        let origin = &visit.seen.origin;
        Some(super::super::Answer::json(json!({
            "resource": format!("{}/mcp", origin.to_ascii_uppercase()),
            "authorization_servers": [origin],
        })))
    });
    let trail = world.play(&cx).await?;
    trail.came_to(Place::Resource, "a challenge")?;
    let went_on = trail.at(Place::Authorize).next().is_some();
    let expected = "a sign-in for a resource whose scheme and host are in upper case";
    cx.warnings.unless(went_on, expected, trail.way());
    Ok(())
}
