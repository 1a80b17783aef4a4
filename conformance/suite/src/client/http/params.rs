//! Arguments that are mirrored into headers.

use serde_json::{Value, json};

use super::super::asking::{call, tool, with};
use super::super::{Answer, Cx, Played, Seen, good, result_of};
use super::{decoded, is_plain};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-http-param-mirrored", Http, mirrored),
    client_check!("client-http-param-encoded", Http, encoded),
    client_check!("client-http-param-nested", Http, nested),
    client_check!("client-http-mismatch-relists", Http, mismatch_relists),
];

/// Has the client list a tool with these properties, and call it with each of these arguments.
async fn mirrors(cx: &Cx, properties: Value, all: &[Value]) -> Verdict<Played> {
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => lists(seen, properties.clone()),
        _ => good(seen),
    };
    let calls = all.iter().map(|arguments| {
        json!({ "do": "tools/call", "params": { "name": "mirror", "arguments": arguments } })
    });
    let steps = [json!({ "do": "tools/list" })].into_iter().chain(calls);
    let played = cx.play(Value::Array(steps.collect()), part).await?;
    played.result(0)?;
    Ok(played)
}

fn lists(seen: &Seen, properties: Value) -> Answer {
    let tools = json!([tool("mirror", properties)]);
    Answer::result(seen, with(result_of(seen), json!({ "tools": tools })))
}

fn to(header: &str, kind: &str) -> Value {
    json!({ "type": kind, "x-mcp-header": header })
}

/// The call with these arguments.
fn called<'p>(played: &'p Played, arguments: &Value) -> Verdict<&'p Seen> {
    let called = played.of("tools/call").find(|seen| seen.param("arguments") == arguments);
    called.ok_or_else(|| Stop::fail(format!("a call with {arguments}"), "none"))
}

/// The call has these headers of parameters, and no other.
fn has_headers(seen: &Seen, right: &[(&str, &str)]) -> Verdict {
    const PREFIX: &str = "mcp-param-";
    let all = seen.head.iter().flat_map(|head| head.headers());
    let all = all.map(|(name, value)| (name.to_ascii_lowercase(), value));
    let mut all = all.filter(|(name, _)| name.starts_with(PREFIX)).collect::<Vec<(String, &str)>>();
    all.sort();
    let mut expected = right
        .iter()
        .map(|(name, value)| (format!("{PREFIX}{}", name.to_ascii_lowercase()), *value))
        .collect::<Vec<_>>();
    expected.sort();
    // A text of no length may be sent as it is, or encoded as what a field without a value could get lost for.
    for (_, value) in all.iter_mut().filter(|(_, value)| *value == "=?base64??=") {
        *value = "";
    }
    let arguments = shown(seen.param("arguments"));
    expect(all == expected, format!("{expected:?} for {arguments}"), format!("{all:?}"))
}

async fn mirrored(cx: Cx) -> Verdict {
    let properties = json!({
        "region": to("Region", "string"), "priority": to("Priority", "integer"),
        "verbose": to("Verbose", "boolean"), "empty": to("Empty", "string"),
        "query": { "type": "string" },
    });
    let all = [
        json!({ "region": "us-west1", "query": "x" }),
        json!({ "priority": 42, "verbose": false, "query": "y" }),
        json!({ "priority": -7, "verbose": true, "region": "in the middle", "empty": "" }),
        json!({ "query": "z" }),
        json!({}),
        // A client may hold that this fits no schema, and call nothing.
        json!({ "region": null, "query": "null" }),
    ];
    let right: [&[(&str, &str)]; 5] = [
        &[("Region", "us-west1")],
        &[("Priority", "42"), ("Verbose", "false")],
        &[("Priority", "-7"), ("Verbose", "true"), ("Region", "in the middle"), ("Empty", "")],
        &[],
        &[],
    ];
    let played = mirrors(&cx, properties, &all).await?;
    for (arguments, right) in all.iter().zip(right) {
        has_headers(called(&played, arguments)?, right)?;
    }
    match called(&played, &all[5]) {
        Ok(seen) => has_headers(seen, &[]),
        Err(_) => Ok(()),
    }
}

async fn encoded(cx: Cx) -> Verdict {
    let long = "long ".repeat(1_638) + "end";
    let values = [
        "\u{65e5}\u{672c}\u{8a9e} \u{1f600}",
        " lead",
        "trail ",
        "\tlead",
        "trail\t",
        "a\rb",
        "a\nb",
        "a\r\nX-Injected: 1",
        "a\0b",
        "a\u{7f}b",
        "a\u{80}b",
        "=?base64?eA==?=",
        "=?base64??=",
        "=?base64?x",
        "in  ner",
        "visible ~!@#$%^&*()",
        &long,
    ];
    let all = values.map(|value| json!({ "v": value }));
    let played = mirrors(&cx, json!({ "v": to("V", "string") }), &all).await?;
    for (arguments, value) in all.iter().zip(values) {
        let seen = match called(&played, arguments) {
            // There is no harm in a limit for what goes into a header.
            Err(_) if value == long => continue,
            seen => seen?,
        };
        let injected = seen.header("X-Injected");
        expect(injected.is_none(), "no header that was injected", injected.unwrap_or_default())?;
        let headers = seen.head.iter().flat_map(|head| head.all("Mcp-Param-V"));
        let headers = headers.collect::<Vec<_>>();
        let [header] = *headers else {
            return Err(Stop::fail(
                format!("Mcp-Param-V once for {value:?}"),
                format!("{headers:?}"),
            ));
        };
        let expected = format!("a value that stands for {value:?}");
        expect(decoded(header).is_some_and(|it| it == value), expected, header)?;
        let expected = format!("{value:?} as Base64");
        expect(is_plain(value) || header != value, expected, header)?;
        // What looks half like a wrapped value may be wrapped as well.
        let is_left = header == value || !is_plain(value) || value.starts_with("=?");
        cx.warnings.unless(is_left, format!("{value:?} as it is"), header);
    }
    Ok(())
}

async fn nested(cx: Cx) -> Verdict {
    let inner = json!({ "type": "object", "properties": { "region": to("Region", "string") } });
    let properties = json!({ "target": inner, "other": { "type": "object" } });
    let all = [
        json!({ "target": { "region": "inner" } }),
        json!({ "target": {} }),
        json!({}),
        json!({ "region": "outer" }),
        json!({ "other": { "region": "elsewhere" } }),
        // These may be held back, since they do not fit the schema.
        json!({ "target": null }),
        json!({ "target": "region" }),
    ];
    let played = mirrors(&cx, properties, &all).await?;
    has_headers(called(&played, &all[0])?, &[("Region", "inner")])?;
    for (index, arguments) in all.iter().enumerate().skip(1) {
        match called(&played, arguments) {
            Ok(seen) => has_headers(seen, &[])?,
            Err(_) if index >= 5 => {}
            Err(stop) => return Err(stop),
        }
    }
    Ok(())
}

async fn mismatch_relists(cx: Cx) -> Verdict {
    let steps = || {
        let mut call = call("mirror");
        call["params"]["arguments"] = json!({ "v": "x" });
        json!([{ "do": "tools/list" }, call])
    };
    let part = |is_final: bool| {
        move |seen: &Seen| match (seen.method(), seen.turn) {
            ("tools/list", 0) => lists(seen, json!({ "v": { "type": "string" } })),
            ("tools/list", _) => lists(seen, json!({ "v": to("V", "string") })),
            ("tools/call", _) if is_final || seen.header("Mcp-Param-V").is_none() => {
                Answer::error(seen, -32020, "Mcp-Param-V is missing", Value::Null)
            }
            _ => good(seen),
        }
    };
    let played = cx.play(steps(), part(false)).await?;
    let calls = played.of("tools/call").collect::<Vec<_>>();
    let [first, again] = *calls else {
        return Err(Stop::fail("the call again, once", format!("{} calls", calls.len())));
    };
    let between = first.number..again.number;
    let listed = played.of("tools/list").any(|seen| between.contains(&seen.number));
    expect(listed, "the list read again in between", "not")?;
    expect(first.id() != again.id(), "a new id", again.id().to_string())?;
    played.result(1)?;
    let played = cx.play(steps(), part(true)).await?;
    played.error(1)?;
    let (lists, calls) = (played.of("tools/list").count(), played.of("tools/call").count());
    let seen = format!("{lists} lists and {calls} calls");
    expect(lists <= 2 && calls <= 3, "an end of it where nothing helps", seen)
}
