//! `subscriptions/listen`: who hears of what, in which order, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use mcp_server::{
    Announces, Bus, Change, Exchange, ExchangeError, ExchangeOptions, Feed, LocalBus, Notify,
    RequestParts, ResponseMode, Server, ServerBuilder, StreamLost, Tool, scan,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{
    Conn, Frame, H2, Post, Reply, Running, builder, h2_request, limits, ok, within,
};

/// A server that announces everything, with a tool that changes the list of tools.
fn everything() -> ServerBuilder {
    let all = Announces::new().tools().prompts().resources().resource_updates();
    let changes = Tool::new("changes", async |notify: Notify| {
        notify.tools_changed();
        "changed"
    });
    builder().announces(all).tools([changes, ok()])
}

fn listen(notifications: Value) -> Post {
    listen_as("1", notifications)
}

fn listen_as(id: &str, notifications: Value) -> Post {
    Post::with_id(id, "subscriptions/listen", json!({ "notifications": notifications }))
}

fn all_of(uris: &[&str]) -> Value {
    json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": uris,
    })
}

fn acknowledged(id: &Value, granted: &Value) -> Value {
    notification("subscriptions/acknowledged", id, &[("notifications", granted)])
}

fn notification(method: &str, id: &Value, params: &[(&str, &Value)]) -> Value {
    let mut all = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
    for (name, value) in params {
        all[*name] = (*value).clone();
    }
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": all })
}

fn tools_changed(id: &Value) -> Value {
    notification("tools/list_changed", id, &[])
}

fn updated(id: &Value, uri: &str) -> Value {
    notification("resources/updated", id, &[("uri", &json!(uri))])
}

/// The result, which names the server (U9).
fn ended(id: &Value) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": {
            "resultType": "complete",
            "_meta": {
                "io.modelcontextprotocol/serverInfo": { "name": "test", "version": "1.0.0" },
                "io.modelcontextprotocol/subscriptionId": id,
            },
        },
    })
}

/// Opens a subscription and reads its acknowledgment.
async fn open(running: &Running, post: &Post) -> (Conn, Value) {
    let mut conn = running.connect().await;
    conn.send(&post.bytes()).await;
    conn.stream().await;
    let acknowledged = conn.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    (conn, acknowledged)
}

/// U4: the id as it was sent, on everything; nothing but what was asked for; exact URIs; several at once.
#[tokio::test]
async fn each_stream_carries_what_it_asked_for_under_its_own_id() {
    let server = everything().build().unwrap();
    let notify = server.notify();
    let running = Running::start(server).await;
    let wanted = [
        ("7", json!({ "toolsListChanged": true })),
        ("\"7\"", json!({ "promptsListChanged": true })),
        ("\"sub-ü\"", json!({ "resourcesListChanged": true })),
        ("-3", json!({ "resourceSubscriptions": ["file:///b", "file:///a"] })),
        ("9007199254740993", all_of(&["file:///a"])),
    ];
    let mut conns = Vec::new();
    for (id, filter) in &wanted {
        let (conn, first) = open(&running, &listen_as(id, filter.clone())).await;
        let id = serde_json::from_str(id).unwrap();
        assert_eq!(first, acknowledged(&id, filter));
        conns.push((conn, id));
    }
    notify.tools_changed();
    notify.prompts_changed();
    notify.resources_changed();
    for uri in ["file:///A", "file:///a", "file:///a/", "file:///"] {
        notify.resource_updated(uri);
    }
    drop(notify);
    let mut running = running;
    running.shut_down();
    let mut heard = Vec::new();
    for (conn, id) in &mut conns {
        let mut events = conn.events().await;
        assert_eq!(events.pop(), Some(ended(id)));
        heard.push((events, id.clone()));
    }
    let of = |n: usize| heard[n].1.clone();
    let lists = |n: usize, name: &str| notification(&format!("{name}/list_changed"), &of(n), &[]);
    assert_eq!(heard[0].0, [lists(0, "tools")]);
    assert_eq!(heard[1].0, [lists(1, "prompts")]);
    assert_eq!(heard[2].0, [lists(2, "resources")]);
    assert_eq!(heard[3].0, [updated(&of(3), "file:///a")]);
    let all = [lists(4, "tools"), lists(4, "prompts"), lists(4, "resources")];
    assert_eq!(heard[4].0, [&all[..], &[updated(&of(4), "file:///a")]].concat());
}

/// U6: only what the server declares is granted, and says so in `server/discover`; what nobody knows is ignored.
#[tokio::test]
async fn the_acknowledgment_lists_what_was_declared() {
    let asked = all_of(&["a:b"]);
    let table = [
        (Announces::new(), json!({})),
        (Announces::new().tools(), json!({ "toolsListChanged": true })),
        (Announces::new().prompts(), json!({ "promptsListChanged": true })),
        (Announces::new().resources(), json!({ "resourcesListChanged": true })),
        (Announces::new().resource_updates(), json!({ "resourceSubscriptions": ["a:b"] })),
    ];
    for (announces, granted) in table {
        let running = Running::build(builder().tool(ok()).announces(announces)).await;
        let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
        let declared = |pointer: &str| discovered["capabilities"].pointer(pointer).is_some();
        for (pointer, key) in [
            ("/tools/listChanged", "toolsListChanged"),
            ("/prompts/listChanged", "promptsListChanged"),
            ("/resources/listChanged", "resourcesListChanged"),
            ("/resources/subscribe", "resourceSubscriptions"),
        ] {
            assert_eq!(declared(pointer), granted.get(key).is_some(), "{pointer}: {discovered}");
        }
        let mut asked = asked.clone();
        asked["rootsListChanged"] = json!({ "of": "whom" });
        let (_conn, first) = open(&running, &listen(asked)).await;
        assert_eq!(first, acknowledged(&json!(1), &granted));
    }
}

/// Where nothing is granted there is nothing to wait for.
#[tokio::test]
async fn what_can_never_be_told_ends_at_once() {
    for (server, filter) in [
        (builder().tool(ok()), all_of(&["a:b"])),
        (everything(), json!({})),
        (everything(), json!({ "toolsListChanged": false, "resourceSubscriptions": [] })),
    ] {
        let running = Running::build(server).await;
        let mut conn = running.connect().await;
        let reply = conn.ask(&listen(filter)).await;
        assert_eq!(reply.events(), [acknowledged(&json!(1), &json!({})), ended(&json!(1))]);
        // The connection is as good as before.
        assert_eq!(conn.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
    }
}

#[tokio::test]
async fn what_is_no_subscription_is_refused() {
    let few = limits(|limits| limits.listen_uris = 8);
    let running = Running::build(everything().limits(few)).await;
    let params = [
        json!({}),
        json!({ "notifications": null }),
        json!({ "notifications": [] }),
        json!({ "notifications": { "toolsListChanged": "yes" } }),
        json!({ "notifications": { "resourceSubscriptions": "a:b" } }),
        json!({ "notifications": { "resourceSubscriptions": [7] } }),
        json!({ "notifications": { "resourceSubscriptions": ["a:345", "b:34"] } }),
    ];
    for params in params {
        let reply = running.ask(&Post::rpc("subscriptions/listen", params.clone())).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{params}");
        assert_eq!(reply.message()["id"], 1);
    }
    let filter = json!({ "resourceSubscriptions": ["a:34", "b:34"] });
    open(&running, &listen(filter.clone())).await;
    // The parameters are not looked at where the reply cannot travel.
    for post in [listen(filter), Post::rpc("subscriptions/listen", json!({}))] {
        let reply = running.ask(&post.set("Accept", "application/json")).await;
        assert_eq!((reply.status, reply.code()), (406, Some(-32600)));
        assert_eq!(reply.message()["id"], 1);
    }
}

/// T11: a stream whatever the mode, since nothing else could carry it, with its first event at once and the headers
/// that have proxies pass it on.
#[tokio::test]
async fn the_mode_has_no_say() {
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let running = Running::build(everything().response_mode(mode)).await;
        for accept in ["application/json, text/event-stream", "text/event-stream", "*/*"] {
            let post = listen(all_of(&[])).set("Accept", accept);
            let mut conn = running.connect().await;
            conn.send(&post.bytes()).await;
            let head = conn.stream().await;
            assert_eq!(head.field("x-accel-buffering"), Some("no"));
            assert!(head.field("cache-control").is_some_and(|value| value.contains("no-cache")));
            assert!(conn.event().await.is_some());
        }
    }
}

/// Subscriptions have places of their own, and give them back.
#[tokio::test]
async fn there_are_so_many_and_no_more() {
    for (status, few) in [
        (503, limits(|limits| (limits.listens, limits.exchanges) = (2, 1))),
        (429, limits(|limits| (limits.listens_per_caller, limits.exchanges_per_caller) = (2, 1))),
    ] {
        let running = Running::build(everything().limits(few)).await;
        let first = open(&running, &listen(all_of(&[]))).await;
        let _second = open(&running, &listen(all_of(&[]))).await;
        let reply = running.ask(&listen_as("\"x\"", all_of(&[]))).await;
        assert_eq!((reply.status, reply.code()), (status, Some(-32603)));
        assert_eq!(reply.message()["id"], "x");
        assert_eq!(reply.field("retry-after"), Some("30"));
        // They are no exchanges under way.
        assert_eq!(running.ask(&Post::call("ok", json!({}))).await.tool_text(), "ok");
        drop(first);
        within(async {
            while running.connect().await.ask_head(&listen(all_of(&[]))).await.status == status {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// U2: comments while nothing happens, none before the acknowledgment, and each change puts them off.
#[tokio::test]
async fn comments_keep_a_quiet_stream_open() {
    let server = everything().keep_alive(Duration::from_millis(20)).build().unwrap();
    let notify = server.notify();
    let running = Running::start(server).await;
    let mut conn = running.connect().await;
    conn.send(&listen(all_of(&[])).bytes()).await;
    conn.stream().await;
    assert!(matches!(conn.frame().await, Some(Frame::Event(_))));
    for _ in 0..3 {
        assert_eq!(conn.frame().await, Some(Frame::Comment(String::new())));
    }
    notify.tools_changed();
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    assert_eq!(conn.frame().await, Some(Frame::Comment(String::new())));

    let server = everything().keep_alive(Duration::ZERO).build().unwrap();
    let notify = server.notify();
    let running = Running::start(server).await;
    let (mut conn, _) = open(&running, &listen(all_of(&[]))).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    notify.tools_changed();
    assert_eq!(conn.frame().await, Some(Frame::Event(tools_changed(&json!(1)))));
}

/// A handler notifies, and hears nothing of it in its own reply.
#[tokio::test]
async fn handlers_notify() {
    let running = Running::build(everything()).await;
    let (mut conn, _) = open(&running, &listen(all_of(&[]))).await;
    let reply = running.ask(&Post::listening("changes")).await;
    assert!(!reply.is_stream());
    assert_eq!(reply.tool_text(), "changed");
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    // Somebody who leaves is no trouble to others.
    drop(conn);
    assert_eq!(running.ask(&Post::call("changes", json!({}))).await.tool_text(), "changed");
}

/// U7: whatever happens while a stream is opened, its acknowledgment is first, and nothing after it is missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_comes_before_the_acknowledgment() {
    let server =
        everything().limits(limits(|limits| limits.listens_per_caller = 200)).build().unwrap();
    let notify = server.notify();
    let running = Arc::new(Running::start(server).await);
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let storm = {
        let notify = notify.clone();
        std::thread::spawn(move || {
            while stopped.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
                notify.tools_changed();
                notify.resource_updated("a:b");
            }
        })
    };
    let mut opening = JoinSet::new();
    for n in 0..100 {
        let running = Arc::clone(&running);
        // Opening checks what comes first.
        opening.spawn(async move {
            let id = json!(n);
            let (mut conn, _) = open(&running, &listen_as(&id.to_string(), all_of(&["a:b"]))).await;
            for _ in 0..3 {
                let event = conn.event().await.unwrap();
                assert!(event == tools_changed(&id) || event == updated(&id, "a:b"), "{event}");
            }
            (conn, id)
        });
    }
    let conns = opening.join_all().await;
    drop(stop);
    storm.join().unwrap();
    // The last of all changes is one that nobody has heard of before.
    notify.prompts_changed();
    for (mut conn, id) in conns {
        let last = notification("prompts/list_changed", &id, &[]);
        while conn.event().await.unwrap() != last {}
    }
}

/// U10: a storm of changes costs a reader that does not keep up what it has not heard of yet, once; when even that
/// is too much it loses the stream, and with it the belief that it knows what there is.
#[tokio::test]
async fn a_storm_of_changes_is_coalesced() {
    let server = everything().limits(limits(|limits| limits.queued_events = 2)).build().unwrap();
    let notify = server.notify();
    let running = Running::start(server).await;
    let (mut conn, _) = open(&running, &listen(all_of(&["a:b"]))).await;
    // The server has no chance to write in between: there is one thread.
    for _ in 0..1000 {
        notify.tools_changed();
        notify.resource_updated("a:b");
    }
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    assert_eq!(conn.event().await, Some(updated(&json!(1), "a:b")));
    notify.tools_changed();
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))), "and nothing in between");
    notify.tools_changed();
    notify.resource_updated("a:b");
    notify.prompts_changed();
    let rest = conn.closed().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "a stream that is broken off has no end");
}

/// U9: at the end of the server every stream gets what waits and then the result, within the time to drain.
#[tokio::test]
async fn shutting_down_ends_subscriptions_at_once() {
    let server = everything().build().unwrap();
    let patient = |serve: mcp_server::Serve| serve.drain_time(Duration::MAX);
    let mut running = Running::start_with(server.clone(), patient).await;
    let other = Running::start(server.clone()).await;
    let (mut conn, _) = open(&running, &listen_as("\"s\"", all_of(&[]))).await;
    let (mut elsewhere, _) = open(&other, &listen(all_of(&[]))).await;
    let mut h2 = H2::open(running.addr).await;
    let response = h2.send(h2_request("localhost", &listen(all_of(&[])))).await.unwrap();
    server.notify().tools_changed();
    running.shut_down();
    running.ended().await.unwrap();
    assert_eq!(conn.events().await, [tools_changed(&json!("s")), ended(&json!("s"))]);
    let body = within(response.into_body().collect()).await.unwrap().to_bytes();
    let reply = Reply::of_stream(body.to_vec());
    assert_eq!(reply.events().last(), Some(&ended(&json!(1))));
    // The same server on another address goes on, and so does what is started afterwards.
    let again = Running::start(server.clone()).await;
    let (mut anew, _) = open(&again, &listen(all_of(&[]))).await;
    assert_eq!(elsewhere.event().await, Some(tools_changed(&json!(1))));
    server.notify().tools_changed();
    for conn in [&mut elsewhere, &mut anew] {
        assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    }
}

/// A connection with nothing but subscriptions on it is not idle.
#[tokio::test]
async fn a_subscription_keeps_its_connection() {
    let time = Duration::from_millis(20);
    let server = everything().limits(limits(|limits| limits.header_time = time)).build().unwrap();
    let notify = server.notify();
    let running = Running::start(server).await;
    let (mut conn, _) = open(&running, &listen(all_of(&[]))).await;
    let mut h2 = H2::open(running.addr).await;
    let response = h2.send(h2_request("localhost", &listen(all_of(&[])))).await.unwrap();
    let mut body = response.into_body();
    assert!(within(body.frame()).await.unwrap().is_ok());
    tokio::time::sleep(5 * time).await;
    notify.tools_changed();
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    assert!(within(body.frame()).await.unwrap().is_ok());
}

/// In another HTTP stack somebody has to say that it is over.
#[tokio::test]
async fn a_service_ends_its_subscriptions_when_told_to() {
    use http_body_util::Full;
    use tower_service::Service;

    let server = everything().build().unwrap();
    let (mut service, mut other) = (server.service(), server.service());
    let request = || h2_request("localhost", &listen(all_of(&[]))).map(Full::from);
    let opened = within(service.clone().call(request())).await.unwrap();
    let mut elsewhere = within(other.call(request())).await.unwrap().into_body();
    service.end_subscriptions();
    let late = within(service.call(request())).await.unwrap();
    for response in [opened, late] {
        let body = within(response.into_body().collect()).await.unwrap().to_bytes();
        let events = Reply::of_stream(body.to_vec()).events();
        assert_eq!(events, [acknowledged(&json!(1), &granted()), ended(&json!(1))]);
    }
    let first = within(elsewhere.frame()).await.unwrap().unwrap();
    assert!(first.into_data().unwrap().starts_with(b"data: "));
    server.notify().tools_changed();
    assert!(within(elsewhere.frame()).await.unwrap().is_ok());
}

/// What [`everything`] grants of [`all_of`] nothing in particular.
fn granted() -> Value {
    let mut granted = all_of(&[]);
    granted.as_object_mut().unwrap().remove("resourceSubscriptions");
    granted
}

/// An exchange serves them too; closing it breaks the stream off.
#[tokio::test]
async fn an_exchange_listens() {
    let server = everything().build().unwrap();
    let post = listen(all_of(&[]));
    let parts = || {
        let (parts, ()) = h2_request("localhost", &post).map(drop).into_parts();
        RequestParts::from(parts)
    };
    let exchange = Exchange::new(ExchangeOptions::default());
    exchange.connect(&server).unwrap();
    let response = within(exchange.handle(scan(post.content()).unwrap(), parts())).await.unwrap();
    let mut body = response.into_body();
    let mut next = async || within(body.frame()).await.map(|frame| frame.map(|f| f.into_data()));
    assert!(matches!(next().await, Some(Ok(Ok(_)))));
    server.notify().tools_changed();
    assert!(matches!(next().await, Some(Ok(Ok(_)))));
    // Nothing else is sent on it.
    assert_eq!(exchange.send(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#), Ok(false));
    assert_eq!(exchange.comment("here"), Ok(false));
    exchange.close();
    assert!(matches!(next().await, Some(Err(StreamLost))));
    assert_eq!(exchange.comment("here"), Err(ExchangeError::ConnectionClosed));
}

/// Several servers on one bus hear of each other's changes, wherever they come from.
#[tokio::test]
async fn a_bus_carries_changes_between_servers() {
    /// Delivers what it is told from the outside, too.
    #[derive(Default)]
    struct Wire(LocalBus, std::sync::Mutex<Vec<Feed>>);
    impl Bus for Wire {
        fn publish(&self, change: Change) {
            self.0.publish(change);
        }
        fn subscribe(&self, feed: Feed) {
            self.0.subscribe(feed.clone());
            self.1.lock().unwrap().push(feed);
        }
    }
    let bus = Arc::new(Wire::default());
    let server = || -> Server { everything().bus(bus.clone()).build().unwrap() };
    let (first, second) = (server(), server());
    let running = Running::start(second.clone()).await;
    let (mut conn, _) = open(&running, &listen(all_of(&[]))).await;
    first.notify().tools_changed();
    assert_eq!(conn.event().await, Some(tools_changed(&json!(1))));
    drop(first);
    let there: Vec<bool> =
        bus.1.lock().unwrap().iter().map(|feed| feed.deliver(&Change::PromptList)).collect();
    assert_eq!(there, [false, true], "a bus learns which servers are gone");
    let event = conn.event().await.unwrap();
    assert_eq!(event["method"], "notifications/prompts/list_changed");
    // A server without a bus of others is by itself.
    everything().build().unwrap().notify().tools_changed();
    second.notify().resources_changed();
    let event = conn.event().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/list_changed");
}

/// Two thousand streams hear of a change, and all of them end when the server does. Most share connections: file
/// descriptors may be few.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_streams_are_told() {
    /// The server lets a client have this many on one connection.
    const SHARED: usize = 100;
    let many = limits(|limits| (limits.listens, limits.listens_per_caller) = (2000, 2000));
    let server = everything().limits(many).build().unwrap();
    let notify = server.notify();
    let mut running = Running::start(server).await;
    let mut streams = Vec::new();
    for connection in 0..19 {
        let mut h2 = H2::open(running.addr).await;
        for n in 0..SHARED {
            let id = (connection * SHARED + n).to_string();
            let post = listen_as(&id, json!({ "toolsListChanged": true }));
            let response = h2.send(h2_request("localhost", &post)).await.unwrap();
            let mut body = response.into_body();
            let frame = within(body.frame()).await.unwrap().unwrap().into_data().unwrap();
            streams.push((body, frame.to_vec(), id));
        }
    }
    let mut conns = Vec::new();
    for n in 0..SHARED {
        let (conn, _) = open(&running, &listen_as(&n.to_string(), all_of(&[]))).await;
        conns.push((conn, json!(n)));
    }
    assert_eq!(running.ask(&listen(all_of(&[]))).await.status, 503, "2,000 are open");
    notify.tools_changed();
    // Every stream has been told before the end is.
    for (conn, id) in &mut conns {
        assert_eq!(conn.event().await, Some(tools_changed(id)));
    }
    running.shut_down();
    running.ended().await.unwrap();
    for (conn, id) in &mut conns {
        assert_eq!(conn.events().await, [ended(id)]);
    }
    for (body, mut read, id) in streams {
        read.extend(within(body.collect()).await.unwrap().to_bytes());
        let id = serde_json::from_str(&id).unwrap();
        let granted = json!({ "toolsListChanged": true });
        let all = [acknowledged(&id, &granted), tools_changed(&id), ended(&id)];
        assert_eq!(Reply::of_stream(read).events(), all);
    }
}
