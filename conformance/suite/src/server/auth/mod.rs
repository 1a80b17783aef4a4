//! Authorization: what a protected server takes for a token, and what it says to those without a good one.
//!
//! All of it is skipped where a `server/discover` without a token is served.

pub(super) mod bad;
mod challenge;
pub(super) mod document;
pub(super) mod dpop;
pub(super) mod first;
pub(super) mod form;
pub(super) mod said;
mod tokens;

use std::fmt::Display;

use challenge::Challenge;
pub(crate) use tokens::{Own, Tokens};

use super::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::{Message, Post, Reply};

const AUTHORIZATION: &str = "Authorization";

/// The request that carries a message, without a token.
fn bare(cx: &Cx, message: &Message) -> Verdict<Post> {
    Ok(cx.post(message)?.without(AUTHORIZATION))
}

/// A discover with these credentials.
fn with(cx: &Cx, credentials: impl Into<Vec<u8>>) -> Verdict<Post> {
    Ok(cx.post(&cx.request("server/discover"))?.set(AUTHORIZATION, credentials))
}

/// What a discover without a token is answered.
async fn asked_barely(cx: &Cx) -> Verdict<Reply> {
    cx.send(&bare(cx, &cx.request("server/discover"))?).await
}

/// Goes on if the server is protected, with the answer to who has no token.
async fn protected(cx: &Cx) -> Verdict<Reply> {
    let reply = asked_barely(cx).await?;
    if reply.result().is_ok() {
        return Err(Stop::skip("the server is open"));
    }
    Ok(reply)
}

/// The token that all other checks send.
fn good(cx: &Cx) -> Verdict<String> {
    let headers = cx.endpoint()?.headers(false);
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
    let token = found.and_then(|(_, value)| value.split_once(' ')).map(|(_, token)| token.trim());
    token.map(str::to_owned).ok_or_else(|| {
        Stop::skip("there is no good token; --token gives one, or --issuer has the suite mint it")
    })
}

/// The suite's own issuer, which the server trusts.
fn own(cx: &Cx) -> Verdict<&Own> {
    let own = cx.endpoint()?.ways.tokens.own.as_ref();
    own.ok_or_else(|| Stop::skip("the server does not trust the suite's own issuer (--issuer)"))
}

/// Scopes that a discover is told to lack, or a call of a tool that needs one, with a token that is good for less.
fn poor(cx: &Cx) -> Verdict<(Message, String)> {
    let tokens = &cx.endpoint()?.ways.tokens;
    let token = match (&tokens.scopes, &tokens.own) {
        (Some(given), _) => given.clone(),
        (None, Some(own)) => own.token(&serde_json::json!({ "scope": null })),
        (None, None) => {
            return Err(Stop::skip("there is no token of too few scopes (--token-scopes)"));
        }
    };
    let call = match cx.tool(SCOPED) {
        Ok(_) => cx.call(SCOPED, serde_json::json!({})),
        Err(_) => cx.request("server/discover"),
    };
    Ok((call, token))
}

/// The tool that needs the scope `conformance:write`.
const SCOPED: &str = "test_scoped";

/// The request was served.
fn served(reply: &Reply) -> Verdict {
    reply.has_status(200)?;
    reply.result().map(drop)
}

/// The request was refused for lack of a good token, which the answer asks for.
fn unauthorized(reply: &Reply) -> Verdict<Vec<Challenge>> {
    reply.has_status(401)?;
    challenged(reply)
}

/// The same, or 400 for what cannot be a token.
fn malformed(reply: &Reply) -> Verdict {
    if reply.status() == Some(400) {
        return has_no_result(reply);
    }
    unauthorized(reply).map(drop)
}

/// The token was found wanting, and the client is told so in the way of RFC 6750.
fn invalid(cx: &Cx, reply: &Reply) -> Verdict {
    let challenges = unauthorized(reply)?;
    let is_told = challenges.iter().any(|it| it.get("error") == Some("invalid_token"));
    let seen = reply.head.as_ref().and_then(|head| head.get("WWW-Authenticate"));
    cx.warnings.unless(
        is_told,
        r#"a challenge with error="invalid_token""#,
        seen.unwrap_or_default(),
    );
    Ok(())
}

/// The challenges of a refusal, of which one at least asks for a token.
fn challenged(reply: &Reply) -> Verdict<Vec<Challenge>> {
    has_no_result(reply)?;
    let fields = reply.head.iter().flat_map(|head| head.all("WWW-Authenticate"));
    let challenges = Challenge::all(fields)?;
    let asks = challenges.iter().any(|it| it.is_of("Bearer") || it.is_of("DPoP"));
    expect(asks, "WWW-Authenticate with the scheme Bearer or DPoP", challenge::shown(&challenges))?;
    Ok(challenges)
}

fn has_no_result(reply: &Reply) -> Verdict {
    let has_result = reply.messages.iter().any(|message| message.get("result").is_some());
    expect(!has_result, "no result", reply.told())
}

/// Sends each variant on a connection of its own, and judges what comes back.
async fn each<N: Display>(
    cx: &Cx,
    variants: impl IntoIterator<Item = (N, Post)>,
    judge: impl Fn(&Reply) -> Verdict,
) -> Verdict {
    for (name, post) in variants {
        if cx.carries(&post) {
            cx.send(&post).await.and_then(|reply| judge(&reply)).of(name)?;
        }
    }
    Ok(())
}

/// Sends a discover with each of these bearer tokens, and judges what comes back.
async fn each_token<N: Display>(
    cx: &Cx,
    tokens: impl IntoIterator<Item = (N, String)>,
    judge: impl Fn(&Reply) -> Verdict,
) -> Verdict {
    for (name, token) in tokens {
        each(cx, [(name, with(cx, format!("Bearer {token}"))?)], &judge).await?;
    }
    Ok(())
}
