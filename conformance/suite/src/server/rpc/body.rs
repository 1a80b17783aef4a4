//! Bodies that are no JSON, or no request.

use serde_json::{Value, json};

use super::discover;
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{has_id_or_none, has_no_id, raw, refused, refused_unread};
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, shown};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-jsonrpc-id-echo", Both, id_echo),
    server_check!("server-jsonrpc-parse-error", Both, parse_error),
    server_check!("server-jsonrpc-invalid-request", Both, invalid_request),
    server_check!("server-jsonrpc-bad-id", Both, bad_id),
    server_check!("server-jsonrpc-params-shape", Both, params_shape),
];

async fn id_echo(cx: Cx) -> Verdict {
    let ids = [
        json!(1),
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_991_i64),
        json!("1"),
        json!(""),
        json!("☃ \" \\ \0"),
        json!("i".repeat(1024)),
    ];
    for id in ids {
        for method in ["server/discover", "mcp-conformance/unknown"] {
            let request = Message::request(id.clone(), method);
            let what = format!("{method} under the id {}", shown(&id));
            let reply = raw(&cx, &request, request.text()).await.of(&what)?;
            let found = at(reply.response().of(&what)?, "/id");
            expect(*found == id, format!("{what}: the same id"), reply.told())?;
        }
    }
    for id in [json!(9_223_372_036_854_775_807_i64), json!(18_446_744_073_709_551_615_u64)] {
        let request = Message::request(id.clone(), "server/discover");
        let reply = raw(&cx, &request, request.text()).await.of(&id)?;
        let found = reply.messages.last().and_then(|message| message.get("id"));
        let has_none = found.is_none_or(Value::is_null);
        let is_refused = has_none && refused(&cx, &reply, &[-32600, -32700]).is_ok();
        let expected = format!("the id {id}, digit by digit, or a refusal without id");
        expect(is_refused || found == Some(&id), expected, reply.told())?;
    }
    Ok(())
}

async fn parse_error(cx: Cx) -> Verdict {
    let (request, params) = discover(&cx);
    let text = request.text();
    let bodies = [
        ("an object that does not end", "{".to_owned()),
        ("a comma too many", r#"{"jsonrpc":"2.0",}"#.to_owned()),
        ("an unknown word", "nul".to_owned()),
        ("two messages in one", format!("{text}{text}")),
        (
            "NaN as id",
            format!(r#"{{"jsonrpc":"2.0","id":NaN,"method":"server/discover","params":{params}}}"#),
        ),
        ("a letter behind the end", format!("{text}x")),
    ];
    for (what, body) in bodies {
        let reply = raw(&cx, &request, body).await.of(what)?;
        refused_unread(&cx, &reply, &[-32700, -32020]).of(what)?;
        has_id_or_none(&cx, &reply, request.id()).of(what)?;
    }
    let empty = raw(&cx, &request, "").await.of("nothing")?;
    if cx.is_http() || !empty.messages.is_empty() {
        refused(&cx, &empty, &[-32700, -32600, -32020]).of("nothing")?;
    }
    let marked = raw(&cx, &request, format!("\u{feff}{text}")).await?;
    if marked.result().is_err() {
        refused_unread(&cx, &marked, &[-32700]).of("a byte order mark")?;
    }
    Ok(())
}

async fn invalid_request(cx: Cx) -> Verdict {
    let (request, _) = discover(&cx);
    let bent = |name: &str, value: Value| request.clone().with(name, value).text();
    let bodies = [
        "42".to_owned(),
        "\"x\"".to_owned(),
        "true".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        request.clone().without("jsonrpc").text(),
        bent("jsonrpc", json!("1.0")),
        bent("jsonrpc", json!(2.0)),
        request.clone().without("method").text(),
        bent("method", Value::Null),
        bent("method", json!(1)),
        bent("method", json!("")),
        bent("method", json!({})),
    ];
    for body in bodies {
        let reply = raw(&cx, &request, &*body).await.of(&body)?;
        let could_be_read = body.contains("\"id\"");
        let codes = [-32600, -32601, -32020];
        let judged = if could_be_read {
            refused(&cx, &reply, &codes)
        } else {
            refused_unread(&cx, &reply, &codes)
        };
        judged.of(&body)?;
        has_id_or_none(&cx, &reply, request.id()).of(&body)?;
        let has_id = reply.messages.iter().all(|message| message.get("id").is_some());
        cx.warnings.unless(!could_be_read || has_id, "the id of the request", reply.told());
    }
    // Members besides are passed over as a rule, and this one makes it a response as well.
    let both = bent("result", json!({ "resultType": "complete" }));
    let reply = raw(&cx, &request, both).await.of("method and result")?;
    let is_refused = reply.result().is_err();
    cx.warnings.unless(is_refused, "a refusal of what has method and result", reply.told());
    Ok(())
}

async fn bad_id(cx: Cx) -> Verdict {
    let (request, params) = discover(&cx);
    for id in ["null", "1.5", "true", "{}", "[]", "1.0", "1e3"] {
        let what = format!("the id {id}");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{params}}}"#
        );
        let reply = raw(&cx, &request, body).await.of(&what)?;
        // JSON has one kind of number: what is written with a fraction or an exponent may be whole all the same.
        let whole = match id {
            "1.0" => Some(1.0),
            "1e3" => Some(1000.0),
            _ => None,
        };
        if let (Some(whole), Ok(_)) = (whole, reply.result()) {
            let found = at(reply.response()?, "/id").as_f64();
            expect(found == Some(whole), format!("{what}: its value as id"), reply.told())?;
            continue;
        }
        refused_unread(&cx, &reply, &[-32600]).of(&what)?;
        // A number may be told back as it came, though it is none of those that this revision has for ids.
        let told = reply.messages.last().and_then(|message| message.get("id")?.as_f64());
        let is_told = told.is_some() && told == id.parse().ok();
        let has_none = reply.messages.iter().all(|message| has_no_id(&cx, message));
        let expected = format!("{what}: an error without id");
        expect(has_none || is_told, expected, reply.told())?;
    }
    Ok(())
}

async fn params_shape(cx: Cx) -> Verdict {
    let request = cx.request("server/discover");
    let mut shapes = vec![request.clone().without("params")];
    shapes.extend(
        [Value::Null, json!([]), json!("x"), json!(7)]
            .map(|shape| request.clone().with("params", shape)),
    );
    for shape in shapes {
        let body = shape.text();
        let reply = raw(&cx, &request, &*body).await.of(&body)?;
        refused(&cx, &reply, &[-32602, -32600]).of(&body)?;
    }
    Ok(())
}
