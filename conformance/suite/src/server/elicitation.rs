//! Elicitation: what servers ask users, and what they make of the answers.

use serde_json::{Value, json};

use super::rounds::{self, Question, Round, everything, first_rounds, is_refusal, is_success};
use super::uri::{Uri, has_secrets};
use super::{Cx, INTERNAL};
use crate::check::{Check, server_check};
use crate::shape::{conforms, has_shape};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::Reply;
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-elicitation-request-shape", Both, request_shape),
    server_check!("server-elicitation-form-schema", Both, form_schema),
    server_check!("server-elicitation-modes", Both, modes),
    server_check!("server-elicitation-url-shape", Both, url_shape),
    server_check!("server-elicitation-url-https", Both, url_https),
    server_check!("server-elicitation-url-no-secrets", Both, url_no_secrets),
    server_check!("server-elicitation-form-no-secrets", Both, form_no_secrets),
    server_check!("server-elicitation-form-no-links", Both, form_no_links),
    server_check!("server-elicitation-decline", Both, decline),
    server_check!("server-elicitation-cancel", Both, cancel),
    server_check!("server-elicitation-unanswered", Both, unanswered),
    server_check!("server-elicitation-validates", Both, validates),
    server_check!("server-elicitation-other-user", Http, other_user),
];

async fn request_shape(cx: Cx) -> Verdict {
    for Question { by, params, .. } in elicitations(&cx).await? {
        let told = || format!("{by}: {}", shown(&params));
        let message = at(&params, "/message").as_str().unwrap_or_default();
        expect(!message.is_empty(), "a message", told())?;
        let mode = params.get("mode");
        let is_known = mode.is_none_or(|mode| *mode == "form" || *mode == "url");
        expect(is_known, "mode form, url or none", told())?;
        if mode.is_none_or(|mode| *mode == "form") {
            expect(at(&params, "/requestedSchema").is_object(), "a requestedSchema", told())?;
        }
    }
    Ok(())
}

async fn form_schema(cx: Cx) -> Verdict {
    for Question { by, params, .. } in forms(&cx).await? {
        let schema = at(&params, "/requestedSchema");
        has_shape(schema, "form").map_err(|stop| stop.of(&by))?;
        let fields = at(schema, "/properties");
        for name in at(schema, "/required").as_array().into_iter().flatten() {
            let is_field = name.as_str().is_some_and(|name| fields.get(name).is_some());
            expect(is_field, format!("{by}: required fields that are there"), shown(name))?;
        }
        for field in fields.as_object().into_iter().flatten().map(|(_, field)| field) {
            if let Some(default) = field.get("default") {
                conforms(default, field).map_err(|stop| stop.of(&by))?;
            }
        }
    }
    Ok(())
}

async fn modes(cx: Cx) -> Verdict {
    let table: [(Value, &[&str]); 4] = [
        (json!({ "elicitation": {} }), &["form"]),
        (json!({ "elicitation": { "form": {} } }), &["form"]),
        (json!({ "elicitation": { "url": {} } }), &["url"]),
        (json!({}), &[]),
    ];
    for (capabilities, allowed) in table {
        for (by, reply) in first_rounds(&cx, &capabilities).await? {
            let questions = rounds::questions_of(by, &reply);
            let asked = questions.iter().filter(|it| it.method == "elicitation/create");
            for question in asked {
                let expected = format!("{by}: of a client with {capabilities} only {allowed:?}");
                expect(allowed.contains(&question.mode()), expected, reply.told())?;
            }
            if let Ok(error) = reply.error() {
                let is_right = *at(error, "/code") == super::LACKING
                    && at(error, "/data/requiredCapabilities").is_object();
                let expected = format!("{by}: error -32021 with requiredCapabilities");
                cx.warnings.unless(is_right, expected, reply.told());
            }
        }
    }
    Ok(())
}

async fn url_shape(cx: Cx) -> Verdict {
    for Question { by, params, .. } in urls(&cx).await? {
        let told = || format!("{by}: {}", shown(&params));
        let message = at(&params, "/message").as_str().unwrap_or_default();
        expect(!message.is_empty(), "a message", told())?;
        let uri = at(&params, "/url").as_str().and_then(Uri::parse);
        let uri = uri.ok_or_else(|| Stop::fail("an absolute URL", told()))?;
        let is_web = matches!(&*uri.scheme, "http" | "https");
        expect(!is_web || !uri.host().is_empty(), "a URL with a host", told())?;
        expect(params.get("requestedSchema").is_none(), "no requestedSchema", told())?;
    }
    Ok(())
}

async fn url_https(cx: Cx) -> Verdict {
    for Question { by, params, .. } in urls(&cx).await? {
        let Some(uri) = at(&params, "/url").as_str().and_then(Uri::parse) else { continue };
        let is_local = matches!(uri.host(), "localhost" | "127.0.0.1" | "[::1]");
        expect(uri.scheme == "https" || is_local, format!("{by}: https"), shown(&params))?;
    }
    Ok(())
}

/// A guess by names; so it only warns.
async fn url_no_secrets(cx: Cx) -> Verdict {
    for Question { by, params, .. } in urls(&cx).await? {
        let Some(uri) = at(&params, "/url").as_str().and_then(Uri::parse) else { continue };
        let names = uri.parameters();
        let is_clean = !uri.has_userinfo()
            && !uri.text.contains('@')
            && !uri.text.contains("%40")
            && !names.iter().any(|name| TELLING.contains(&&**name));
        cx.warnings.unless(is_clean, format!("{by}: nothing of a user in it"), uri.text);
    }
    Ok(())
}

/// Names of parameters of a URL that give something away.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "access_token",
    "id_token",
    "api_key",
    "sig",
    "signature",
    "session",
    "email",
];

/// A guess by names; so it only warns.
async fn form_no_secrets(cx: Cx) -> Verdict {
    for Question { by, params, .. } in forms(&cx).await? {
        let fields = at(&params, "/requestedSchema/properties").as_object();
        for (name, field) in fields.into_iter().flatten() {
            let title = at(field, "/title").as_str().unwrap_or_default();
            let is_clean = !has_secrets(name) && !has_secrets(title);
            cx.warnings.unless(is_clean, format!("{by}: no secrets in forms"), name);
        }
    }
    Ok(())
}

async fn form_no_links(cx: Cx) -> Verdict {
    for Question { by, params, .. } in forms(&cx).await? {
        let mut schema = at(&params, "/requestedSchema").clone();
        // The dialect is no link, and what is to be a URL may show one.
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("$schema");
        }
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(fields) = fields {
            fields.retain(|_, field| at(field, "/format") != "uri");
        }
        for text in [shown(at(&params, "/message")), schema.to_string()] {
            let has_link = text.contains("http://") || text.contains("https://");
            expect(!has_link, format!("{by}: no links in forms"), text)?;
        }
    }
    Ok(())
}

async fn decline(cx: Cx) -> Verdict {
    refused(&cx, "decline").await
}

async fn cancel(cx: Cx) -> Verdict {
    refused(&cx, "cancel").await
}

/// That the user does not want to is no fault of anybody.
async fn refused(cx: &Cx, action: &str) -> Verdict {
    let mut round = Round::of_tool(cx, ASKS_NAME).await?;
    let reply = answered(cx, &mut round, json!({ "action": action })).await?;
    let code = at(reply.response()?, "/error/code");
    expect(*code != INTERNAL, "any result, or an error that is not -32603", reply.told())
}

/// Gives the same answer to all that is asked, which the server has to bear.
async fn answered(cx: &Cx, round: &mut Round, response: Value) -> Verdict<Reply> {
    let retry = round.retry(cx, round.all(&response));
    round.session.orderly(&retry).await
}

async fn unanswered(cx: Cx) -> Verdict {
    let unanswered = Round::of_tool(&cx, ASKS_NAME).await?;
    let mut round = unanswered.anew(&cx).await?;
    let none = round.retry(&cx, json!({})).without_param("inputResponses");
    let empty = round.retry(&cx, round.all(&json!({})));
    for retry in [none, empty] {
        let reply = round.session.orderly(&retry).await?;
        expect(!is_success(&reply), "no success before there is an answer", reply.told())?;
    }
    let mut anew = round.anew(&cx).await?;
    expect(!anew.keys().is_empty(), "the question anew", shown(&anew.result))?;
    let good = anew.all(&json!({ "action": "accept", "content": { "name": "Ann" } }));
    let reply = anew.answer(&cx, good).await?;
    expect(is_success(&reply), "a complete result", reply.told())
}

async fn validates(cx: Cx) -> Verdict {
    let wrong = [
        json!({ "action": "accept", "content": { "name": 12345 } }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept" }),
        json!({ "action": "maybe", "content": { "name": "Ann" } }),
        json!({ "action": "accept", "content": [] }),
    ];
    let mut round = Round::of_tool(&cx, ASKS_NAME).await?;
    for response in wrong {
        let told = response.to_string();
        let reply = answered(&cx, &mut round, response).await?;
        is_refusal(&reply).map_err(|stop| stop.of(told))?;
        round = round.anew(&cx).await?;
    }
    let extra = json!({ "name": "Ann", "extra": { "nested": true } });
    let response = json!({ "action": "accept", "content": extra });
    answered(&cx, &mut round, response).await.map(drop)
}

async fn other_user(cx: Cx) -> Verdict {
    let other = cx.as_other()?;
    let mut round = Round::of_tool(&cx, "test_input_required_result_request_state").await?;
    if round.result.get("requestState").is_none() {
        return Err(Stop::skip("there is no requestState"));
    }
    let good = round.all(&json!({ "action": "accept", "content": { "ok": true } }));
    let reply = other.ask(&round.retry(&other, good.clone())).await?;
    expect(!is_success(&reply), "no success with the state of another user", reply.told())?;
    let reply = round.answer(&cx, good).await?;
    expect(is_success(&reply), "a complete result for the one who was asked", reply.told())
}

async fn elicitations(cx: &Cx) -> Verdict<Vec<Question>> {
    rounds::questions(cx, &everything(), "elicitation/create").await
}

async fn forms(cx: &Cx) -> Verdict<Vec<Question>> {
    with_mode(cx, "form").await
}

async fn urls(cx: &Cx) -> Verdict<Vec<Question>> {
    with_mode(cx, "url").await
}

async fn with_mode(cx: &Cx, mode: &str) -> Verdict<Vec<Question>> {
    let mut all = elicitations(cx).await?;
    all.retain(|question| question.has_mode(mode));
    if all.is_empty() {
        return Err(Stop::skip(format!("nothing of the server elicits by {mode}")));
    }
    Ok(all)
}

const ASKS_NAME: &str = "test_input_required_result_elicitation";
