//! Where a token stands, and in which form. RFC 6750, section 2.

use super::{
    AUTHORIZATION, each, good, has_no_result, malformed, protected, served, unauthorized, with,
};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Verdict, expect};
use crate::wire::Post;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-auth-two-credentials", Http, two_credentials),
    server_check!("server-auth-token-in-query", Http, in_query),
    server_check!("server-auth-scheme-forms", Http, scheme_forms),
];

/// The request with the token in its query.
fn queried(post: Post, token: &str) -> Post {
    let target = post.parts().1;
    let mark = if target.contains('?') { '&' } else { '?' };
    let target = format!("{target}{mark}access_token={token}");
    post.target(target)
}

async fn in_query(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let good = good(&cx)?;
    let discover = with(&cx, "")?.without(AUTHORIZATION);
    let form = discover
        .clone()
        .set("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("access_token={good}"));
    each(&cx, [("in the query", queried(discover, &good))], |reply| unauthorized(reply).map(drop))
        .await?;
    each(&cx, [("in a form", form)], |reply| {
        has_no_result(reply)?;
        reply.has_status_in(400..500)
    })
    .await
}

async fn two_credentials(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let good = good(&cx)?;
    let (right, wrong) = (format!("Bearer {good}"), "Bearer junk");
    let once = with(&cx, &*right)?;
    each(&cx, [("one", once.clone())], served).await?;
    let none = once.clone().without(AUTHORIZATION);
    let two = |first: &str, second: &str| {
        none.clone().header(AUTHORIZATION, first).header(AUTHORIZATION, second)
    };
    let variants = [
        ("a good one and a bad one", two(&right, wrong)),
        ("a bad one and a good one", two(wrong, &right)),
    ];
    each(&cx, variants, malformed).await?;
    // Queries carry no tokens any more: whoever looks for none there sees one token, and may serve it.
    let reply = cx.send(&queried(once.clone(), &good)).await?;
    let is_answer = reply.has_status_in(400..500).is_ok() || served(&reply).is_ok();
    expect(
        is_answer,
        "one in the header and one in the query: a refusal or a result",
        reply.told(),
    )?;
    let form = once
        .set("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("access_token={good}"));
    each(&cx, [("one in the header and one in a form", form)], |reply| {
        has_no_result(reply)?;
        reply.has_status_in(400..500)
    })
    .await
}

async fn scheme_forms(cx: Cx) -> Verdict {
    protected(&cx).await?;
    let good = good(&cx)?;
    let same = ["Bearer", "bearer", "BEARER"].map(|scheme| (scheme, format!("{scheme} {good}")));
    for (name, credentials) in same {
        each(&cx, [(name, with(&cx, credentials)?)], served).await?;
    }
    let reply = cx.send(&with(&cx, format!("Bearer  {good}"))?).await?;
    cx.warnings.unless(served(&reply).is_ok(), "two spaces: a result", reply.told());
    let foreign = [
        ("Basic", format!("Basic {good}")),
        ("Token", format!("Token {good}")),
        ("a scheme that begins like Bearer", format!("Bearers {good}")),
    ];
    for (name, credentials) in foreign {
        let variants = [(name, with(&cx, credentials)?)];
        each(&cx, variants, |reply| unauthorized(reply).map(drop)).await?;
    }
    let broken = [("the token alone", good), ("Bearer alone", "Bearer".to_owned())];
    for (name, credentials) in broken {
        each(&cx, [(name, with(&cx, credentials)?)], malformed).await?;
    }
    Ok(())
}
