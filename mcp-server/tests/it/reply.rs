//! How answers travel: as JSON or as a stream.

use std::time::Duration;

use mcp_server::types::{
    ClientCapabilities, ElicitationCapability, ErrorObject, InputRequests, InputRequired,
    LoggingLevel, RawJson,
};
use mcp_server::{HandlerError, Log, Progress, ResponseMode, Structured, Tool};
use serde_json::json;

use crate::support::{Bell, Frame, Post, Running, builder, ok, tool_text};

const MODES: [ResponseMode; 3] = [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json];
const BOTH: &str = "application/json, text/event-stream";

fn noisy() -> Tool {
    Tool::new("noisy", async |progress: Progress, log: Log| {
        progress.report(1);
        log.send(LoggingLevel::Info, "hello");
        progress.report(2);
        "ok"
    })
}

/// C7: the mode, what the client accepts and what the handler does decide the form together.
#[tokio::test]
async fn the_form_of_an_answer() {
    use ResponseMode::{Auto, Json, Sse};
    // (mode, accepted, quiet is a stream, noisy is a stream)
    let table = [
        (Auto, BOTH, false, true),
        (Auto, "application/json", false, false),
        (Auto, "text/event-stream", true, true),
        (Sse, BOTH, true, true),
        (Sse, "application/json", false, false),
        (Sse, "text/event-stream", true, true),
        (Json, BOTH, false, false),
        (Json, "application/json", false, false),
        (Json, "text/event-stream", true, true),
    ];
    for (mode, accept, quiet_streams, noisy_streams) in table {
        let running = Running::build(builder().tool(ok()).tool(noisy()).response_mode(mode)).await;
        let lists = [Post::rpc("server/discover", json!({})), Post::rpc("tools/list", json!({}))];
        for post in [Post::listening("ok"), Post::listening("noisy").set("Mcp-Name", "noisy")]
            .into_iter()
            .chain(lists)
        {
            let noisy = post.fields().any(|field| field == ("Mcp-Name", "noisy"));
            let streams = if noisy { noisy_streams } else { quiet_streams };
            let reply = running.ask(&post.set("Accept", accept)).await;
            assert_eq!(
                (reply.is_stream(), reply.is_json()),
                (streams, !streams),
                "{mode:?} {accept}"
            );
            assert_eq!(reply.message()["id"], 1);
            assert_eq!(reply.result()["resultType"], "complete");
            if noisy && streams {
                let methods: Vec<_> =
                    reply.events().iter().map(|event| event["method"].clone()).collect();
                let [progress, log] = ["notifications/progress", "notifications/message"];
                assert_eq!(methods, [json!(progress), json!(log), json!(progress), json!(null)]);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_has_the_headers_that_keep_it_flowing() {
    let running = Running::build(builder().tool(noisy())).await;
    let reply = running.ask(&Post::listening("noisy")).await;
    assert_eq!(reply.field("content-type"), Some("text/event-stream"));
    assert_eq!(reply.field("x-accel-buffering"), Some("no"));
    assert_eq!(reply.field("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(reply.field("connection"), None);
    let json = running.ask(&Post::listening("noisy").set("Accept", "application/json")).await;
    assert_eq!(json.field("x-accel-buffering"), None);
}

/// T8: what is refused is finished, in every mode.
#[tokio::test]
async fn refusals_are_json_in_every_mode() {
    for mode in MODES {
        let running = Running::build(builder().tool(ok()).response_mode(mode)).await;
        for accept in [BOTH, "text/event-stream"] {
            let unknown = Post::rpc("no/such", json!({})).set("Accept", accept);
            let reply = running.ask(&unknown).await;
            assert_eq!(
                (reply.status, reply.code(), reply.is_json()),
                (404, Some(-32601), true),
                "{mode:?}"
            );
            let cursor = Post::rpc("tools/list", json!({ "cursor": "x" })).set("Accept", accept);
            let reply = running.ask(&cursor).await;
            assert_eq!(
                (reply.status, reply.code(), reply.is_json()),
                (400, Some(-32602), true),
                "{mode:?}"
            );
        }
    }
}

/// -32021 keeps its status wherever it arises while nothing has been sent (M6).
#[tokio::test]
async fn a_missing_capability_keeps_its_status() {
    let elicitation = ClientCapabilities {
        elicitation: Some(ElicitationCapability::default()),
        ..Default::default()
    };
    let capabilities = elicitation.clone();
    for mode in MODES {
        let required = capabilities.clone();
        let tools = [
            ok().requires(elicitation.clone()),
            Tool::new("at once", async || asks()),
            Tool::new("soon", async || {
                tokio::task::yield_now().await;
                asks()
            }),
            Tool::new("talks", async |progress: Progress| {
                progress.report(1);
                asks()
            }),
            Tool::new("says so", move || {
                let error = ErrorObject::missing_capability(required.clone());
                async { Err::<String, _>(HandlerError::protocol(error)) }
            }),
        ];
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let running = Running::build(builder().tools(tools).response_mode(mode)).await;
        for name in names {
            for accept in [BOTH, "text/event-stream"] {
                let reply = running.ask(&Post::listening(&name).set("Accept", accept)).await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (400, Some(-32021)),
                    "{mode:?} {name} {accept}"
                );
                assert!(reply.is_json(), "{mode:?} {name}");
                let required = &reply.message()["error"]["data"]["requiredCapabilities"];
                assert!(required["elicitation"].is_object(), "{required}");
            }
        }
    }
}

/// A question that only a client with a person behind it can answer.
fn asks() -> InputRequired {
    let ask = json!({
        "method": "elicitation/create",
        "params": { "message": "m", "requestedSchema": { "type": "object", "properties": {} } },
    });
    let requests: InputRequests = serde_json::from_value(json!({ "a": ask })).unwrap();
    InputRequired::new(requests, None).unwrap()
}

/// T11: silence for one interval opens the stream in `auto`, and goes on as comments.
#[tokio::test]
async fn silence_opens_a_stream_and_comments_keep_it_open() {
    let bell = Bell::new();
    let running =
        Running::build(builder().tool(quiet(&bell)).keep_alive(Duration::from_millis(30))).await;
    let mut conn = running.connect().await;
    conn.send(&Post::listening("quiet").bytes()).await;
    conn.stream().await;
    for _ in 0..3 {
        assert_eq!(conn.frame().await, Some(Frame::Comment(String::new())));
    }
    bell.ring();
    assert_eq!(tool_text(&conn.event().await.unwrap()), "ok");
    assert_eq!(conn.frame().await, None);
}

/// No interval: `auto` waits for ever with its JSON, and `sse` opens without a comment.
#[tokio::test]
async fn an_interval_of_zero_is_never() {
    let bell = Bell::new();
    for mode in MODES {
        let running = Running::build(
            builder().tool(quiet(&bell)).keep_alive(Duration::ZERO).response_mode(mode),
        )
        .await;
        let mut conn = running.connect().await;
        conn.send(&Post::listening("quiet").bytes()).await;
        if mode == ResponseMode::Sse {
            // Opened after a short silence, for the sake of proxies that hold back heads.
            conn.stream().await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        bell.ring();
        if mode == ResponseMode::Sse {
            assert!(matches!(conn.frame().await, Some(Frame::Event(_))));
        } else {
            assert!(conn.reply().await.is_json());
        }
    }
}

/// Says nothing until the bell is rung.
fn quiet(bell: &Bell) -> Tool {
    let bell = bell.clone();
    Tool::new("quiet", move || {
        let bell = bell.clone();
        async move {
            bell.wait().await;
            "ok"
        }
    })
}

/// S9, T9: a large result arrives whole in both forms, and the connection goes on.
#[tokio::test]
async fn a_large_result_arrives_whole() {
    let large = Tool::new("large", async || "ü".repeat(5 << 20));
    let running = Running::build(builder().tool(large).tool(ok())).await;
    let mut conn = running.connect().await;
    for accept in ["application/json", "text/event-stream"] {
        let reply = conn.ask(&Post::listening("large").set("Accept", accept)).await;
        assert!(reply.body.len() > 10 << 20);
        assert!(reply.tool_text() == "ü".repeat(5 << 20));
    }
    assert_eq!(conn.ask(&Post::listening("ok")).await.tool_text(), "ok");
}

/// JSON of a user's, with line ends between its tokens, is one event.
#[tokio::test]
async fn line_ends_in_raw_json_break_no_frame() {
    const TEXT: &str = "{\n  \"a\":\r\n [1,\r2],\n\n  \"b\": \"x\\ny\"\n}";
    let tool = Tool::new("raw", async || {
        let value = RawJson::from_text(TEXT).unwrap();
        mcp_server::types::CallToolResult { structured_content: Some(value), ..Default::default() }
    });
    let running = Running::build(builder().tool(tool)).await;
    for accept in ["application/json", "text/event-stream"] {
        let reply = running.ask(&Post::listening("raw").set("Accept", accept)).await;
        assert_eq!(reply.result()["structuredContent"], json!({ "a": [1, 2], "b": "x\ny" }));
    }
}

/// T9: the last event is there when it is written, and ends the stream.
#[tokio::test]
async fn each_event_is_visible_at_once() {
    let bell = Bell::new();
    let rung = bell.clone();
    let tool = Tool::new("steps", move |progress: Progress| {
        let bell = rung.clone();
        async move {
            for step in 1..=3 {
                progress.report(step);
                bell.wait().await;
            }
            "ok"
        }
    });
    let running = Running::build(builder().tool(tool)).await;
    let mut conn = running.connect().await;
    conn.send(&Post::listening("steps").bytes()).await;
    conn.stream().await;
    for step in 1..=3 {
        let event = conn.event().await.unwrap();
        assert_eq!(event["params"]["progress"], step);
        bell.ring();
    }
    assert_eq!(tool_text(&conn.event().await.unwrap()), "ok");
    assert_eq!(conn.frame().await, None);
}

/// Every result says who made it, with a value of any kind beside it.
#[tokio::test]
async fn results_name_the_server() {
    let five = || Tool::new("five", async || Structured(5));
    let posts = || {
        [
            Post::listening("five"),
            Post::rpc("tools/list", json!({})),
            Post::rpc("server/discover", json!({})),
        ]
    };
    let running = Running::build(builder().title("Test").tool(five())).await;
    let me = json!({ "name": "test", "version": "1.0.0", "title": "Test" });
    for post in posts() {
        let result = running.ask(&post).await.result();
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], me);
    }
    let anonymous = Running::build(builder().anonymous().tool(five())).await;
    for post in posts() {
        assert_eq!(anonymous.ask(&post).await.result().get("_meta"), None);
    }
}
