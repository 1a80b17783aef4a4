//! How headers may be written.

use super::judge::{mismatch, mismatch_or_plain_400, refused, served};
use super::{STANDARD, discover, each, known_call, plain_call};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::Verdict;
use crate::wire::message::VERSION;

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-header-name-case", Http, case),
    server_check!("server-http-header-whitespace", Http, white_space),
    server_check!("server-http-header-bad-characters", Http, bad_characters),
    server_check!("server-http-header-duplicate", Http, duplicates),
];

async fn case(cx: Cx) -> Verdict {
    let (message, tool) = known_call(&cx)?;
    let post = cx.post(&message)?;
    let mixed = |name: &str| {
        let swap = |c: char| {
            if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
        };
        name.chars().map(swap).collect()
    };
    let variants = [
        ("names in lower case", post.clone().renamed(str::to_ascii_lowercase)),
        ("names in upper case", post.clone().renamed(str::to_ascii_uppercase)),
        ("names in mixed case", post.clone().renamed(mixed)),
    ];
    each(&cx, variants, served).await?;
    let mut variants =
        vec![("the method in upper case", post.clone().set("Mcp-Method", "TOOLS/CALL"))];
    let other = mixed(&tool);
    if other != tool {
        variants.push(("the name in another case", post.set("Mcp-Name", other)));
    }
    each(&cx, variants, |reply| mismatch(reply, &message)).await
}

async fn white_space(cx: Cx) -> Verdict {
    let (message, post) = discover(&cx)?;
    let mut padded = vec![
        (
            "before and behind the version",
            post.clone().set(STANDARD[0], format!(" \t{VERSION} \t")),
        ),
        ("before and behind the method", post.clone().set("Mcp-Method", "\t server/discover\t")),
    ];
    if let Ok((call, tool)) = known_call(&cx) {
        padded.push((
            "before and behind the name",
            cx.post(&call)?.set("Mcp-Name", format!("  {tool}  ")),
        ));
    }
    if !cx.is_http2() {
        each(&cx, padded, served).await?;
        let spaced = post.clone().without("Mcp-Method").header("Mcp-Method ", "server/discover");
        each(&cx, [("before the colon", spaced)], |reply| {
            reply.has_status(400)?;
            refused(reply)
        })
        .await?;
    }
    let inside = [
        ("within the method", post.clone().set("Mcp-Method", "server / discover")),
        ("within the version", post.set(STANDARD[0], "2026- 07-28")),
    ];
    each(&cx, inside, |reply| mismatch(reply, &message)).await
}

async fn bad_characters(cx: Cx) -> Verdict {
    let (message, _) = plain_call(&cx)?;
    let post = cx.post(&message)?;
    for name in STANDARD {
        let right = match name {
            "MCP-Protocol-Version" => VERSION,
            "Mcp-Method" => "tools/call",
            _ => message.name().unwrap_or_default(),
        };
        let variants = [&b"\x01"[..], b"\x7f", b"\x80", "\u{f6}".as_bytes()].map(|bad| {
            let what = format!("{name} with {}", bad.escape_ascii());
            (what, post.clone().set(name, [right.as_bytes(), bad].concat()))
        });
        each(&cx, variants, |reply| mismatch_or_plain_400(reply, &message)).await?;
    }
    // In another form it would be right. Whether the name or its tool is found wrong first is not fixed.
    let message = cx.call("w\u{f6}rld", serde_json::json!({}));
    let post = cx.post(&message)?.set("Mcp-Name", "w\u{f6}rld");
    each(&cx, [("a name in UTF-8", post)], |reply| {
        reply.has_status(400)?;
        refused(reply)
    })
    .await
}

async fn duplicates(cx: Cx) -> Verdict {
    let (message, is_known) = plain_call(&cx)?;
    let name = message.name().unwrap_or_default();
    let post = cx.post(&message)?;
    for (header, right, wrong) in
        [("Mcp-Method", "tools/call", "tools/list"), ("Mcp-Name", name, "other")]
    {
        let lower = header.to_ascii_lowercase();
        let one = post.clone().without(header);
        let variants = [
            ("right, then wrong", one.clone().header(header, right).header(header, wrong)),
            ("wrong, then right", one.clone().header(header, wrong).header(header, right)),
            (
                "right, then wrong in lower case",
                one.clone().header(header, right).header(&lower, wrong),
            ),
            (
                "wrong, then right in lower case",
                one.clone().header(header, wrong).header(&lower, right),
            ),
            ("both in one line", one.clone().header(header, format!("{right}, {wrong}"))),
        ];
        let variants = variants.map(|(what, post)| (format!("{header} {what}"), post));
        each(&cx, variants, |reply| mismatch(reply, &message)).await?;
        let twice = one.header(header, right).header(header, right);
        each(&cx, [(format!("{header} twice the same"), twice)], |reply| {
            if is_known && served(reply).is_ok() { Ok(()) } else { refused(reply) }
        })
        .await?;
    }
    Ok(())
}
