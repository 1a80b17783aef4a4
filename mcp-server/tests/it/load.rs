//! Many at once: thousands of open streams, ten thousand calls under way across each other. What is proved is that
//! nobody is missed or gets what is another's; how long it takes decides nothing.

use std::fs;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcp_server::{Announces, Args, Limits, Progress, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep};

use crate::support::{
    Conn, H2, Post, Reply, Running, builder, h2_request, limits, meta, ok, tool_text, within,
};

/// Subscriptions open at once, over both versions of HTTP.
const STREAMS: usize = 2000;

/// Of them on one HTTP/2 connection: half of what the server lets a client have.
const SHARED: usize = 100;

/// One change reaches all of them, and a shutdown ends each with its result before the time to drain is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_streams_hear_of_a_change_and_of_the_end() {
    let server = builder()
        .tool(ok())
        .announces(Announces::new().tools())
        .limits(unlimited())
        .build()
        .unwrap();
    let notify = server.notify();
    let mut running = Running::start(server).await;
    let (http1, http2) = shares();
    println!("{http1} streams over HTTP/1.1, {http2} over HTTP/2, {SHARED} a connection");
    let mut streams = Vec::with_capacity(STREAMS);
    for id in 0..http1 {
        let mut conn = running.connect().await;
        conn.send(&listen(id).bytes()).await;
        conn.stream().await;
        streams.push((id, Stream::Http1(conn)));
    }
    for first in (http1..STREAMS).step_by(SHARED) {
        let mut h2 = H2::open(running.addr).await;
        for id in first..STREAMS.min(first + SHARED) {
            let response = h2.send(h2_request("localhost", &listen(id))).await.unwrap();
            streams.push((id, Stream::Http2(response.into_body(), Vec::new())));
        }
    }
    for (id, stream) in &mut streams {
        let first = stream.next().await.unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(of(&first["params"]), &json!(*id));
    }
    notify.tools_changed();
    for (id, stream) in &mut streams {
        let change = stream.next().await.unwrap();
        assert_eq!(change["method"], "notifications/tools/list_changed");
        assert_eq!(of(&change["params"]), &json!(*id));
    }
    running.shut_down();
    running.ended().await.unwrap();
    for (id, stream) in &mut streams {
        let result = stream.next().await.unwrap();
        assert_eq!((&result["id"], of(&result["result"])), (&json!(*id), &json!(*id)));
        // What is cut off when time is up has no end.
        assert_eq!(stream.next().await, None);
    }
}

fn listen(id: usize) -> Post {
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    Post::with_id(&id.to_string(), "subscriptions/listen", wanted)
}

/// The subscription that a message is of.
fn of(message: &Value) -> &Value {
    &message["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

fn unlimited() -> Limits {
    limits(|limits| {
        (limits.listens, limits.listens_per_caller) = (STREAMS, STREAMS);
        limits.exchanges_per_caller = limits.exchanges;
    })
}

/// How many streams go over which HTTP. One over HTTP/1.1 takes a file at either end, and both ends are here.
fn shares() -> (usize, usize) {
    /// For everything else that the tests have open meanwhile.
    const OTHERS: usize = 400;
    let http1 = (open_files().saturating_sub(OTHERS) / 2).min(STREAMS / 2);
    (http1, STREAMS - http1)
}

/// How many files this process may have open, as far as there is a way to know.
fn open_files() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => usize::MAX,
        Some(soft) => soft.parse().unwrap(),
        None => 256,
    }
}

/// A stream of events, over whichever HTTP.
enum Stream {
    Http1(Conn),
    /// With what was read and not looked at yet.
    Http2(Incoming, Vec<u8>),
}

impl Stream {
    async fn next(&mut self) -> Option<Value> {
        match self {
            Self::Http1(conn) => conn.event().await,
            Self::Http2(body, read) => loop {
                if let Some(end) = read.windows(2).position(|two| two == b"\n\n") {
                    let frame = read.drain(..end + 2).collect();
                    // A comment is no event.
                    if let Some(event) = Reply::of_stream(frame).events().pop() {
                        return Some(event);
                    }
                    continue;
                }
                let frame = within(body.frame()).await?;
                read.extend::<Bytes>(frame.unwrap().into_data().unwrap());
            },
        }
    }
}

/// Callers on each HTTP, and the calls of each: ten thousand.
const CALLERS: usize = 8;
const CALLS: usize = 625;

#[derive(Deserialize, JsonSchema)]
struct Tag {
    tag: String,
    /// How often it reports, and how long it takes, in milliseconds.
    reports: usize,
    takes: u64,
}

/// Answers, ids and notifications never cross between calls, however many are under way on how few connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_do_not_cross() {
    let echo = Tool::new("echo", async |progress: Progress, Args(call): Args<Tag>| {
        let Tag { tag, reports, takes } = call;
        for step in 0..reports {
            progress.report_with(step, None, &tag);
            tokio::task::yield_now().await;
        }
        if takes > 0 {
            sleep(Duration::from_millis(takes)).await;
        }
        tag
    });
    let running = Running::build(builder().tool(echo).limits(unlimited())).await;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(one_by_one(running.connect().await, caller));
        callers.spawn(many_at_once(H2::open(running.addr).await, caller + CALLERS));
    }
    let mut answered = 0;
    while let Some(calls) = callers.join_next().await {
        answered += calls.unwrap();
    }
    assert_eq!(answered, 10_000);
}

async fn one_by_one(mut conn: Conn, caller: usize) -> usize {
    for n in 0..CALLS {
        let (tag, post) = tagged(caller, n);
        check(&tag, n, &conn.ask(&post).await);
    }
    CALLS
}

async fn many_at_once(mut h2: H2, caller: usize) -> usize {
    let mut calls = JoinSet::new();
    for n in 0..CALLS {
        let (tag, post) = tagged(caller, n);
        let call = h2.begin(h2_request("localhost", &post));
        calls.spawn(async move {
            let response = within(call).await.unwrap();
            let fields = response.headers().iter();
            let fields = fields.map(|(name, value)| {
                (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
            });
            let (status, fields) = (response.status().as_u16(), fields.collect());
            let body = within(response.into_body().collect()).await.unwrap().to_bytes().to_vec();
            check(&tag, n, &Reply { status, fields, body });
        });
        while calls.len() > 50 {
            calls.join_next().await.unwrap().unwrap();
        }
    }
    calls.join_all().await;
    CALLS
}

/// A call whose every part carries one tag. What it does differs from that of its neighbours.
fn tagged(caller: usize, n: usize) -> (String, Post) {
    let tag = format!("{caller}-{n}-{}", "x".repeat(n % 5));
    let mut meta = meta();
    meta["progressToken"] = json!(tag);
    let takes = (caller * 7 + n * 5) % 4;
    let arguments = json!({ "tag": tag, "reports": reports(n), "takes": takes });
    let params = json!({ "name": "echo", "arguments": arguments, "_meta": meta });
    let post = Post::with_id(&json!(tag).to_string(), "tools/call", params);
    (tag, post)
}

/// None, and then the reply is JSON, one or two.
const fn reports(n: usize) -> usize {
    n % 3
}

fn check(tag: &str, n: usize, reply: &Reply) {
    let messages = if reply.is_stream() { reply.events() } else { vec![reply.message()] };
    let (answer, events) = messages.split_last().unwrap();
    assert_eq!((&answer["id"], tool_text(answer).as_str()), (&json!(tag), tag));
    assert_eq!(events.len(), reports(n));
    for (step, event) in events.iter().enumerate() {
        let params = &event["params"];
        assert_eq!((&params["progressToken"], &params["message"]), (&json!(tag), &json!(tag)));
        assert_eq!(params["progress"], step);
    }
}
