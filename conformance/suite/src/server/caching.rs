//! Hints about caching.

use serde_json::{Map, Value};

use super::lists::List;
use super::resources::{listed, read};
use super::{Cx, Session, asks};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-caching-hints", Both, hints),
    server_check!("server-caching-ttl", Both, ttl).last(),
    server_check!("server-caching-scope-pages", Both, scope_pages),
    server_check!("server-caching-public-same", Http, public_same),
];

async fn hints(cx: Cx) -> Verdict {
    for (what, result) in cacheable(&cx, &mut cx.session()).await? {
        let told = shown(&result);
        let ttl = at(&result, "/ttlMs");
        expect(is_whole(ttl), format!("{what}: ttlMs, an integer"), &*told)?;
        let scope = at(&result, "/cacheScope");
        let is_known = *scope == "public" || *scope == "private";
        expect(is_known, format!("{what}: cacheScope public or private"), &*told)?;
    }
    let asking = cx.call("test_input_required_result_elicitation", Value::Object(Map::new()));
    if let Ok(result) = asks(&cx.ask(&asking).await?) {
        let has_none = result.get("ttlMs").is_none() && result.get("cacheScope").is_none();
        cx.warnings.unless(has_none, "no hints in a result that asks", shown(result));
    }
    Ok(())
}

/// Runs last: it looks at every result so far, beside those that it asks for itself.
async fn ttl(cx: Cx) -> Verdict {
    cacheable(&cx, &mut cx.session()).await?;
    for noted in cx.record.all() {
        let Some(ttl) = noted.message.pointer("/result/ttlMs") else { continue };
        let number = ttl.as_f64().filter(|_| is_whole(ttl));
        let is_right = number.is_some_and(|ttl| (0.0..=9_007_199_254_740_991.0).contains(&ttl));
        let expected = format!("{}: ttlMs from 0 to 2^53-1", noted.method);
        expect(is_right, expected, shown(ttl))?;
    }
    Ok(())
}

async fn scope_pages(cx: Cx) -> Verdict {
    let (mut session, mut several) = (cx.session(), false);
    for list in List::offered(&cx) {
        let pages = list.pages(&cx, &mut session).await?;
        several |= pages.len() > 1;
        let scopes = pages.iter().map(|page| at(page, "/cacheScope")).collect::<Vec<_>>();
        let is_same = scopes.iter().all(|scope| Some(scope) == scopes.first());
        expect(is_same, format!("{}: the same on all pages", list.method), format!("{scopes:?}"))?;
    }
    if several { Ok(()) } else { Err(Stop::skip("no list has several pages")) }
}

async fn public_same(cx: Cx) -> Verdict {
    let other = cx.as_other()?;
    let mine = cacheable(&cx, &mut cx.session()).await?;
    let mut session = other.session();
    let mut seen = false;
    for (request, result) in messages(&cx, &mut session).await? {
        let Some((_, own)) = mine.iter().find(|(what, _)| *what == told(&request)) else {
            continue;
        };
        if *at(own, "/cacheScope") == "public" {
            seen = true;
            let expected = format!("{}: the same for every user", told(&request));
            expect(bare(own) == bare(&result), expected, shown(&result))?;
        }
    }
    if seen { Ok(()) } else { Err(Stop::skip("nothing is public")) }
}

/// A result without what may differ.
fn bare(result: &Value) -> Value {
    let mut bare = result.clone();
    if let Some(members) = bare.as_object_mut() {
        members.remove("_meta");
        members.remove("ttlMs");
    }
    bare
}

/// What may be cached of a server, and what it was asked for: all pages of all lists, and the first resource.
async fn cacheable(cx: &Cx, session: &mut Session) -> Verdict<Vec<(String, Value)>> {
    let all = messages(cx, session).await?;
    Ok(all.into_iter().map(|(request, result)| (told(&request), result)).collect())
}

async fn messages(cx: &Cx, session: &mut Session) -> Verdict<Vec<(Message, Value)>> {
    let mut requests = vec![cx.request("server/discover")];
    requests.extend(List::offered(cx).into_iter().map(|list| cx.request(list.method)));
    requests.extend(listed(cx).next().map(|uri| read(cx, uri)));
    let mut all = Vec::new();
    for first in requests {
        let mut next = Some(first);
        while let Some(request) = next {
            let reply = session.ask(&request).await?;
            let Ok(result) = reply.result() else { break };
            let cursor = at(result, "/nextCursor").clone();
            let more = cursor.is_string() && all.len() < RESULTS;
            next = more.then(|| cx.request(request.method()).param("cursor", cursor));
            all.push((request, result.clone()));
        }
    }
    all.retain(|(_, result)| *at(result, "/resultType") == "complete");
    Ok(all)
}

/// What a request asks for, for people and for comparison.
fn told(request: &Message) -> String {
    let more = request.get("cursor").or_else(|| request.get("uri"));
    format!("{} {}", request.method(), more.map(shown).unwrap_or_default())
}

fn is_whole(number: &Value) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
}

/// Results that are looked at.
const RESULTS: usize = 200;
