//! What operators get to read: that something happened, and never what it carried.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use mcp_server::{Args, HandlerError, Structured, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::{Post, Running, meta, server};

/// Keeps the text of everything logged on one thread above TRACE. It has to be the subscriber of the whole process,
/// since a place that logs for the first time on a thread without one may stay silent on every other.
#[derive(Clone)]
struct Recorder {
    text: Arc<Mutex<String>>,
    thread: ThreadId,
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Text(&mut self.text.lock().unwrap()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Text(&mut self.text.lock().unwrap()));
    }

    fn event(&self, event: &Event<'_>) {
        if std::thread::current().id() != self.thread {
            return;
        }
        let mut text = self.text.lock().unwrap();
        write!(text, "\n{} {}", event.metadata().level(), event.metadata().target()).unwrap();
        event.record(&mut Text(&mut text));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text<'t>(&'t mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

#[derive(Deserialize, JsonSchema)]
struct Login {
    #[serde(rename = "user")]
    _user: String,
    fails: bool,
}

/// Headers, arguments and results are the caller's, and the log is not.
#[tokio::test]
async fn nothing_of_the_callers_is_logged() {
    const SECRET: &str = "hunter2";
    let recorder = Recorder { text: Arc::default(), thread: std::thread::current().id() };
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    let login = async |Args(login): Args<Login>| match login.fails {
        true => Err(HandlerError::new("no such user: hunter2")),
        false => Ok("welcome, hunter2"),
    };
    let schema = json!({
        "type": "object",
        "properties": { "user": { "type": "string", "x-mcp-header": "User" } },
    });
    let promise = json!({ "additionalProperties": { "type": "integer" } });
    let broken = async || Structured(json!({ SECRET: SECRET }));
    let broken = Tool::new("broken", broken).output_schema(promise);
    let running =
        Running::start(server([Tool::new("login", login).input_schema(schema), broken])).await;
    let call = |fails: bool| {
        let post = Post::call("login", json!({ "user": SECRET, "fails": fails }));
        post.add("Mcp-Param-User", SECRET).add("Authorization", SECRET)
    };
    let mut secretive = meta();
    secretive["io.modelcontextprotocol/logLevel"] = json!(SECRET);
    let posts = [
        call(false),
        call(true),
        call(false).set("Mcp-Param-User", "x"),
        call(false).remove("Mcp-Param-User"),
        call(false).set("Mcp-Param-User", "=?base64?hunter2?="),
        call(false).set("Mcp-Name", SECRET),
        call(false).set("Host", SECRET),
        call(false).add("Origin", SECRET),
        call(false).set("MCP-Protocol-Version", SECRET),
        call(false).body(format!("{{\"{SECRET}\":\"{SECRET}\",\"{SECRET}\":1}}")),
        call(false).body(format!("{SECRET} is no JSON")),
        Post::call("login", json!({ "user": { SECRET: SECRET }, "fails": SECRET }))
            .add("Mcp-Param-User", SECRET),
        Post::call("login", json!({ "fails": SECRET })),
        Post::call("broken", json!({})),
        Post::rpc("tools/list", json!({ "cursor": SECRET, "_meta": secretive })),
        Post::rpc("tools/list", json!({ "cursor": SECRET })),
        Post::rpc("tools/list", json!({ "_meta": { "progressToken": SECRET } })),
    ];
    for post in posts {
        running.ask(&post).await;
    }
    let logged = recorder.text.lock().unwrap().clone();
    assert!(logged.contains("DEBUG mcp_server"), "nothing was recorded: {logged}");
    if cfg!(feature = "validation") {
        let error = logged.lines().find(|line| line.starts_with("ERROR mcp_server")).unwrap();
        assert!(error.contains("\"broken\"") && error.contains("/additionalProperties/type"));
    }
    let told: Vec<_> = logged.lines().filter(|line| line.contains(SECRET)).collect();
    assert!(told.is_empty(), "{told:#?}");
}
