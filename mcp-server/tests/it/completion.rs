//! Completion: suggestions for the arguments of prompts and the variables of templates.

use std::io;
use std::sync::Arc;

use mcp_server::types::{Completion, ErrorObject, LoggingLevel};
use mcp_server::{
    Args, Completing, HandlerError, IntoCompletion, Log, Prompt, Resource, ResourceTemplate,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Post, Reply, Running, builder, meta, ok};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what matters is what it is completed to")]
struct Code {
    language: String,
    framework: Option<String>,
    style: Option<String>,
}

fn review() -> Prompt {
    Prompt::new("review", async |_: Args<Code>| "ok")
        .complete("language", async |typed: Completing| {
            let known = ["python", "pytorch", "rust"];
            known.into_iter().filter(|name| name.starts_with(&typed.value)).collect::<Vec<_>>()
        })
        .complete("framework", async |typed: Completing| {
            let arguments: Vec<_> = typed.arguments.iter().collect();
            [format!("{arguments:?} {}", typed.value)]
        })
}

/// A server of a prompt and a template, both completed, and a resource.
async fn start() -> Running {
    let files = ResourceTemplate::new("file:///{dir}/{name}", "files", async || "ok")
        .complete("dir", async |typed: Completing| vec![format!("{}1", typed.value)]);
    let server = builder()
        .prompt(review())
        .prompt(Prompt::new("plain", async || "ok"))
        .resource(Resource::text("file:///fixed", "fixed", "ok"))
        .resource_template(files);
    Running::build(server).await
}

/// A server whose only prompt completes its only argument with `completer`.
async fn completing<R: IntoCompletion + Send + 'static>(
    completer: impl Fn() -> R + Send + Sync + 'static,
) -> Running {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its name matters")]
    struct One {
        a: String,
    }
    let prompt = Prompt::new("p", async |_: Args<One>| "ok").complete("a", move |_| {
        let completion = completer();
        async move { completion }
    });
    Running::build(builder().prompt(prompt).tool(ok())).await
}

fn prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn resource(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

fn complete(reference: Value, argument: &str, value: &str) -> Post {
    let argument = json!({ "name": argument, "value": value });
    Post::rpc("completion/complete", json!({ "ref": reference, "argument": argument }))
        // Only the names of tools, prompts and resources are mirrored, not those that are referred to.
        .remove("Mcp-Name")
}

fn completion(reply: &Reply) -> Value {
    let result = reply.result();
    assert_eq!(result["resultType"], "complete");
    result["completion"].clone()
}

fn all(values: &[&str]) -> Value {
    json!({ "values": values, "total": values.len(), "hasMore": false })
}

/// Completion, Capabilities: declared if anything can be completed; nothing answers for what is not declared.
#[tokio::test]
async fn completion_is_declared_where_there_is_a_completer() {
    let plain = builder()
        .prompt(Prompt::new("review", async || "ok"))
        .resource_template(ResourceTemplate::new("a:{b}", "t", async || "ok"));
    let template = ResourceTemplate::new("a:{b}", "t", async || "ok")
        .complete("b", async |_: Completing| [""; 0]);
    for (server, declared) in [
        (builder(), false),
        (plain, false),
        (builder().prompt(review()), true),
        (builder().resource_template(template), true),
    ] {
        let running = Running::build(server).await;
        let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
        let capability = discovered["capabilities"].get("completions");
        assert_eq!(capability, declared.then(|| json!({})).as_ref());
        let reply = running.ask(&complete(prompt("review"), "language", "")).await;
        let refused = (reply.status, reply.code()) == (404, Some(-32601));
        assert_eq!(refused, !declared, "{}", reply.text());
    }
}

#[tokio::test]
async fn arguments_and_variables_are_completed() {
    let running = start().await;
    for (reference, argument, value, expected) in [
        (prompt("review"), "language", "py", all(&["python", "pytorch"])),
        (prompt("review"), "language", "", all(&["python", "pytorch", "rust"])),
        (prompt("review"), "language", "py☃\"", all(&[])),
        (
            json!({ "type": "ref/prompt", "name": "review", "title": "R" }),
            "language",
            "r",
            all(&["rust"]),
        ),
        (resource("file:///{dir}/{name}"), "dir", "d", all(&["d1"])),
    ] {
        let reply = running.ask(&complete(reference, argument, value)).await;
        assert!(reply.status == 200 && reply.is_json());
        assert_eq!(completion(&reply), expected, "{argument} {value}");
    }
    // A header that only other methods have is not looked at.
    let post = complete(prompt("review"), "language", "r").add("Mcp-Name", "something else");
    assert_eq!(completion(&running.ask(&post).await), all(&["rust"]));
}

/// Completion, Requesting Completions: what is settled already helps.
#[tokio::test]
async fn completers_see_what_is_settled() {
    let running = start().await;
    for (context, seen) in [
        (None, "[] fla"),
        (Some(json!({})), "[] fla"),
        (Some(json!({ "arguments": {} })), "[] fla"),
        (Some(json!({ "arguments": { "language": "python" } })), r#"[("language", "python")] fla"#),
        (
            Some(json!({ "arguments": { "undeclared": "☃", "b": "" }, "more": 1 })),
            r#"[("b", ""), ("undeclared", "☃")] fla"#,
        ),
    ] {
        let mut params = json!({
            "ref": prompt("review"),
            "argument": { "name": "framework", "value": "fla" },
        });
        if let Some(context) = context {
            params["context"] = context;
        }
        let reply = running.ask(&Post::rpc("completion/complete", params)).await;
        assert_eq!(completion(&reply), all(&[seen]));
    }
}

/// Completion, Completion Results: no more than 100, and how many there are.
#[tokio::test]
async fn no_more_than_a_hundred_are_sent() {
    let values = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>();
    let counts = |reply: &Reply| {
        let completion = completion(reply);
        let values: Vec<String> = serde_json::from_value(completion["values"].clone()).unwrap();
        assert!(values.iter().enumerate().all(|(n, value)| n.to_string() == *value));
        (values.len(), completion["total"].as_u64(), completion["hasMore"].as_bool())
    };
    for (n, expected) in [
        (0, (0, Some(0), Some(false))),
        (1, (1, Some(1), Some(false))),
        (100, (100, Some(100), Some(false))),
        (101, (100, Some(101), Some(true))),
        (5000, (100, Some(5000), Some(true))),
    ] {
        let running = completing(move || values(n)).await;
        assert_eq!(counts(&running.ask(&complete(prompt("p"), "a", "")).await), expected);
    }
    // By hand, with a total that only the author knows.
    let by_hand = |n, total, has_more| Completion { values: values(n), total, has_more };
    for (given, expected) in [
        (by_hand(3, None, None), (3, None, None)),
        (by_hand(3, Some(10_000), Some(true)), (3, Some(10_000), Some(true))),
        (by_hand(100, None, Some(false)), (100, None, Some(false))),
        (by_hand(101, Some(900), None), (100, Some(900), Some(true))),
        (by_hand(200, None, Some(false)), (100, None, Some(true))),
    ] {
        let running = completing(move || given.clone()).await;
        assert_eq!(counts(&running.ask(&complete(prompt("p"), "a", "")).await), expected);
    }
    let fixed = completing(|| ["0", "1"]).await;
    assert_eq!(completion(&fixed.ask(&complete(prompt("p"), "a", "")).await), all(&["0", "1"]));
}

/// What has no completer has no suggestions, which is no error.
#[tokio::test]
async fn without_a_completer_there_is_nothing_to_suggest() {
    let running = start().await;
    for (reference, argument) in [
        (prompt("review"), "style"),
        (prompt("review"), "undeclared"),
        (prompt("plain"), ""),
        (resource("file:///{dir}/{name}"), "name"),
        // A reference may be a URI: this one is served, and has no variables.
        (resource("file:///fixed"), "dir"),
    ] {
        let reply = running.ask(&complete(reference.clone(), argument, "x")).await;
        let found = completion(&reply);
        assert_eq!(found["values"], json!([]), "{reference} {argument}");
        assert_ne!(found.get("hasMore"), Some(&json!(true)));
    }
}

#[tokio::test]
async fn unknown_references_are_refused() {
    let running = start().await;
    for (reference, data) in [
        (prompt("none"), None),
        (prompt("Review"), None),
        (prompt("file:///{dir}/{name}"), None),
        (resource("review"), Some("review")),
        (resource("file:///{dir}"), Some("file:///{dir}")),
        (resource("file:///{dir}/{name}/"), Some("file:///{dir}/{name}/")),
        (resource(""), Some("")),
    ] {
        let reply = running.ask(&complete(reference.clone(), "language", "")).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{reference}");
        let message = reply.message();
        assert_eq!(message["id"], 1);
        assert_eq!(message["error"].get("data"), data.map(|uri| json!({ "uri": uri })).as_ref());
    }
}

/// Completion, Security: all inputs are validated.
#[tokio::test]
async fn malformed_requests_are_refused() {
    let running = start().await;
    let good = || {
        json!({
            "ref": prompt("review"),
            "argument": { "name": "language", "value": "" },
            "context": { "arguments": { "framework": "f" } },
        })
    };
    let changed = |pointer: &str, value: Value| {
        let mut params = good();
        *params.pointer_mut(pointer).unwrap() = value;
        params
    };
    let without = |parent: &str, key: &str| {
        let mut params = good();
        params.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
        params
    };
    let post = |params: Value| Post::rpc("completion/complete", params);
    assert_eq!(running.ask(&post(good())).await.code(), None);
    for params in [
        without("", "ref"),
        without("", "argument"),
        without("/ref", "type"),
        without("/ref", "name"),
        without("/argument", "name"),
        without("/argument", "value"),
        changed("/ref", json!(null)),
        changed("/ref", json!("review")),
        changed("/ref/type", json!("ref/tool")),
        changed("/ref/type", json!("ref/resource")),
        changed("/ref/type", json!(1)),
        changed("/ref/name", json!(1)),
        changed("/argument", json!("language")),
        changed("/argument/name", json!(1)),
        changed("/argument/value", json!(1)),
        changed("/argument/value", json!(null)),
        changed("/context", json!(5)),
        changed("/context/arguments", json!(["f"])),
        changed("/context/arguments/framework", json!(5)),
        changed("/context/arguments/framework", json!(null)),
    ] {
        let reply = running.ask(&post(params.clone())).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{params}");
    }
    let text = String::from_utf8(post(good()).content().to_vec()).unwrap();
    let (once, twice) = (r#""framework":"f""#, r#""framework":"f","framework":"g""#);
    assert!(text.contains(once));
    let twice = post(good()).body(text.replace(once, twice));
    assert_eq!(running.ask(&twice).await.code(), Some(-32602), "which one is meant?");
}

/// The name of a client is for display only: one that is malformed spoils nothing.
#[tokio::test]
async fn a_malformed_client_name_is_ignored() {
    let mut odd = meta();
    odd["io.modelcontextprotocol/clientInfo"] = json!({ "name": 5 });
    odd["traceparent"] = json!(5);
    let params = json!({
        "ref": prompt("review"),
        "argument": { "name": "language", "value": "r" },
        "_meta": odd,
    });
    let reply = start().await.ask(&Post::rpc("completion/complete", params)).await;
    assert_eq!(completion(&reply), all(&["rust"]));
}

/// A completer fails like any handler, and others go on.
#[tokio::test]
async fn a_completer_that_fails_answers_with_an_error() {
    type Failed = Result<Vec<String>, HandlerError>;
    type Completer = Box<dyn Fn() -> Failed + Send + Sync>;
    let table: [(Completer, i64, &str); 4] = [
        (Box::new(|| Err(io::Error::other("hunter2").into())), -32603, "The request failed"),
        (Box::new(|| Err(HandlerError::new("why"))), -32603, "why"),
        (Box::new(|| Err(ErrorObject::invalid_params("bad").into())), -32602, "bad"),
        (Box::new(|| panic!("hunter2")), -32603, "Internal error"),
    ];
    for (completer, code, says) in table {
        let running = completing(completer).await;
        let reply = running.ask(&complete(prompt("p"), "a", "")).await;
        assert_eq!((reply.status, reply.code()), (200, Some(code)));
        assert_eq!(reply.message()["error"]["message"], says);
        assert!(!reply.text().contains("hunter2"));
        assert_eq!(running.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
    }
    let late = Prompt::new("p", async |_: Args<Code>| "ok").complete("language", async |_| {
        tokio::task::yield_now().await;
        panic!("hunter2") as Vec<String>
    });
    let reply = Running::build(builder().prompt(late)).await;
    let reply = reply.ask(&complete(prompt("p"), "language", "")).await;
    assert_eq!((reply.status, reply.code()), (200, Some(-32603)));
}

/// A completer reaches the request, its progress and its log, like any handler.
#[tokio::test]
async fn completers_have_a_context() {
    let talks = Prompt::new("p", async |_: Args<Code>| "ok").complete(
        "language",
        async |typed: Completing| {
            assert_eq!(typed.context.target(), "");
            typed.context.progress().report(1);
            typed.context.log().send(LoggingLevel::Info, "found");
            [typed.context.request_id().to_string()]
        },
    );
    let logs = Prompt::new("logs", async |_: Log| "so that logging is declared");
    let running = Running::build(builder().prompt(talks).prompt(logs)).await;
    let mut asked = meta();
    asked["progressToken"] = json!(7);
    asked["io.modelcontextprotocol/logLevel"] = json!("debug");
    let params = json!({
        "ref": prompt("p"),
        "argument": { "name": "language", "value": "" },
        "_meta": asked,
    });
    let reply = running.ask(&Post::rpc("completion/complete", params)).await;
    let events = reply.events();
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/progress"), Some("notifications/message"), None]);
    assert_eq!(completion(&reply), all(&["1"]));
}

/// M10: a completer has no way to ask: the specification lets only tools, prompts and resources do so.
#[cfg(feature = "asking")]
#[tokio::test]
async fn completers_do_not_ask() {
    use mcp_server::{Ask, FromContext};

    let asks = Prompt::new("p", async |_: Ask, _: Args<Code>| "ok")
        .complete("language", async |typed: Completing| {
            [Ask::from_context(&typed.context).is_err().to_string()]
        });
    let running = Running::build(builder().prompt(asks)).await;
    let reply = running.ask(&complete(prompt("p"), "language", "")).await;
    assert_eq!(completion(&reply), all(&["true"]));
}

/// Completers share what handlers share.
#[tokio::test]
async fn completers_reach_shared_values() {
    let languages = Arc::new(vec!["rust".to_owned(), "ruby".to_owned()]);
    let shares = Prompt::new("p", async |_: Args<Code>| "ok").complete(
        "language",
        async |typed: Completing| {
            assert!(typed.state::<String>().is_none() && typed.context.state::<u8>().is_none());
            let languages = typed.state::<Vec<String>>().unwrap();
            languages
                .iter()
                .filter(|name| name.starts_with(&typed.value))
                .cloned()
                .collect::<Vec<_>>()
        },
    );
    let running = Running::build(builder().prompt(shares).state(languages)).await;
    let reply = running.ask(&complete(prompt("p"), "language", "rus")).await;
    assert_eq!(completion(&reply), all(&["rust"]));
}
