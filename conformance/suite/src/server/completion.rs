//! Completion of arguments.

use serde_json::{Value, json};

use super::callable::name;
use super::lists::{INVALID, undeclared, wrong};
use super::prompts::prompt;
use super::{Cx, INTERNAL, Session};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-completion-declared", Both, declared),
    server_check!("server-completion-undeclared", Both, is_undeclared),
    server_check!("server-completion-unknown-ref", Both, unknown_ref),
    server_check!("server-completion-missing-argument", Both, missing_argument),
    server_check!("server-completion-validates", Both, validates),
    server_check!("server-completion-limit", Both, limit),
    server_check!("server-completion-internal-error", Both, internal_error),
];

async fn declared(cx: Cx) -> Verdict {
    let declared = at(&cx.offer().discover, "/capabilities/completions");
    let reply = cx.ask(&good(&cx)).await?;
    if reply.error().is_ok() && declared.is_null() {
        return Err(Stop::skip("the server completes nothing"));
    }
    expect(declared.is_object(), "the capability completions, since it answers", reply.told())
}

async fn is_undeclared(cx: Cx) -> Verdict {
    undeclared(&cx, "completions", &[good(&cx)]).await
}

async fn unknown_ref(cx: Cx) -> Verdict {
    cx.needs("/completions")?;
    let argument = json!({ "name": "x", "value": "" });
    let prompt = json!({ "type": "ref/prompt", "name": "no_such_prompt_7f3a" });
    let mut session = cx.session();
    wrong(&mut session, &complete(&cx, prompt, argument.clone())).await?;
    let template = json!({ "type": "ref/resource", "uri": "test://no-such-template/{x}" });
    let reply = session.orderly(&complete(&cx, template, argument)).await?;
    nothing_or_error(&reply)
}

async fn missing_argument(cx: Cx) -> Verdict {
    cx.needs("/completions")?;
    let (mut session, good) = (cx.session(), good(&cx));
    let less = [
        cx.again(&good).without_param("argument"),
        cx.again(&good).param("argument", json!({ "value": "" })),
        cx.again(&good).param("argument", json!({ "name": "x" })),
        cx.again(&good).without_param("ref"),
    ];
    for message in less {
        wrong(&mut session, &message).await?;
    }
    Ok(())
}

async fn validates(cx: Cx) -> Verdict {
    cx.needs("/completions")?;
    let (mut session, good) = (cx.session(), good(&cx));
    let argument = good.get("argument").cloned().unwrap_or_default();
    let name = at(&argument, "/name").clone();
    let bad = [
        cx.again(&good).param("ref", json!({ "type": "ref/none", "name": "x" })),
        cx.again(&good).param("argument", json!({ "name": name, "value": 5 })),
        cx.again(&good).param("context", json!({ "arguments": ["x"] })),
        cx.again(&good).param("context", json!({ "arguments": { "x": 5 } })),
    ];
    for message in bad {
        let reply = session.orderly(&message).await?;
        let code = at(reply.error()?, "/code");
        cx.warnings.unless(*code == INVALID, "error -32602", reply.told());
    }
    let unknown = json!({ "name": "no_such_argument_7f3a", "value": "" });
    let reply = session.orderly(&cx.again(&good).param("argument", unknown)).await?;
    let is_right = nothing_or_error(&reply).is_ok();
    cx.warnings.unless(is_right, "error -32602 or no values for no argument of it", reply.told());
    Ok(())
}

async fn limit(cx: Cx) -> Verdict {
    cx.needs("/completions")?;
    let (mut session, mut seen) = (cx.session(), false);
    let fixture = prompt(&cx, FIXTURE).is_ok();
    for value in ["", "item-1"].into_iter().filter(|_| fixture) {
        let argument = json!({ "name": "item", "value": value });
        let reply = ask(&cx, &mut session, FIXTURE, argument).await?;
        is_within_limits(&reply)?;
        let values = at(reply.result()?, "/completion/values");
        seen |= values.as_array().is_some_and(|values| !values.is_empty());
    }
    for prompt in &cx.offer().prompts {
        for argument in at(prompt, "/arguments").as_array().into_iter().flatten() {
            let argument = json!({ "name": at(argument, "/name"), "value": "" });
            let reply = ask(&cx, &mut session, name(prompt), argument).await?;
            if reply.result().is_ok() {
                is_within_limits(&reply)?;
                seen = true;
            }
        }
    }
    if seen { Ok(()) } else { Err(Stop::skip("nothing was completed")) }
}

async fn internal_error(cx: Cx) -> Verdict {
    cx.needs("/completions")?;
    if at(prompt(&cx, FAILING)?, "/arguments/0/name") != "item" {
        return Err(Stop::skip(format!("{FAILING} has no argument \"item\"")));
    }
    let argument = json!({ "name": "item", "value": "" });
    let reply = ask(&cx, &mut cx.session(), FAILING, argument).await?;
    reply.has_code(INTERNAL).map(drop)
}

async fn ask(cx: &Cx, session: &mut Session, prompt: &str, argument: Value) -> Verdict<Reply> {
    let reference = json!({ "type": "ref/prompt", "name": prompt });
    session.ask(&complete(cx, reference, argument)).await
}

fn is_within_limits(reply: &Reply) -> Verdict {
    let completion = at(reply.result()?, "/completion");
    let told = shown(completion);
    let values = at(completion, "/values").as_array();
    let values = values.ok_or_else(|| Stop::fail("values, an array", &*told))?;
    expect(values.iter().all(Value::is_string), "values that are strings", &*told)?;
    let count = values.len();
    expect(count <= 100, "at most 100 values", format!("{count}"))?;
    if let Some(total) = completion.get("total") {
        let total = total.as_f64().unwrap_or(-1.0);
        expect(total >= count as f64, "a total of at least the values", &*told)?;
        let says_none = total > count as f64 && *at(completion, "/hasMore") == false;
        expect(!says_none, "hasMore where the total is more", &*told)?;
    }
    Ok(())
}

/// Nothing to suggest, or an error of the parameters.
fn nothing_or_error(reply: &Reply) -> Verdict {
    let response = reply.response()?;
    let values = response.pointer("/result/completion/values").and_then(Value::as_array);
    let is_right = match values {
        Some(values) => values.is_empty(),
        None => *at(response, "/error/code") == INVALID,
    };
    expect(is_right, "error -32602, or no values", reply.told())
}

/// A completion that a server should know how to do, if it does any.
fn good(cx: &Cx) -> Message {
    let prompts = &cx.offer().prompts;
    let named = |prompt: &&Value| !at(prompt, "/arguments/0/name").is_null();
    let known = prompts.iter().find(|prompt| name(prompt) == "test_prompt_with_arguments");
    if let Some(prompt) = known.or_else(|| prompts.iter().find(named)) {
        let reference = json!({ "type": "ref/prompt", "name": name(prompt) });
        let argument = json!({ "name": at(prompt, "/arguments/0/name"), "value": "" });
        return complete(cx, reference, argument);
    }
    let template = cx.offer().templates.first().map(|template| at(template, "/uriTemplate"));
    let template = template.and_then(Value::as_str).unwrap_or("test://{x}");
    let variable = template.split(['{', '}']).nth(1).unwrap_or("x");
    let variable = variable.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let reference = json!({ "type": "ref/resource", "uri": template });
    complete(cx, reference, json!({ "name": variable, "value": "" }))
}

fn complete(cx: &Cx, reference: Value, argument: Value) -> Message {
    cx.request("completion/complete").param("ref", reference).param("argument", argument)
}

const FIXTURE: &str = "test_prompt_with_completions";
const FAILING: &str = "test_failing_prompt";
