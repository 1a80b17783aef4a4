//! Forms and pages for the user.

use serde_json::{Value, json};

use super::asking::{asker, call, declared_everywhere, form, tick, visit};
use super::trap::Trap;
use super::{Cx, Played};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-elicitation-declared", Both, declared),
    client_check!("client-elicitation-modes", Both, modes),
    client_check!("client-elicitation-mode-omitted", Both, mode_omitted),
    client_check!("client-elicitation-defaults", Both, defaults),
    client_check!("client-elicitation-decline", Both, decline),
    client_check!("client-elicitation-content", Both, content),
    client_check!("client-elicitation-validates", Both, validates),
    client_check!("client-elicitation-url-no-fetch", Both, url_no_fetch),
];

async fn declared(cx: Cx) -> Verdict {
    declared_everywhere(&cx, "elicitation", tick()).await
}

/// Has the client asked for a form and for a page, with these members in what it is told.
async fn form_and_page(cx: &Cx, told: Value, page: &str) -> Verdict<Played> {
    let questions = json!({ "ask_form": { "form": tick() }, "ask_url": { "page": visit(page) } });
    let mut context = told;
    context["steps"] = json!([call("ask_form"), call("ask_url")]);
    let played = cx.play_with(context, asker(questions)).await?;
    played.ended_well()?;
    Ok(played)
}

async fn modes(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    for told in [json!({}), json!({ "capabilities": { "elicitation": {} } })] {
        let played = form_and_page(&cx, told, &trap.url("/visit")).await?;
        played.needs("/elicitation")?;
        let declared = played.first("tools/call")?.capability("/elicitation");
        let has_mode = played.declares("/elicitation/form") || played.declares("/elicitation/url");
        expect(has_mode, "form or url in elicitation, each an object", shown(declared))?;
        for (key, mode) in [("form", "/elicitation/form"), ("page", "/elicitation/url")] {
            if played.declares(mode) {
                let answer = played.answered(key)?;
                let action = at(answer, "/action").as_str().unwrap_or_default();
                let is_known = matches!(action, "accept" | "decline" | "cancel");
                expect(is_known, "accept, decline or cancel", shown(answer))?;
            } else if let Some(answer) = played.answer(key) {
                let accepts = at(answer, "/action") == "accept";
                expect(!accepts, "nothing accepted that was not declared", shown(answer))?;
            }
        }
    }
    Ok(())
}

async fn mode_omitted(cx: Cx) -> Verdict {
    let mut question = tick();
    if let Some(params) = question.pointer_mut("/params").and_then(Value::as_object_mut) {
        params.remove("mode");
    }
    let part = asker(json!({ "ask": { "form": question } }));
    let played = cx.play(json!([call("ask")]), part).await?;
    played.needs("/elicitation/form")?;
    let answer = played.answered("form")?;
    let has_content = !at(answer, "/content").is_null();
    match at(answer, "/action").as_str() {
        Some("accept") => expect(
            at(answer, "/content/confirmed").is_boolean(),
            "content with a boolean confirmed",
            shown(answer),
        ),
        Some("decline" | "cancel") => expect(!has_content, "no content", shown(answer)),
        _ => Err(Stop::fail("an answer to a form", shown(answer))),
    }
}

async fn defaults(cx: Cx) -> Verdict {
    let colours = json!({ "type": "string", "enum": ["Red", "Green", "Blue"] });
    let mut question = form(json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["inactive", "active"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
        "colours": { "type": "array", "items": colours, "default": ["Red"] },
    }));
    question["params"]["requestedSchema"]["required"] = json!([]);
    let part = asker(json!({ "ask": { "form": question } }));
    let played = cx.play(json!([call("ask")]), part).await?;
    played.needs("/elicitation/form")?;
    let answer = played.answered("form")?;
    if at(answer, "/action") != "accept" {
        return Err(Stop::skip("the client does not accept the form"));
    }
    let properties = at(&question, "/params/requestedSchema/properties").as_object();
    for (name, property) in properties.into_iter().flatten() {
        let (default, seen) = (at(property, "/default"), at(answer, &format!("/content/{name}")));
        let is_same = seen == default || (default.is_number() && seen.as_f64() == default.as_f64());
        expect(is_same, format!("{name} {default}"), shown(answer))?;
    }
    Ok(())
}

async fn decline(cx: Cx) -> Verdict {
    for action in ["decline", "cancel"] {
        let context =
            json!({ "steps": [call("ask")], "answers": { "elicitation": { "action": action } } });
        let played = cx.play_with(context, asker(json!({ "ask": { "form": tick() } }))).await?;
        played.needs("/elicitation")?;
        played.step(0)?;
        match played.answer("form") {
            Some(answer) => expect(
                at(answer, "/action") == action && at(answer, "/content").is_null(),
                format!("{action}, without content"),
                shown(answer),
            )?,
            // The call may end there: what the server wants to know it will not learn.
            None => drop(played.error(0)?),
        }
    }
    Ok(())
}

async fn content(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    let played = form_and_page(&cx, json!({}), &trap.url("/visit")).await?;
    if let Some(answer) = played.answer("page") {
        expect(at(answer, "/content").is_null(), "no content for a page", shown(answer))?;
    } else if played.answer("form").is_none() {
        return Err(Stop::skip("the client answers neither forms nor pages"));
    }
    let Some(answer) = played.answer("form") else { return Ok(()) };
    let members = at(answer, "/content").as_object();
    if at(answer, "/action") == "accept" {
        let are_plain = members.is_some_and(|members| members.values().all(is_plain));
        expect(are_plain, "content of texts, numbers, booleans and arrays of texts", shown(answer))
    } else {
        expect(members.is_none(), "no content where nothing was accepted", shown(answer))
    }
}

fn is_plain(value: &Value) -> bool {
    let are_texts = |all: &Vec<Value>| all.iter().all(Value::is_string);
    value.is_string()
        || value.is_number()
        || value.is_boolean()
        || value.as_array().is_some_and(are_texts)
}

async fn validates(cx: Cx) -> Verdict {
    let status = json!({ "type": "string", "enum": ["a", "b"] });
    let question = form(json!({ "age": { "type": "integer" }, "status": status }));
    for content in [json!({ "age": "old", "status": "unknown" }), json!({})] {
        let answer = json!({ "action": "accept", "content": content });
        let context = json!({ "steps": [call("ask")], "answers": { "elicitation": answer } });
        let part = asker(json!({ "ask": { "form": question } }));
        let played = cx.play_with(context, part).await?;
        played.needs("/elicitation/form")?;
        played.step(0)?;
        let accepted = played.answers("form").find(|answer| at(answer, "/action") == "accept");
        let seen = || accepted.map(shown).unwrap_or_default();
        expect(accepted.is_none(), "no content that breaks the form's schema", seen())?;
    }
    Ok(())
}

async fn url_no_fetch(cx: Cx) -> Verdict {
    let trap = Trap::set().await?;
    for action in ["decline", "accept"] {
        let told = json!({ "answers": { "elicitation": { "action": action } } });
        let played = form_and_page(&cx, told, &trap.url("/visit?by=user")).await?;
        played.needs("/elicitation/url")?;
        trap.is_untouched("the page that only the user may open").await?;
    }
    Ok(())
}
