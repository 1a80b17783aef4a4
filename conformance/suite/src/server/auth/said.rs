//! What a refusal says: that a token is needed, which scopes, and where to look.

use std::collections::BTreeSet;

use serde_json::json;

use super::challenge::{Challenge, shown};
use super::document::Documents;
use super::{asked_barely, bare, challenged, own, poor, protected, served, unauthorized};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::Reply;
use crate::wire::json::at;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-auth-challenge", Http, challenge),
    server_check!("server-auth-challenge-scope", Http, scope),
    server_check!("server-auth-challenge-repeatable", Http, repeatable),
    server_check!("server-auth-insufficient-scope", Http, insufficient),
    server_check!("server-auth-no-offline-access", Http, no_offline_access),
];

async fn challenge(cx: Cx) -> Verdict {
    let reply = asked_barely(&cx).await?;
    if reply.result().is_ok() {
        if cx.endpoint()?.is_loopback() {
            return Err(Stop::skip("the server is open"));
        }
        cx.warnings.unless(false, "a server on a network to ask for a token", reply.told());
        return Ok(());
    }
    let challenges = unauthorized(&reply)?;
    for url in challenges.iter().filter_map(|it| it.get("resource_metadata")) {
        let is_absolute = url.starts_with("https://") || url.starts_with("http://");
        expect(is_absolute, "resource_metadata, an absolute URL", url)?;
    }
    let scopes = challenges.iter().filter_map(|it| it.get("scope"));
    for scope in scopes {
        let is_scope = |it: char| matches!(it, '!' | '#'..='[' | ']'..='~');
        let is_good = scope.split(' ').all(|it| !it.is_empty() && it.chars().all(is_scope));
        expect(is_good, "scope, names with single spaces between them", scope)?;
    }
    Ok(())
}

async fn scope(cx: Cx) -> Verdict {
    let challenges = unauthorized(&protected(&cx).await?)?;
    let names_one = challenges.iter().filter_map(Challenge::scopes).any(|it| !it.is_empty());
    cx.warnings.unless(names_one, "a challenge with a scope parameter", shown(&challenges));
    Ok(())
}

/// The scopes of all challenges of a refusal.
fn scopes(challenges: &[Challenge]) -> BTreeSet<&str> {
    challenges.iter().filter_map(Challenge::scopes).flatten().collect()
}

/// What a token of too few scopes gets.
async fn refused(cx: &Cx) -> Verdict<Reply> {
    let (call, token) = poor(cx)?;
    cx.send(&bare(cx, &call)?.header("Authorization", format!("Bearer {token}"))).await
}

async fn repeatable(cx: Cx) -> Verdict {
    let mut pairs = vec![(protected(&cx).await?, asked_barely(&cx).await?)];
    if poor(&cx).is_ok() {
        let reply = refused(&cx).await?;
        if reply.status() == Some(403) {
            pairs.push((reply, refused(&cx).await?));
        }
    }
    for (first, second) in pairs {
        let (first, second) = (challenged(&first)?, challenged(&second)?);
        let (first, second) = (scopes(&first), scopes(&second));
        cx.warnings.unless(
            first == second,
            format!("the same scopes again: {first:?}"),
            format!("{second:?}"),
        );
    }
    Ok(())
}

async fn insufficient(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let (call, _) = poor(&cx)?;
    let reply = refused(&cx).await?;
    let is_discover = call.method() == "server/discover";
    if is_discover && cx.endpoint()?.ways.tokens.scopes.is_none() && reply.result().is_ok() {
        return Err(Stop::skip(
            "nothing is known that needs a scope, such as the tool test_scoped",
        ));
    }
    reply.has_status(403)?;
    let challenges = challenged(&reply)?;
    let told = |holds: bool, what: &str| cx.warnings.unless(holds, what, shown(&challenges));
    let of_scope = challenges.iter().find(|it| it.get("error") == Some("insufficient_scope"));
    told(of_scope.is_some(), r#"a challenge with error="insufficient_scope""#);
    let Some(challenge) = of_scope else { return Ok(()) };
    let named = challenge.get("scope").unwrap_or_default();
    told(!named.is_empty(), "a challenge that names the scopes that are needed");
    told(challenge.get("resource_metadata").is_some(), "a challenge with resource_metadata");
    let Ok(own) = own(&cx) else { return Ok(()) };
    let enough = own.token(&json!({ "scope": named }));
    let again = bare(&cx, &call)?.header("Authorization", format!("Bearer {enough}"));
    let reply = cx.send(&again).await?;
    cx.warnings.unless(
        served(&reply).is_ok(),
        format!("a result with all scopes that were named: {named}"),
        reply.told(),
    );
    Ok(())
}

async fn no_offline_access(cx: Cx) -> Verdict {
    let mut replies = vec![protected(&cx).await?];
    if poor(&cx).is_ok() {
        replies.push(refused(&cx).await?);
    }
    for reply in replies.iter().filter(|reply| reply.result().is_err()) {
        let challenges = challenged(reply).of("a refusal")?;
        cx.warnings.unless(
            !scopes(&challenges).contains("offline_access"),
            "challenges without offline_access",
            shown(&challenges),
        );
    }
    let challenges = replies.first().map(challenged).transpose()?.unwrap_or_default();
    let documents = Documents::fetch(&cx, &challenges).await?;
    for document in documents.all() {
        let listed = at(document, "/scopes_supported");
        let is_listed =
            listed.as_array().is_some_and(|all| all.iter().any(|it| it == "offline_access"));
        cx.warnings.unless(
            !is_listed,
            "scopes_supported without offline_access",
            listed.to_string(),
        );
    }
    Ok(())
}
