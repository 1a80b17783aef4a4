//! Answers: the forms they come in, and what is none.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::super::script::{endless, raw, right, try_calls};
use super::super::{Answer, Cx, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::{at, shown};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-http-json-and-sse", Http, json_and_sse),
    client_check!("client-http-content-type-forms", Http, content_type_forms),
    client_check!("client-http-header-name-case", Http, header_name_case),
    client_check!("client-http-wrong-answer", Http, wrong_answer).alone(),
];

async fn json_and_sse(cx: Cx) -> Verdict {
    let cases = ["JSON", "events", "an error in JSON", "an error in an event", "JSON again"];
    let tried = try_calls(&cx, &cases, |seen| {
        let error = || {
            let error = json!({ "code": -32602, "message": "no such tool" });
            json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error })
        };
        match seen.case() {
            "JSON" | "JSON again" => Answer::json(right(seen)),
            "events" => Answer::messages([right(seen)]),
            "an error in JSON" => Answer::json(error()).status(400),
            "an error in an event" => Answer::messages([error()]),
            _ => good(seen),
        }
    });
    let tried = tried.await?;
    for case in ["JSON", "events", "JSON again"] {
        tried.result(case)?;
    }
    for case in ["an error in JSON", "an error in an event"] {
        let error = tried.error(case)?;
        expect(at(error, "/code") == -32602, "the server's own error -32602", shown(error))?;
    }
    tried.goes_on()
}

async fn content_type_forms(cx: Cx) -> Verdict {
    let forms = [
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "Application/JSON",
        "text/event-stream;charset=UTF-8",
        "TEXT/EVENT-STREAM",
    ];
    let tried = try_calls(&cx, &forms, |seen| match seen.case() {
        "fine" | "" => good(seen),
        form => Answer::bytes(form, body(seen, form)),
    });
    tried.await?.all_give_results()
}

/// The right response as a body of this type.
fn body(seen: &Seen, media_type: &str) -> String {
    let json = right(seen).to_string();
    let is_json = media_type.to_ascii_lowercase().starts_with("application/json");
    if is_json { json } else { format!("data: {json}\n\n") }
}

async fn header_name_case(cx: Cx) -> Verdict {
    let names = ["CONTENT-TYPE", "content-type", "cOnTeNt-TyPe", "Content-Type"];
    let forms = ["application/json", "text/event-stream"];
    let cases = names.iter().flat_map(|name| forms.map(|form| format!("{name}: {form}")));
    let cases = cases.collect::<Vec<_>>();
    let cases = cases.iter().map(|case| &**case).collect::<Vec<_>>();
    let tried = try_calls(&cx, &cases, |seen| match seen.case().split_once(": ") {
        Some((name, form)) => Answer::bytes("", body(seen, form)).header(name, form),
        None => good(seen),
    });
    tried.await?.all_give_results()
}

const HTML: &str = "<!doctype html><title>no</title>";

/// Answers that are none, and those that may be taken for one.
const WRONG: &[&str] = &[
    "an empty body",
    "a page",
    "202",
    "204",
    "500 and a page",
    "404 and an error",
    "503",
    "200 and an error",
    "an endless page",
    "endless JSON",
    "an endless 500",
];
const DOUBTFUL: &[&str] = &["no Content-Type", "301", "307", "another id"];

async fn wrong_answer(cx: Cx) -> Verdict {
    let cases = [WRONG, DOUBTFUL].concat();
    let wire = |status: u16, form: &str, start: &str| {
        endless(&format!("HTTP/1.1 {status} X\r\nContent-Type: {form}\r\n\r\n{start}"))
    };
    let (page, page_taken) = wire(200, "text/html", HTML);
    let (json, json_taken) = wire(200, "application/json", "{\"pad\":\"");
    let (error, error_taken) = wire(500, "text/plain", "no ");
    let tried = try_calls(&cx, &cases, move |seen| match seen.case() {
        _ if seen.target() == "/elsewhere" => Answer::bytes("text/html", HTML).status(404),
        "an endless page" => Answer::wire(page.clone()),
        "endless JSON" => Answer::wire(json.clone()),
        "an endless 500" => Answer::wire(error.clone()),
        case => wrong(case, seen),
    });
    let tried = tried.await?;
    for case in WRONG {
        tried.error(case)?;
    }
    for (case, taken) in [("page", page_taken), ("JSON", json_taken), ("500", error_taken)] {
        let taken = taken.load(Ordering::SeqCst);
        // No sentence limits what is read.
        let expected = format!("an endless {case} given up");
        cx.warnings.unless(!taken, expected, "half a gigabyte of it read");
    }
    tried.goes_on()
}

fn wrong(case: &str, seen: &Seen) -> Answer {
    match case {
        "an empty body" => Answer::bytes("application/json", ""),
        "a page" => Answer::bytes("text/html", HTML),
        "202" => Answer::accepted(),
        "204" => Answer::accepted().status(204),
        "500 and a page" => Answer::bytes("text/html", HTML).status(500),
        "404 and an error" => Answer::error(seen, -32601, "Method not found", Value::Null),
        "503" => Answer::bytes("", "").status(503),
        "200 and an error" => Answer::error(seen, -32603, "no", Value::Null).status(200),
        "no Content-Type" => Answer::bytes("", right(seen).to_string()),
        "301" | "307" => {
            let status = case.parse().unwrap_or(301);
            Answer::bytes("", "").status(status).header("Location", "/elsewhere")
        }
        "another id" => {
            let mut message = right(seen);
            message["id"] = "another".into();
            raw(format!("data: {message}\n\n"))
        }
        _ => good(seen),
    }
}
