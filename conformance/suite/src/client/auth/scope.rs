//! Which scopes a client asks for.

use serde_json::json;

use super::super::Cx;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-scope-challenged", Http, challenged),
    client_check!("client-auth-scope-disjoint", Http, disjoint),
    client_check!("client-auth-scope-supported", Http, supported),
    client_check!("client-auth-scope-omitted", Http, omitted),
];

/// The scopes of a text.
pub(super) fn scopes(text: &str) -> Vec<&str> {
    text.split(' ').filter(|scope| !scope.is_empty()).collect()
}

/// Has the client challenged with these scopes by a server that lists those.
async fn asks_for(cx: &Cx, challenged: &str, listed: &[&str], offered: &[&str]) -> Verdict {
    let world = World::new().challenged_scope(challenged);
    let world = world.resource(json!({ "scopes_supported": listed }));
    let world = world.metadata(json!({ "scopes_supported": offered }));
    let trail = world.play(cx).await?;
    let asked = trail.authorization(0)?;
    let asked = scopes(asked.text("scope"));
    let due = scopes(challenged);
    let expected =
        format!("the scopes of the challenge, {challenged}, where {listed:?} are listed");
    let has_all = due.iter().all(|scope| asked.contains(scope));
    expect(has_all, &*expected, asked.join(" "))?;
    let may_more = offered.contains(&"offline_access");
    let is_due = |scope: &&str| due.contains(scope) || (may_more && *scope == "offline_access");
    let more = asked.iter().any(|scope| !is_due(scope));
    cx.warnings.unless(!more, format!("no more than {expected}"), asked.join(" "));
    trail.went_on("a challenge with scopes")
}

async fn challenged(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let listed = ["mcp:basic", "mcp:read", "mcp:write"];
    asks_for(&cx, "mcp:basic", &listed, &listed).await?;
    asks_for(&cx, "mcp:basic", &listed, &["mcp:basic", "offline_access"]).await
}

async fn disjoint(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for challenged in ["other:one other:two", "mcp:read mcp:write other:one", "mcp:read other:one"]
    {
        asks_for(&cx, challenged, &["mcp:read", "mcp:write"], &["mcp:read"]).await?;
    }
    Ok(())
}

async fn supported(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let listed = ["mcp:basic", "mcp:read", "mcp:write"];
    let world = World::new().resource(json!({ "scopes_supported": listed }));
    let trail = world.play(&cx).await?;
    let asked = trail.authorization(0)?;
    let mut asked = scopes(asked.text("scope"));
    asked.sort_unstable();
    cx.warnings.unless(asked == listed, format!("all of {listed:?}"), asked.join(" "));
    trail.went_on("metadata with scopes")
}

async fn omitted(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = World::new().play(&cx).await?;
    let asked = trail.authorization(0)?;
    let scope = asked.get("scope");
    cx.warnings.unless(
        scope.is_none(),
        "no scope where nobody names one",
        scope.unwrap_or_default(),
    );
    trail.went_on("a challenge without scopes")?;
    let offered = json!({ "scopes_supported": ["mcp:basic"] });
    let trail = World::new().challenged_scope("mcp:basic").metadata(offered).play(&cx).await?;
    let asked = trail.authorization(0)?;
    let has_offline = scopes(asked.text("scope")).contains(&"offline_access");
    let expected = "no offline_access where the issuer does not list it";
    cx.warnings.unless(!has_offline, expected, asked.text("scope"));
    Ok(())
}
