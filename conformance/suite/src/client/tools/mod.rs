//! Tools: what calls carry, and what clients make of results.

mod headers;

use serde_json::{Value, json};

use super::asking::{asks, call, tick, tool, with};
use super::giving_up::waits_to_be_left;
use super::trap::Trap;
use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) use headers::CHECKS as HEADER_CHECKS;

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-tools-retry-id", Both, retry_id),
    client_check!("client-tools-name-case", Both, name_case),
    client_check!("client-tools-output-schema", Both, output_schema),
    client_check!("client-tools-error-delivered", Both, error_delivered),
    client_check!("client-tools-result-validated", Both, result_validated),
    client_check!("client-tools-no-ref-fetch", Both, no_ref_fetch),
    client_check!("client-tools-timeout", Both, times_out),
];

/// The list of these tools.
fn lists(seen: &Seen, tools: Value) -> Answer {
    Answer::result(seen, with(result_of(seen), json!({ "tools": tools })))
}

/// The result of a call, with these members in place of those of a right one.
fn returns(seen: &Seen, members: Value) -> Answer {
    let content = json!([{ "type": "text", "text": "done" }]);
    let right = json!({ "resultType": "complete", "content": content });
    Answer::result(seen, with(Some(right), members))
}

async fn retry_id(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match (seen.method(), seen.turn) {
        ("tools/call", 0 | 1) => asks(seen, json!({ format!("round-{}", seen.turn): tick() })),
        _ => good(seen),
    };
    let params = json!({ "name": "echo", "arguments": { "text": "hi" } });
    let played = cx.play(json!([{ "do": "tools/call", "params": params }]), part).await?;
    let calls = played.of("tools/call").collect::<Vec<_>>();
    let [first, retries @ ..] = &*calls else { return Err(Stop::fail("a call", "none")) };
    if retries.is_empty() {
        return Err(Stop::skip("the client does not answer an elicitation"));
    }
    for retry in retries {
        let earlier = played.requests.iter().take_while(|seen| seen.number < retry.number);
        let is_new = earlier.into_iter().all(|seen| seen.id() != retry.id());
        let seen = || shown(&retry.message);
        expect(is_new && !retry.id().is_null(), "an id that was not used before", seen())?;
        let is_same =
            retry.name() == first.name() && retry.param("arguments") == first.param("arguments");
        expect(is_same, "the same tool with the same arguments", seen())?;
    }
    Ok(())
}

async fn name_case(cx: Cx) -> Verdict {
    let part = |seen: &Seen| match seen.method() {
        "tools/list" => {
            let text = json!({ "text": { "type": "string" } });
            lists(seen, json!([tool("Echo", text), tool("echo", json!({}))]))
        }
        "tools/call" => {
            let text = json!([{ "type": "text", "text": format!("I am {}", seen.name()) }]);
            returns(seen, json!({ "content": text }))
        }
        _ => good(seen),
    };
    let names = ["Echo", "echo"];
    let played = cx.play(json!([{ "do": "tools/list" }, call("Echo"), call("echo")]), part).await?;
    let listed = listed(played.result(0)?);
    expect(listed == names, "both tools, Echo and echo", listed.join(", "))?;
    let called = played.of("tools/call").map(Seen::name).collect::<Vec<_>>();
    expect(called == names, "calls of Echo and of echo", called.join(", "))?;
    for (step, (seen, name)) in played.of("tools/call").zip(names).enumerate() {
        if cx.is_http() {
            let header = seen.header("Mcp-Name").unwrap_or_default();
            expect(header == name, format!("Mcp-Name: {name}"), header)?;
        }
        let result = played.result(step + 1)?;
        let text = at(result, "/content/0/text");
        expect(*text == format!("I am {name}"), format!("the answer of {name}"), shown(result))?;
    }
    Ok(())
}

/// The names of the tools that a client told its caller of.
fn listed(result: &Value) -> Vec<&str> {
    let tools = at(result, "/tools").as_array();
    tools.into_iter().flatten().filter_map(|tool| at(tool, "/name").as_str()).collect()
}

async fn output_schema(cx: Cx) -> Verdict {
    let promising = |name: &str| {
        let properties = json!({ "n": { "type": "integer" } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["n"] });
        with(Some(tool(name, json!({}))), json!({ "outputSchema": schema }))
    };
    let tools = json!([promising("wrong"), promising("missing"), promising("right")]);
    let part = move |seen: &Seen| match (seen.method(), seen.name()) {
        ("tools/list", _) => lists(seen, tools.clone()),
        (_, "wrong") => returns(seen, json!({ "structuredContent": { "n": "x" } })),
        (_, "right") => returns(seen, json!({ "structuredContent": { "n": 1 } })),
        (_, "missing") => returns(seen, json!({})),
        _ => good(seen),
    };
    let steps = json!([{ "do": "tools/list" }, call("wrong"), call("missing"), call("right")]);
    let played = cx.play(steps, part).await?;
    let right = at(played.result(3)?, "/structuredContent/n");
    expect(right == 1, "the structured content as it came", shown(right))?;
    played.error(1)?;
    played.error(2)?;
    Ok(())
}

async fn error_delivered(cx: Cx) -> Verdict {
    const WHY: &str = "the date has to be in the future";
    let part = |seen: &Seen| match seen.method() {
        "tools/call" => {
            let content = json!([{ "type": "text", "text": WHY }]);
            returns(seen, json!({ "isError": true, "content": content }))
        }
        _ => good(seen),
    };
    let played = cx.play(json!([call("echo")]), part).await?;
    let told = played.step(0)?;
    expect(told.to_string().contains(WHY), format!("the tool's own words: {WHY}"), shown(told))
}

async fn result_validated(cx: Cx) -> Verdict {
    let wrong = [
        json!({ "content": null }),
        json!({ "content": {} }),
        json!({ "content": [{ "text": "no type" }] }),
        json!({ "content": [{ "type": "image", "mimeType": "image/png" }] }),
        json!({ "content": [{ "type": "text", "text": 7 }] }),
        json!({ "isError": "yes" }),
    ];
    let results = wrong.clone();
    let part = move |seen: &Seen| match seen.method() {
        "tools/call" => returns(seen, results.get(seen.turn).cloned().unwrap_or_else(|| json!({}))),
        _ => good(seen),
    };
    let steps = vec![call("echo"); wrong.len() + 1];
    let played = cx.play(Value::Array(steps), part).await?;
    for (step, members) in wrong.iter().enumerate() {
        let told = played.step(step)?;
        let expected = format!("an error after a result that has {members}");
        expect(told.get("error").is_some(), expected, shown(told))?;
    }
    played.result(wrong.len())?;
    Ok(())
}

async fn no_ref_fetch(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let schema = |keyword: &str| {
        json!({
            "type": "object", "properties": { "a": { keyword: trap.url("/schema.json#/$defs/a") } },
        })
    };
    let mut tools = ["$ref", "$dynamicRef"].map(|keyword| {
        json!({ "name": keyword, "inputSchema": schema(keyword), "outputSchema": schema(keyword) })
    });
    let [tool, other] = &mut tools;
    tool["inputSchema"]["$id"] = trap.url("/id.json").into();
    for schema in ["inputSchema", "outputSchema"] {
        other[schema]["$schema"] = trap.url("/dialect.json").into();
    }
    let tools = json!(tools);
    let part = move |seen: &Seen| match seen.method() {
        "tools/list" => lists(seen, tools.clone()),
        "tools/call" => returns(seen, json!({ "structuredContent": { "a": 1 } })),
        _ => good(seen),
    };
    let call = |name: &str| json!({ "do": "tools/call", "params": { "name": name, "arguments": { "a": 1 } } });
    let steps = json!([{ "do": "tools/list" }, call("$ref"), call("$dynamicRef")]);
    // What else comes of schemas that nobody can read is up to the client.
    let played = cx.play(steps, part).await?;
    played.first("tools/list")?;
    trap.is_untouched("where the schemas point").await
}

async fn times_out(cx: Cx) -> Verdict {
    let mut played = Played::default();
    for ms in [200, 3_000, 20_000] {
        let mut step = call("an open stream");
        step["timeout_ms"] = ms.into();
        played = cx.play(json!([step, { "do": "tools/list" }]), waits_to_be_left()).await?;
        // On a machine that has much else to do the time may be over before the call was sent.
        if played.of("tools/call").next().is_some() {
            break;
        }
    }
    played.error(0)?;
    played.result(1)?;
    if cx.is_http() {
        let is_left = played.left.contains(&played.first("tools/call")?.number);
        expect(is_left, "the stream of the call to be closed", "it stayed open")?;
    }
    Ok(())
}
