//! What clients post.

use serde_json::{Value, json};

use super::super::asking::{call, tool, with};
use super::super::base::is_message;
use super::super::schema::everything;
use super::super::script::{after, try_calls};
use super::super::{Answer, Cx, Seen, good, result_of};
use super::{decoded, is_plain};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{cut, shown};
use crate::wire::message::META_VERSION;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-http-posts", Http, posts),
    client_check!("client-http-accept", Http, accept).last(),
    client_check!("client-http-version-header", Http, version_header),
    client_check!("client-http-standard-headers", Http, standard_headers),
    client_check!("client-http-name-encoded", Http, name_encoded),
    client_check!("client-http-no-responses", Http, no_responses),
];

async fn posts(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    for seen in &played.requests {
        let line = format!("{} {}", seen.http_method(), seen.target());
        expect(line == "POST /mcp", "POST to the URL that was given", line)?;
        let body = cut(&String::from_utf8_lossy(&seen.body));
        expect(seen.message.is_object(), "one JSON object as the whole body", body)?;
        let media_type = seen.header("Content-Type").unwrap_or_default();
        let is_json = media_type.to_ascii_lowercase().starts_with("application/json");
        cx.warnings.unless(is_json, "Content-Type: application/json", media_type);
    }
    played.first("tools/call").map(drop)
}

async fn accept(cx: Cx) -> Verdict {
    everything(&cx).await?.first("tools/call")?;
    for noted in cx.record.all().iter().filter(|noted| is_message(noted)) {
        let Some(head) = &noted.head else { continue };
        let accepted = head.all("Accept").collect::<Vec<_>>().join(", ");
        for media_type in ["application/json", "text/event-stream"] {
            let is_there = accepted.split(',').any(|range| accepts(range, media_type));
            let expected = format!("{media_type} in Accept of {}", noted.method);
            expect(is_there, expected, accepted.clone())?;
        }
    }
    Ok(())
}

/// Whether a range of `Accept` names this type, and wants it.
fn accepts(range: &str, media_type: &str) -> bool {
    let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
    let is_named = parts.next().is_some_and(|it| it == media_type);
    let unwanted = |part: String| {
        let q = part.strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
        q.is_some_and(|q| q <= 0.0)
    };
    is_named && !parts.any(unwanted)
}

/// The one header of this name.
fn one<'s>(seen: &'s Seen, name: &str) -> Verdict<&'s str> {
    let all = seen.head.iter().flat_map(|head| head.all(name)).collect::<Vec<_>>();
    match *all {
        [one] => Ok(one),
        _ => Err(Stop::fail(format!("{name} once with {}", seen.method()), format!("{all:?}"))),
    }
}

async fn version_header(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    for seen in played.requests.iter().filter(|seen| seen.message.get("id").is_some()) {
        let header = one(seen, "MCP-Protocol-Version")?;
        let told = seen.meta(META_VERSION);
        let expected = format!("MCP-Protocol-Version as in _meta, which has {told}");
        expect(told == header, expected, header)?;
    }
    Ok(())
}

async fn standard_headers(cx: Cx) -> Verdict {
    let played = everything(&cx).await?;
    played.first("tools/call")?;
    // What headers a notification needs, no sentence says.
    for seen in played.requests.iter().filter(|seen| seen.message.get("id").is_some()) {
        let method = one(seen, "Mcp-Method")?;
        expect(method == seen.method(), format!("Mcp-Method: {}", seen.method()), method)?;
        let Some(name) = named(seen) else {
            let name = seen.header("Mcp-Name").filter(|_| !seen.method().starts_with("tasks/"));
            let expected = format!("no Mcp-Name with {}", seen.method());
            cx.warnings.unless(name.is_none(), expected, name.unwrap_or_default());
            continue;
        };
        let header = one(seen, "Mcp-Name")?;
        let expected = format!("an Mcp-Name that stands for {name}");
        expect(decoded(header).is_some_and(|it| *name == *it), expected, header)?;
    }
    Ok(())
}

/// What `Mcp-Name` is to say of a request, if it is to be there.
fn named(seen: &Seen) -> Option<&Value> {
    match seen.method() {
        "tools/call" | "prompts/get" => Some(seen.param("name")),
        "resources/read" => Some(seen.param("uri")),
        _ => None,
    }
}

const NAMES: &[&str] = &[
    "plain",
    "n\u{e4}me",
    " lead",
    "trail ",
    "tab\tin",
    "in ner",
    "=?base64?eA==?=",
    "\"quoted\"",
    "\u{65e5}\u{672c}",
];

async fn name_encoded(cx: Cx) -> Verdict {
    let part = |seen: &Seen| {
        let members = match seen.method() {
            "tools/list" => {
                let tools = NAMES.iter().map(|name| tool(name, json!({})));
                json!({ "tools": tools.collect::<Vec<_>>() })
            }
            "prompts/list" => {
                let prompts = NAMES.iter().map(|name| json!({ "name": name }));
                json!({ "prompts": prompts.collect::<Vec<_>>() })
            }
            _ => return good(seen),
        };
        Answer::result(seen, with(result_of(seen), members))
    };
    let mut steps = vec![json!({ "do": "tools/list" }), json!({ "do": "prompts/list" })];
    for name in NAMES {
        let uri = format!("test://{name}");
        steps.push(call(name));
        steps.push(json!({ "do": "prompts/get", "params": { "name": name } }));
        steps.push(json!({ "do": "resources/read", "params": { "uri": uri } }));
    }
    let played = cx.play(Value::Array(steps), part).await?;
    played.first("tools/call")?;
    // Names that a client does not let its caller use are not judged.
    for (seen, name) in played.requests.iter().filter_map(|seen| Some((seen, named(seen)?))) {
        let name = name.as_str().unwrap_or_default();
        let header = one(seen, "Mcp-Name")?;
        let expected = format!("an Mcp-Name that stands for {name:?}");
        expect(decoded(header).is_some_and(|it| it == name), expected, header)?;
        let is_wrapped = header != name;
        expect(is_plain(name) || is_wrapped, format!("{name:?} as Base64"), header)?;
    }
    Ok(())
}

async fn no_responses(cx: Cx) -> Verdict {
    let cases = ["roots/list", "ping", "elicitation/create"];
    let tried = try_calls(&cx, &cases, |seen| match seen.case() {
        "fine" | "" => good(seen),
        method => after([request(method)], seen),
    });
    let tried = tried.await?;
    tried.goes_on()?;
    for seen in &tried.played.requests {
        expect(!seen.method().is_empty(), "no response posted", shown(&seen.message))?;
    }
    Ok(())
}

/// A request such as servers of earlier revisions send.
pub(in super::super) fn request(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": "from-the-server", "method": method, "params": {} })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for range in ["text/event-stream", " Text/Event-Stream;q=0.5", "text/event-stream; a=b"] {
            assert!(accepts(range, "text/event-stream"), "{range}");
        }
        for range in ["*/*", "text/*", "text/event-stream;q=0", "text/event-stream; Q=0.0"] {
            assert!(!accepts(range, "text/event-stream"), "{range}");
        }
    }
}
