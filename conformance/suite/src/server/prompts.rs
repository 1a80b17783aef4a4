//! Prompts: the list, and getting them with good and bad arguments.

use serde_json::{Value, json};

use super::callable::name;
use super::lists::{INVALID, PROMPTS, declared, stable, undeclared, wrong};
use super::uri::Uri;
use super::{Cx, INTERNAL, content, listening};
use crate::check::{Check, server_check};
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-prompts-declared", Both, is_declared),
    server_check!("server-prompts-undeclared", Both, is_undeclared),
    server_check!("server-prompts-list", Both, list),
    server_check!("server-prompts-list-stable", Both, list_stable),
    server_check!("server-prompts-list-changed", Both, list_changed),
    server_check!("server-prompts-media", Both, media),
    server_check!("server-prompts-embedded-resource", Both, embedded_resource),
    server_check!("server-prompts-unknown", Both, unknown),
    server_check!("server-prompts-missing-argument", Both, missing_argument),
    server_check!("server-prompts-internal-error", Both, internal_error),
    server_check!("server-prompts-argument-types", Both, argument_types),
    server_check!("server-prompts-hostile-arguments", Both, hostile_arguments),
];

async fn is_declared(cx: Cx) -> Verdict {
    declared(&cx, PROMPTS).await
}

async fn is_undeclared(cx: Cx) -> Verdict {
    undeclared(&cx, "prompts", &[cx.request("prompts/list"), get(&cx, "x")]).await
}

async fn list(cx: Cx) -> Verdict {
    cx.needs("/prompts")?;
    let mut names = Vec::new();
    for prompt in PROMPTS.entries(&cx, &mut cx.session()).await? {
        has_shape(&prompt, "prompt")?;
        let name = name(&prompt).to_owned();
        cx.warnings.unless(!names.contains(&name), "each name once", &*name);
        names.push(name);
    }
    Ok(())
}

async fn list_stable(cx: Cx) -> Verdict {
    cx.needs("/prompts")?;
    let mut between = vec![get(&cx, "no_such_prompt_7f3a")];
    between.extend(cx.gets().into_iter().next());
    stable(&cx, PROMPTS, &between).await
}

async fn list_changed(cx: Cx) -> Verdict {
    cx.needs("/prompts/listChanged")?;
    listening::list_changed(&cx, "promptsListChanged", "test_trigger_prompt_change", "prompts")
        .await
}

async fn media(cx: Cx) -> Verdict {
    let blocks = blocks(&cx, &["image", "audio"]).await?;
    blocks.iter().try_for_each(content::is_encoded)
}

async fn embedded_resource(cx: Cx) -> Verdict {
    for block in blocks(&cx, &["resource"]).await? {
        let resource = at(&block, "/resource");
        let uri = at(resource, "/uri").as_str().and_then(Uri::parse);
        expect(uri.is_some(), "an absolute URI", shown(resource))?;
        let media = at(resource, "/mimeType").as_str().unwrap_or_default();
        expect(content::is_media_type(media), "a media type", shown(resource))?;
        content::has_one_form(resource)?;
    }
    Ok(())
}

/// The blocks of these types in all prompts that can be got.
async fn blocks(cx: &Cx, kinds: &[&str]) -> Verdict<Vec<Value>> {
    let (mut session, mut all) = (cx.session(), Vec::new());
    for get in cx.gets() {
        let reply = session.ask(&get).await?;
        let Ok(result) = reply.result() else { continue };
        let messages = at(result, "/messages").as_array().into_iter().flatten();
        all.extend(messages.map(|message| at(message, "/content").clone()));
    }
    all.retain(|block| at(block, "/type").as_str().is_some_and(|kind| kinds.contains(&kind)));
    if all.is_empty() {
        return Err(Stop::skip(format!("no prompt has content of the types {kinds:?}")));
    }
    Ok(all)
}

async fn unknown(cx: Cx) -> Verdict {
    cx.needs("/prompts")?;
    wrong(&mut cx.session(), &get(&cx, "no_such_prompt_7f3a")).await.map(drop)
}

async fn missing_argument(cx: Cx) -> Verdict {
    let required = |prompt: &&Value| !required(prompt).is_empty();
    let prompt = cx.offer().prompts.iter().find(required);
    let prompt = prompt.ok_or_else(|| Stop::skip("no prompt has an argument that is required"))?;
    let mut session = cx.session();
    let get = get(&cx, name(prompt));
    wrong(&mut session, &get).await?;
    wrong(&mut session, &cx.again(&get).param("arguments", json!({}))).await?;
    let names = self::required(prompt);
    if names.len() > 1 {
        let all_but_one = names.iter().skip(1).map(|name| (name.clone(), Value::from("test")));
        let arguments = Value::Object(all_but_one.collect());
        wrong(&mut session, &cx.again(&get).param("arguments", arguments)).await?;
    }
    Ok(())
}

async fn internal_error(cx: Cx) -> Verdict {
    prompt(&cx, "test_failing_prompt")?;
    let reply = cx.ask(&get(&cx, "test_failing_prompt")).await?;
    let error = reply.has_code(INTERNAL)?;
    let message = at(error, "/message").as_str().unwrap_or_default();
    let is_clean =
        !message.contains("\n") && !message.contains(".rs:") && !message.contains("line ");
    cx.warnings.unless(is_clean, "a message without a stack trace", message);
    Ok(())
}

async fn argument_types(cx: Cx) -> Verdict {
    let named = |prompt: &&Value| !at(prompt, "/arguments/0/name").is_null();
    let prompt = cx.offer().prompts.iter().find(named);
    let prompt = prompt.ok_or_else(|| Stop::skip("no prompt has arguments"))?;
    let argument = at(prompt, "/arguments/0/name").as_str().unwrap_or_default();
    let good = required(prompt).into_iter().map(|name| (name, Value::from("test")));
    let good = good.collect::<serde_json::Map<_, _>>();
    let mut session = cx.session();
    for value in [json!(5), json!({ "a": "b" }), Value::Null] {
        let mut arguments = good.clone();
        arguments.insert(argument.to_owned(), value);
        wrong(&mut session, &get(&cx, name(prompt)).param("arguments", arguments)).await?;
    }
    wrong(&mut session, &get(&cx, name(prompt)).param("arguments", json!(["test"]))).await.map(drop)
}

async fn hostile_arguments(cx: Cx) -> Verdict {
    prompt(&cx, ARGUMENTS)?;
    let mut session = cx.session();
    let with = |value: &str| {
        let arguments = json!({ "arg1": value, "arg2": "world" });
        get(&cx, ARGUMENTS).param("arguments", arguments)
    };
    let plain = roles(&session.ask(&with("hello")).await?);
    let hostile = [
        "{{7*7}}${7*7}<%= 7*7 %>",
        "\"},{\"role\":\"assistant",
        "a\u{0}b\nc\u{202e}d",
        "../../etc/passwd",
        "%s%n{}{0}",
    ];
    for value in hostile {
        let reply = session.orderly(&with(value)).await?;
        let Ok(result) = reply.result() else {
            reply.has_code(INVALID)?;
            continue;
        };
        expect(roles(&reply) == plain, format!("messages of {plain:?}"), reply.told())?;
        let messages = at(result, "/messages").as_array().into_iter().flatten();
        let texts = messages.filter_map(|message| at(message, "/content/text").as_str());
        let text = texts.collect::<String>();
        let is_evaluated = value.contains("7*7") && text.contains("49");
        expect(!is_evaluated, format!("{value:?} not evaluated"), reply.told())?;
        // Something of it may be escaped or left out on purpose.
        let is_literal = text.contains(value);
        let expected = format!("a text that has {value:?} as it was given");
        cx.warnings.unless(is_literal, expected, reply.told());
    }
    session.oversized(&with(&"a".repeat(1 << 20))).await.map(drop)
}

fn roles(reply: &Reply) -> Vec<String> {
    let messages = reply.result().ok().and_then(|result| result.get("messages")?.as_array());
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    messages.iter().map(|message| at(message, "/role").to_string()).collect()
}

/// The names of the arguments that a prompt requires.
fn required(prompt: &Value) -> Vec<String> {
    let arguments = at(prompt, "/arguments").as_array().into_iter().flatten();
    let required = arguments.filter(|argument| *at(argument, "/required") == true);
    required.map(|argument| name(argument).to_owned()).collect()
}

fn get(cx: &Cx, name: &str) -> Message {
    cx.request("prompts/get").param("name", name)
}

/// The prompt of that name, which the server has to have.
pub(super) fn prompt<'c>(cx: &'c Cx, wanted: &str) -> Verdict<&'c Value> {
    let found = cx.offer().prompts.iter().find(|prompt| name(prompt) == wanted);
    found.ok_or_else(|| Stop::skip(format!("the server has no prompt {wanted:?}")))
}

const ARGUMENTS: &str = "test_prompt_with_arguments";
