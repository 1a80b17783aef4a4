//! What happens to tokens.

use serde_json::{Value, json};

use super::super::{Answer, Cx, Seen};
use super::metadata::behind_blanks;
use super::pkce::long_life;
use super::registration::registering;
use super::stranger::Stranger;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-auth-bearer", Http, bearer),
    client_check!("client-auth-redirect-token", Http, redirect_token),
    client_check!("client-auth-https-only", Http, https_only),
    client_check!("client-auth-token-response-hostile", Http, hostile_response),
];

async fn bearer(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let trail = long_life(&cx, registering()).await?;
    let since = trail.token_request()?.number;
    for seen in trail.at(Place::Mcp).filter(|seen| seen.number > since) {
        let head = seen.head.as_ref();
        let headers = head.iter().flat_map(|head| head.all("Authorization")).collect::<Vec<_>>();
        let is_bearer = matches!(&*headers, [one] if one.split_once(' ').is_some_and(
            |(scheme, token)| scheme.eq_ignore_ascii_case("Bearer") && token.starts_with("access-")
        ));
        let shown = format!("{headers:?} with {}", seen.method());
        expect(is_bearer, "one header Authorization: Bearer TOKEN", shown)?;
    }
    for seen in &trail.requests {
        let (target, body) = (seen.target(), String::from_utf8_lossy(&seen.body));
        let is_in = |text: &str| text.contains("access-") && text.contains("-s3cret");
        let leaks = is_in(target) || is_in(&body) || seen.header("Referer").is_some_and(is_in);
        expect(!leaks, "tokens only in the Authorization header", format!("{target} {body}"))?;
        let is_document = matches!(Place::of(seen), Place::Resource | Place::Issuer);
        let header = seen.header("Authorization").filter(|_| is_document);
        cx.warnings.unless(header.is_none(), "no token for metadata", header.unwrap_or_default());
    }
    Ok(())
}

/// What no stranger is to see.
fn is_secret(seen: &Seen) -> bool {
    seen.header("Authorization").is_some()
        || ["-s3cret", "code_verifier=", "client_secret="].iter().any(|text| seen.mentions(text))
}

async fn redirect_token(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for status in [307, 308] {
        for place in [Place::Mcp, Place::Token, Place::Issuer, Place::Resource] {
            let stranger = Stranger::here(&cx).await?;
            let origin = stranger.origin.clone();
            let world = registering().bend(place, move |visit| {
                // The server asks for a token first.
                if place == Place::Mcp && visit.token.is_none() {
                    return None;
                }
                let there = format!("{origin}{}", visit.seen.target());
                Some(Answer::accepted().status(status).header("Location", there))
            });
            let trail = world.play(&cx).await?;
            let after = format!("a redirect {status} of {place:?} to another port");
            trail.came_to(place, &after)?;
            trail.ended(&after)?;
            let leak = stranger.seen().into_iter().find(is_secret);
            let seen = || leak.as_ref().map(|seen| seen.target().to_owned()).unwrap_or_default();
            expect(leak.is_none(), format!("no credentials there after {after}"), seen())?;
        }
    }
    Ok(())
}

async fn https_only(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let places = ["authorization_endpoint", "token_endpoint", "registration_endpoint"];
    for name in places {
        let stranger = Stranger::outside(&cx).await?;
        let there = format!("{}/there", stranger.origin);
        let trail = registering().metadata(json!({ name: there })).play(&cx).await?;
        let after = format!("an {name} at {there}");
        trail.came_to(Place::Issuer, &after)?;
        trail.ended(&after)?;
        for seen in stranger.seen() {
            let is_bare = seen.http_method() == "GET" && !is_secret(&seen);
            let shown = format!("{} {}", seen.http_method(), seen.target());
            expect(is_bare, format!("nothing there in clear text after {after}"), &*shown)?;
            cx.warnings.unless(false, format!("no visit after {after}"), shown);
        }
    }
    Ok(())
}

async fn hostile_response(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    let token = |token: Value| json!({ "access_token": token, "token_type": "Bearer" });
    let page = Answer::bytes("text/html", "<!DOCTYPE html><title>Welcome</title>");
    let answers = [
        ("a page", page),
        ("an error with status 200", Answer::json(json!({ "error": "server_error" }))),
        ("no access_token", Answer::json(json!({ "token_type": "Bearer", "expires_in": 3600 }))),
        ("an empty access_token", Answer::json(token("".into()))),
        ("the access_token 5", Answer::json(token(5.into()))),
        ("a token with CR and LF", Answer::json(token("a\r\nX-Injected: 1".into()))),
        ("a token with LF", Answer::json(token("a\nX-Injected: 1\n".into()))),
        ("a token of 1 MiB", Answer::json(token("a".repeat(1024 * 1024).into()))),
        ("a token behind 64 MiB of blanks", behind_blanks(&token("late".into()))),
    ];
    for (what, answer) in answers {
        let after = format!("a token response with {what}");
        let world = World::new().bend(Place::Token, move |_| Some(answer.clone()));
        let trail = world.play(&cx).await?;
        trail.came_to(Place::Token, &after)?;
        trail.ended(&after)?;
        let told = trail.told.iter().any(|told| told.get("result").is_some());
        expect(!told, "no result without a token", format!("one after {after}"))?;
        no_injection(&trail.requests, &after)?;
    }
    let odd = [
        json!({ "token_type": null }),
        json!({ "token_type": "N_A" }),
        json!({ "expires_in": "3600" }),
        json!({ "expires_in": -1 }),
        json!({ "expires_in": 1e30 }),
        json!({ "scope": 5 }),
    ];
    for members in odd {
        let after = format!("{members} in the token response");
        let trail = World::new().token(members.clone()).renewed(members).play(&cx).await?;
        trail.came_to(Place::Token, &after)?;
        trail.ended(&after)?;
        expect(!trail.told.is_empty(), "an error or a result", format!("nothing after {after}"))?;
    }
    Ok(())
}

fn no_injection(requests: &[Seen], after: &str) -> Verdict {
    let injected = requests.iter().any(|seen| seen.header("X-Injected").is_some());
    expect(!injected, "no header that the token response made", format!("one after {after}"))
}
