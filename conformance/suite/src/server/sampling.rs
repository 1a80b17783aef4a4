//! Sampling: what servers ask models, and what they make of the answers.

use serde_json::{Map, Value, json};

use super::Cx;
use super::rounds::{
    self, Question, Round, asks, everything, first_rounds, is_refusal, is_success, questions,
};
use crate::check::{Check, server_check};
use crate::shape::{conforms, has_shape};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-sampling-request-shape", Both, request_shape),
    server_check!("server-sampling-tools-capability", Both, tools_capability),
    server_check!("server-sampling-include-context", Both, include_context),
    server_check!("server-sampling-tool-loop", Both, tool_loop),
    server_check!("server-sampling-loop-limit", Both, loop_limit),
    server_check!("server-sampling-validates", Both, validates),
];

async fn request_shape(cx: Cx) -> Verdict {
    for Question { by, params, .. } in questions(&cx, &everything(), METHOD).await? {
        has_shape(&params, "sampling").map_err(|stop| stop.of(&by))?;
        let messages = messages(&params);
        expect(!messages.is_empty(), format!("{by}: messages"), shown(&params))?;
        for message in messages {
            let content = at(message, "/content");
            let is_empty = content.as_array().is_some_and(Vec::is_empty);
            expect(!is_empty, format!("{by}: content in each message"), shown(message))?;
        }
        let limit = at(&params, "/maxTokens").as_u64();
        let told = shown(&params);
        let is_some = limit.is_some_and(|limit| limit > 0);
        cx.warnings.unless(is_some, format!("{by}: a positive maxTokens"), told);
    }
    Ok(())
}

async fn tools_capability(cx: Cx) -> Verdict {
    let mut samples = false;
    for capabilities in [json!({ "sampling": {} }), json!({ "sampling": { "context": {} } })] {
        for (by, reply) in first_rounds(&cx, &capabilities).await? {
            for question in rounds::questions_of(by, &reply).iter().filter(|it| it.method == METHOD)
            {
                samples = true;
                let params = &question.params;
                let uses = params.get("tools").is_some() || params.get("toolChoice").is_some();
                let expected = format!("{by}: no tools of a client with {capabilities}");
                expect(!uses, expected, reply.told())?;
            }
            if by == SAMPLES_WITH_TOOLS && reply.error().is_ok() {
                rounds::lacks(&reply, "/sampling/tools")?;
                samples = true;
            }
        }
    }
    if samples { Ok(()) } else { Err(Stop::skip("nothing of the server samples")) }
}

async fn include_context(cx: Cx) -> Verdict {
    for capabilities in [json!({ "sampling": {} }), everything()] {
        for Question { by, params, .. } in questions(&cx, &capabilities, METHOD).await? {
            let asked = at(&params, "/includeContext");
            let is_none = asked.is_null() || *asked == "none";
            expect(is_none, format!("{by}: includeContext none, or no such member"), shown(asked))?;
        }
    }
    Ok(())
}

async fn tool_loop(cx: Cx) -> Verdict {
    let mut round = Round::of_tool(&cx, SAMPLES_WITH_TOOLS).await?;
    let tool = at(&asked(&round.result)?, "/tools/0").clone();
    let uses = uses(&tool, &["call_1", "call_2"], &["Paris", "London"]);
    let reply = round.answer(&cx, round.all(&uses)).await?;
    if asks(&reply).is_err() {
        return Err(Stop::skip("the tool ends without a second round"));
    }
    is_balanced(&cx, &asked(&round.result)?, &tool)?;
    let said = json!({ "role": "assistant", "content": { "type": "text", "text": "Rain." },
        "model": "m", "stopReason": "endTurn" });
    let reply = round.answer(&cx, round.all(&said)).await?;
    expect(is_success(&reply), "a complete result at the end", reply.told())
}

/// Every use of a tool is answered once, in a message of answers alone that follows at once.
fn is_balanced(cx: &Cx, params: &Value, tool: &Value) -> Verdict {
    let messages = messages(params);
    let mut rest = messages.iter();
    let mut answered = 0;
    while let Some(message) = rest.next() {
        let used = ids(message, "tool_use", "/id");
        let given = ids(message, "tool_result", "/toolUseId");
        expect(given.is_empty(), "results only behind the uses that they answer", shown(message))?;
        if used.is_empty() {
            continue;
        }
        let next = rest.next().unwrap_or(&Value::Null);
        let told = shown(next);
        let blocks = blocks(next);
        let are_results = blocks.iter().all(|block| at(block, "/type") == "tool_result");
        let is_of_user = *at(next, "/role") == "user" && are_results;
        expect(is_of_user, "a message of the user with tool results alone", &*told)?;
        let mut given = ids(next, "tool_result", "/toolUseId");
        let mut used = used;
        given.sort();
        used.sort();
        expect(given == used, format!("one result for each of {used:?}"), &*told)?;
        answered += used.len();
        let schema = at(tool, "/outputSchema");
        for structured in blocks.iter().filter_map(|block| block.get("structuredContent")) {
            let conforms = !schema.is_object() || conforms(structured, schema).is_ok();
            cx.warnings.unless(conforms, "a result that fits the tool's outputSchema", &*told);
        }
    }
    expect(answered == 2, "both uses of the tool in the messages", shown(params))
}

async fn loop_limit(cx: Cx) -> Verdict {
    let mut round = Round::of_tool(&cx, SAMPLES_WITH_TOOLS).await?;
    for turn in 0..TURNS {
        let params = asked(&round.result)?;
        let tool = at(&params, "/tools/0").clone();
        if tool.is_null() || at(&params, "/toolChoice/mode") == "none" {
            return Ok(());
        }
        let uses = uses(&tool, &[&format!("call_{turn}")], &["Paris"]);
        let reply = round.answer(&cx, round.all(&uses)).await?;
        if asks(&reply).is_err() {
            return reply.response().map(drop);
        }
    }
    Err(Stop::fail("an end of the loop", format!("none in {TURNS} turns")))
}

async fn validates(cx: Cx) -> Verdict {
    let text = json!({ "type": "text", "text": "Paris" });
    let wrong = [
        json!({ "role": "system", "content": text, "model": "m" }),
        json!({ "role": "assistant", "model": "m" }),
        json!({ "role": "assistant", "content": { "type": "text" }, "model": "m" }),
        json!({ "role": "assistant", "content": 5, "model": "m" }),
        json!({}),
    ];
    let mut round = Round::of_tool(&cx, "test_input_required_result_sampling").await?;
    for answer in wrong {
        let retry = round.retry(&cx, round.all(&answer));
        let reply = round.session.orderly(&retry).await?;
        is_refusal(&reply).map_err(|stop| stop.of(answer.to_string()))?;
        round = round.anew(&cx).await?;
    }
    Ok(())
}

/// The params of the question that samples.
fn asked(result: &Value) -> Verdict<Value> {
    let mut requests = at(result, "/inputRequests").as_object().into_iter().flatten();
    let request = requests.find(|(_, request)| at(request, "/method") == METHOD);
    let params = request.map(|(_, request)| at(request, "/params").clone());
    params.ok_or_else(|| Stop::fail("a question by sampling/createMessage", shown(result)))
}

/// An answer of a model that uses the tool once for each id.
fn uses(tool: &Value, ids: &[&str], cities: &[&str]) -> Value {
    let mut input = Cx::arguments_of(tool).as_object().cloned().unwrap_or_default();
    let blocks = ids.iter().zip(cities).map(|(id, city)| {
        if input.contains_key("city") {
            input.extend(Map::from_iter([("city".to_owned(), Value::from(*city))]));
        }
        json!({ "type": "tool_use", "id": id, "name": at(tool, "/name"), "input": input })
    });
    let blocks = blocks.collect::<Vec<_>>();
    json!({ "role": "assistant", "content": blocks, "model": "m", "stopReason": "toolUse" })
}

fn messages(params: &Value) -> &[Value] {
    at(params, "/messages").as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The blocks of a message, be it one or several.
fn blocks(message: &Value) -> Vec<&Value> {
    match at(message, "/content") {
        Value::Array(blocks) => blocks.iter().collect(),
        Value::Null => Vec::new(),
        block => vec![block],
    }
}

fn ids(message: &Value, kind: &str, member: &str) -> Vec<String> {
    let blocks = blocks(message).into_iter().filter(|block| *at(block, "/type") == *kind);
    blocks.map(|block| at(block, member).to_string()).collect()
}

const METHOD: &str = "sampling/createMessage";
const SAMPLES_WITH_TOOLS: &str = "test_sampling_with_tools";
/// Turns after which a server should have had enough.
const TURNS: usize = 200;
