//! What neither a client nor a handler can do to a stream, to the others on it, or to the process.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc as threads};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::oneshot;

use super::*;

/// A client that writes without a pause and counts what it gets.
struct Flood {
    line: Vec<u8>,
    answers: Arc<AtomicUsize>,
    /// How many bytes of answers it takes at all.
    room: usize,
    taken: Arc<AtomicUsize>,
}

impl Flood {
    fn of(line: &str, room: usize) -> Self {
        let line = format!("{line}\n").into_bytes();
        Self { line, answers: Arc::default(), room, taken: Arc::default() }
    }

    fn ends(&self) -> (Self, Self) {
        let end = || Self {
            line: self.line.clone(),
            answers: Arc::clone(&self.answers),
            room: self.room,
            taken: Arc::clone(&self.taken),
        };
        (end(), end())
    }
}

impl AsyncRead for Flood {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while buf.remaining() >= self.line.len() {
            buf.put_slice(&self.line);
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Flood {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.room == 0 {
            return Poll::Pending;
        }
        let fits = buf.len().min(self.room);
        self.room -= fits;
        let answers = buf[..fits].iter().filter(|byte| **byte == b'\n').count();
        self.answers.fetch_add(answers, Ordering::Relaxed);
        Poll::Ready(Ok(fits))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Everything that a line can come to.
fn floods() -> [String; 6] {
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    [
        "x".to_owned(),
        "{}".to_owned(),
        message("1", "no/such", json!({})),
        message("1", "tools/list", json!({})),
        message("1", "tools/call", json!({ "name": "ok" })),
        cancel.to_string(),
    ]
}

/// A client gets some hundreds of microseconds of a thread, then it is the turn of the others.
#[tokio::test]
async fn a_client_that_never_pauses_gets_its_turn_and_no_more() {
    for line in floods() {
        let flood = Flood::of(&line, usize::MAX);
        let (reader, writer) = flood.ends();
        let mut serve = server([ok()]).serve_stream(reader, writer).into_future();
        for turn in 1..20 {
            let polled = poll_fn(|cx| Poll::Ready(serve.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
            let answers = flood.answers.load(Ordering::Relaxed);
            assert!(answers <= turn * 100, "{answers} answers in {turn} turns to {line}");
            tokio::task::yield_now().await;
        }
    }
}

/// Each bad line has an answer, and none of them is kept that nobody takes: the client is not read either.
#[tokio::test]
async fn answers_that_nobody_reads_are_bounded() {
    for (line, answered) in floods().into_iter().zip([true, true, true, true, true, false]) {
        for room in [0, 1, 100, 10_000] {
            let flood = Flood::of(&line, room);
            let (reader, writer) = flood.ends();
            let mut serve = server([ok()]).serve_stream(reader, writer).into_future();
            for _ in 0..1000 {
                let polled = poll_fn(|cx| Poll::Ready(serve.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
                tokio::task::yield_now().await;
            }
            // A buffer of answers, and what one read brought besides.
            let lines = flood.taken.load(Ordering::Relaxed);
            let bound = (128 * 1024 + room) / 60 + 16 * 1024 / line.len();
            assert_eq!(lines <= bound, answered, "{lines} of {line}");
        }
    }
}

/// What comes back with everything that is said about a request is short, since all of that may wait.
#[tokio::test]
async fn long_ids_and_tokens_are_refused() {
    let mut pipe = Lines::serve(&server([ok()]));
    for (length, fits) in [(1024, true), (1025, false), (1 << 20, false)] {
        let id = json!("x".repeat(length));
        pipe.call(&id.to_string(), "ok", json!({})).await;
        let answer = pipe.message().await;
        assert_eq!(answer["id"], id);
        if fits {
            text(&answer);
        } else {
            assert_eq!(error(&answer).0, -32600);
        }
        let mut meta = crate::support::meta();
        meta["progressToken"] = id;
        pipe.send("1", "tools/call", json!({ "name": "ok", "_meta": meta })).await;
        let answer = pipe.message().await;
        assert_eq!(
            answer.get("error").map(|error| &error["code"]),
            (!fits).then_some(&json!(-32602))
        );
    }
    pipe.is_quiet().await;
}

/// What has nothing to do is not polled, in every state that a connection can wait in.
#[tokio::test]
async fn a_stream_that_waits_costs_nothing() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let announces = mcp_server::Announces::new().tools();
    let builder = builder().announces(announces).tools([ok(), waits(&begun, &go, flag)]);
    let (ours, theirs) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(theirs);
    let mut serve = builder.build().unwrap().serve_stream(reader, writer).into_future();
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let serving = tokio::spawn(poll_fn(move |cx| {
        count.fetch_add(1, Ordering::Relaxed);
        serve.as_mut().poll(cx)
    }));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = tokio::io::BufReader::new(reader).lines();
    // It may be polled until all is done that there is to do, and no more then.
    let idle = async || {
        let mut before = usize::MAX;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
            let now = polls.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        panic!("it is polled all the time");
    };
    idle().await;
    let call = message("1", "tools/call", json!({ "name": "waits" })) + "\n";
    within(writer.write_all(call.as_bytes())).await.unwrap();
    begun.rung().await;
    idle().await;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let listen = message("2", "subscriptions/listen", filter) + "\n";
    within(writer.write_all(listen.as_bytes())).await.unwrap();
    // The acknowledgment does not fit into the stream.
    idle().await;
    assert!(within(lines.next_line()).await.unwrap().unwrap().contains("acknowledged"));
    idle().await;
    within(writer.write_all(b"{\"half of a line")).await.unwrap();
    idle().await;
    within(writer.shutdown()).await.unwrap();
    // The drain runs, a call is under way, and what else there is to say is not read.
    idle().await;
    // The line that broke off; the subscription's result, and its cancellation.
    for id in [None, Some(2), None] {
        let line = within(lines.next_line()).await.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"].as_u64(), id);
    }
    idle().await;
    go.ring();
    assert!(within(lines.next_line()).await.unwrap().is_some());
    assert_eq!(within(lines.next_line()).await.unwrap(), None);
    within(serving).await.unwrap().unwrap();
}

/// A handler that blocks its thread harms itself, whatever it has said before. The stream is served where `main`
/// waits, as the one of a process is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_holds_up_nobody_else() {
    let (release, held) = threads::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let blocks = Tool::new("blocks", move |progress: Progress| {
        let held = Arc::clone(&held);
        async move {
            tokio::task::yield_now().await;
            progress.report(1);
            // Until it is let go, or the test has failed.
            let _ = held.lock().unwrap().recv();
            "unblocked"
        }
    });
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let serve = server([blocks, ok()]).serve_stream(reader, writer).into_future();
    let client = tokio::spawn(async move {
        let mut pipe = Lines::over(ours, tokio::spawn(std::future::ready(Ok(()))));
        pipe.call_listening("1", "blocks").await;
        assert_eq!(pipe.message().await["method"], "notifications/progress");
        pipe.is_quiet().await;
        pipe.call_listening("2", "blocks").await;
        assert_eq!(pipe.message().await["method"], "notifications/progress");
        pipe.cancel("2").await;
        pipe.is_quiet().await;
        release.send(()).unwrap();
        assert_eq!(text(&pipe.message().await), "unblocked");
        pipe.end().await;
    });
    within(serve).await.unwrap();
    client.await.unwrap();
}

/// A destructor that panics is its call's own, whoever runs it.
#[tokio::test]
async fn destructors_that_panic_end_nothing() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in a destructor");
            }
        }
    }

    let begun = Bell::new();
    let bell = begun.clone();
    let hangs = Tool::new("hangs", move || {
        let bell = bell.clone();
        async move {
            let _bomb = Bomb;
            bell.ring();
            std::future::pending::<String>().await
        }
    });
    let ends = Tool::new("ends", async || {
        let _bomb = Bomb;
        "ended"
    });
    let pays = Tool::new("pays", async || {
        let _bomb = Bomb;
        "paid"
    });
    let tools = [hangs, ends, pays.run_to_completion(), ok()];
    let short = limits(|limits| limits.call_time = Duration::from_millis(50));
    let server = builder().tools(tools).limits(short).build().unwrap();
    let mut pipe = Lines::serve(&server);
    pipe.call("1", "hangs", json!({})).await;
    begun.rung().await;
    pipe.cancel("1").await;
    pipe.is_quiet().await;
    for (id, tool) in [("2", "ends"), ("3", "pays"), ("4", "hangs")] {
        pipe.call(id, tool, json!({})).await;
        assert_eq!(error(&pipe.message().await).0, -32603, "{tool}");
    }
    pipe.is_quiet().await;
}

/// Of what is in flight, of what is not, and of everything at the moment when it begins.
#[tokio::test]
async fn cancellations_by_the_thousand() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), ok()]));
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    for id in 0..5000 {
        pipe.cancel(&format!("\"{id}\"")).await;
        pipe.cancel("2").await;
    }
    pipe.is_quiet().await;
    assert!(dropped.none_dropped());
    for _ in 0..5000 {
        pipe.cancel("1").await;
    }
    dropped.dropped().await;
    pipe.is_quiet().await;
    for id in 0..5000 {
        pipe.call(&id.to_string(), "waits", json!({})).await;
        pipe.cancel(&id.to_string()).await;
    }
    pipe.is_quiet().await;
    let filter = json!({ "notifications": {} });
    for id in 0..5000 {
        pipe.send(&id.to_string(), "subscriptions/listen", filter.clone()).await;
        pipe.cancel(&id.to_string()).await;
    }
    // Each has ended, with or without a word.
    pipe.call("\"last\"", "ok", json!({})).await;
    while pipe.message().await["id"] != "last" {}
    pipe.is_quiet().await;
}

/// However little and however much time there is, what is at hand is answered before the end.
#[tokio::test]
async fn times_to_drain_of_every_length() {
    for drain in [Duration::ZERO, Duration::from_secs(1 << 40), Duration::MAX] {
        let mut pipe = Lines::serve_with(&server([ok()]), 1 << 16, |serve| serve.drain_time(drain));
        pipe.send("1", "tools/list", json!({})).await;
        pipe.end().await;
        assert_eq!(pipe.rest().await.len(), 1, "{drain:?}");
        pipe.ended().await.unwrap();
    }
}

/// The signal and the end of the input together are one end.
#[tokio::test]
async fn a_signal_at_the_end_of_the_input() {
    for to_completion in [false, true] {
        let (begun, go) = (Bell::new(), Bell::new());
        let (flag, _dropped) = watched();
        let waits = waits(&begun, &go, flag);
        let waits = if to_completion { waits.run_to_completion() } else { waits };
        let (signal, signalled) = oneshot::channel::<()>();
        let mut pipe = Lines::serve_with(&server([waits]), 1 << 16, |serve| {
            serve.shutdown_on(async { drop(signalled.await) })
        });
        pipe.call("1", "waits", json!({})).await;
        begun.rung().await;
        pipe.end().await;
        drop(signal);
        tokio::task::yield_now().await;
        go.ring();
        assert_eq!(pipe.rest().await.iter().map(text).collect::<Vec<_>>(), ["1"]);
        pipe.ended().await.unwrap();
    }
}

/// A client may stop reading at any byte: it is let go, and so is what it asked for.
#[tokio::test]
async fn a_client_that_leaves_at_any_byte() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let steps = Tool::new("steps", async |progress: Progress| {
        for step in 1..=3 {
            progress.report(step);
            tokio::task::yield_now().await;
        }
        "done"
    });
    let server = server([steps, waits(&begun, &go, flag)]);
    for bytes in 0..400 {
        let mut pipe = serving(&server, 32);
        pipe.call("1", "waits", json!({})).await;
        begun.rung().await;
        pipe.call_listening("2", "steps").await;
        within(pipe.reader.read_exact(&mut vec![0; bytes])).await.unwrap();
        pipe.close();
        dropped.dropped().await;
        pipe.ended().await.unwrap();
    }
}

/// Nor does it hold up an end that is wanted here.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_no_end() {
    let large = Tool::new("large", async || "x".repeat(1 << 16));
    let (signal, signalled) = oneshot::channel::<()>();
    let mut pipe = Lines::serve_with(&server([large]), 1 << 12, |serve| {
        let serve = serve.shutdown_on(async { drop(signalled.await) });
        serve.drain_time(Duration::from_millis(50))
    });
    pipe.call("1", "large", json!({})).await;
    within(pipe.reader.read_exact(&mut [0; 10])).await.unwrap();
    drop(signal);
    pipe.ended().await.unwrap();
}

/// Whatever happens at the same moment on other threads, everything that is to be said is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wake_up_is_lost() {
    let hops = Tool::new("hops", async |progress: Progress| {
        for step in 1..=3 {
            // Elsewhere, so that it is woken from another thread.
            tokio::spawn(tokio::task::yield_now()).await.unwrap();
            progress.report(step);
        }
        "done"
    });
    let announces = mcp_server::Announces::new().tools();
    let server = builder().announces(announces).tools([hops, ok()]).build().unwrap();
    let notify = server.notify();
    let clients = (0..16).map(|client| {
        let (server, notify) = (server.clone(), notify.clone());
        tokio::spawn(async move {
            let mut pipe = serving(&server, [1, 2, 3, 1 << 12][client % 4]);
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            pipe.send("0", "subscriptions/listen", filter).await;
            for id in 1..=40 {
                pipe.call_listening(&id.to_string(), "hops").await;
                let (mut answered, mut last, mut heard) = (false, 0, id > 1);
                while !(answered && heard) {
                    let message = pipe.message().await;
                    if message["id"] == id {
                        assert_eq!((text(&message), last), ("done", 3));
                        answered = true;
                        notify.tools_changed();
                        // Of a change behind the answer every client hears, sooner or later.
                        heard = false;
                    } else if message["params"]["progressToken"] == id {
                        last = message["params"]["progress"].as_u64().unwrap();
                    } else {
                        heard = message["method"] == "notifications/tools/list_changed";
                    }
                }
            }
            pipe.end().await;
            let rest = pipe.rest().await;
            // Behind it is only the cancellation of the same.
            assert_eq!(rest.iter().nth_back(1).unwrap()["id"], 0);
            pipe.ended().await.unwrap();
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

/// Two clients of one server have nothing to do with each other, whatever ids they choose.
#[tokio::test]
async fn streams_of_one_server_are_apart() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let server = server([waits(&begun, &go, flag), ok()]);
    let (mut one, mut other) = (Lines::serve(&server), Lines::serve(&server));
    for pipe in [&mut one, &mut other] {
        pipe.call("1", "waits", json!({})).await;
        begun.rung().await;
    }
    one.cancel("1").await;
    dropped.dropped().await;
    other.cancel("2").await;
    one.end().await;
    one.ended().await.unwrap();
    other.is_quiet().await;
    assert!(dropped.none_dropped());
    go.ring();
    assert_eq!(text(&other.message().await), "1");
}
