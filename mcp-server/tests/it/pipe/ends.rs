//! How a stream ends: by the client's end, a signal, a fault, or being dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_server::ServeError;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, oneshot};

use super::*;

/// D9: what was asked for before the end is answered, the last line without an end of its own included.
#[tokio::test]
async fn calls_in_flight_at_the_end_are_answered() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag), ok()]));
    pipe.call("1", "waits", json!({})).await;
    pipe.write(message("2", "tools/call", json!({ "name": "waits" }))).await;
    pipe.end().await;
    begun.rung().await;
    begun.rung().await;
    go.ring();
    go.ring();
    let mut answers = pipe.rest().await;
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(answers.iter().map(text).collect::<Vec<_>>(), ["1", "2"]);
    pipe.ended().await.unwrap();
}

#[tokio::test]
async fn a_stream_without_a_message_ends_well() {
    for input in ["", "\n", "\r\n\r\n", "   "] {
        let mut pipe = Lines::serve(&server([ok()]));
        pipe.write(input).await;
        pipe.end().await;
        assert_eq!(pipe.rest().await, [json!(null); 0]);
        pipe.ended().await.unwrap();
    }
    let mut pipe = Lines::serve(&server([ok()]));
    pipe.write("{\"jsonrpc\"").await;
    pipe.end().await;
    assert_eq!(error(&pipe.rest().await[0]), (-32700, None));
    pipe.ended().await.unwrap();
}

#[tokio::test]
async fn what_does_not_end_in_time_is_dropped() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let server = server([waits(&begun, &go, flag)]);
    let mut pipe =
        Lines::serve_with(&server, 1 << 16, |serve| serve.drain_time(Duration::from_millis(50)));
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    pipe.end().await;
    dropped.dropped().await;
    assert_eq!(pipe.rest().await, [json!(null); 0]);
    pipe.ended().await.unwrap();
}

/// The signal takes no more requests, and lets those in flight end.
#[tokio::test]
async fn a_signal_ends_a_stream_in_good_order() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let (signal, signalled) = oneshot::channel::<()>();
    let server = server([waits(&begun, &go, flag), ok()]);
    let mut pipe = Lines::serve_with(&server, 1 << 16, |serve| {
        serve.shutdown_on(async { drop(signalled.await) })
    });
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    drop(signal);
    go.ring();
    assert_eq!(pipe.rest().await.iter().map(text).collect::<Vec<_>>(), ["1"]);
    pipe.ended().await.unwrap();
}

/// There is one time to drain, for what somebody waits for and for what runs to completion alike.
#[tokio::test(start_paused = true)]
async fn the_time_to_drain_is_not_given_twice() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, _dropped) = watched();
    let (signal, signalled) = oneshot::channel::<()>();
    let server = server([waits(&begun, &go, flag).run_to_completion()]);
    let mut pipe = Lines::serve_with(&server, 1 << 16, |serve| {
        let serve = serve.shutdown_on(async { drop(signalled.await) });
        serve.drain_time(Duration::from_secs(5))
    });
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    let signalled = tokio::time::Instant::now();
    drop(signal);
    pipe.ended().await.unwrap();
    assert_eq!(signalled.elapsed().as_secs(), 5);
}

/// D8: a client that is gone ends its calls, and is no fault.
#[tokio::test]
async fn a_client_that_is_gone_is_a_clean_end() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let large = Tool::new("large", async || "x".repeat(1 << 20));
    let server = server([waits(&begun, &go, flag), large]);
    let mut pipe = serving(&server, 4096);
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    pipe.call("2", "large", json!({})).await;
    // In the middle of a message.
    within(pipe.reader.read_exact(&mut [0; 1000])).await.unwrap();
    pipe.close();
    dropped.dropped().await;
    pipe.ended().await.unwrap();
}

#[tokio::test]
async fn a_client_that_never_reads_is_given_up() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let large = Tool::new("large", async || "x".repeat(1 << 20));
    let builder = limited(|limits| limits.write_stall = Duration::from_millis(50));
    let server = builder.tools([large, waits(&begun, &go, flag)]).build().unwrap();
    let mut pipe = serving(&server, 4096);
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    pipe.call("2", "large", json!({})).await;
    let Err(ServeError::Stream(error)) = pipe.ended().await else { panic!("it goes on") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    dropped.dropped().await;
}

#[tokio::test]
async fn dropping_it_cancels_what_is_in_flight() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let mut pipe = Lines::serve(&server([waits(&begun, &go, flag)]));
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    pipe.task.abort();
    dropped.dropped().await;
    assert_eq!(pipe.rest().await, [json!(null); 0]);
}

/// A tool that runs to completion does so, cancelled or not, and what nobody waits for goes to the hook.
#[tokio::test]
async fn what_runs_to_completion_is_not_cut_short() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (flag, mut dropped) = watched();
    let (sender, mut hook) = mpsc::unbounded_channel();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let pay = waits(&begun, &go, flag).run_to_completion();
    let server = builder()
        .tools([pay, ok()])
        .on_abandoned(move |abandoned| {
            count.fetch_add(1, Ordering::Relaxed);
            sender.send(json!(abandoned.context.request_id())).unwrap();
        })
        .build()
        .unwrap();
    let mut pipe = Lines::serve(&server);
    pipe.call("1", "waits", json!({})).await;
    begun.rung().await;
    go.ring();
    assert_eq!(text(&pipe.message().await), "1");
    dropped.dropped().await;
    pipe.call("2", "waits", json!({})).await;
    begun.rung().await;
    pipe.cancel("2").await;
    pipe.is_quiet().await;
    assert!(dropped.none_dropped());
    go.ring();
    assert_eq!(within(hook.recv()).await.unwrap(), 2);
    pipe.is_quiet().await;
    pipe.call("3", "waits", json!({})).await;
    begun.rung().await;
    pipe.task.abort();
    assert_eq!(pipe.rest().await, [json!(null); 0]);
    go.ring();
    assert_eq!(within(hook.recv()).await.unwrap(), 3);
    assert_eq!(sent.load(Ordering::Relaxed), 2);
}

/// The same over sockets, whose ends are of other types.
#[cfg(unix)]
#[tokio::test]
async fn a_socket_is_a_stream() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let (reader, writer) = theirs.into_split();
    let task = tokio::spawn(server([ok()]).serve_stream(reader, writer).into_future());
    let (reader, mut writer) = ours.into_split();
    let list = message("1", "tools/call", json!({ "name": "ok" })) + "\n";
    within(writer.write_all(list.as_bytes())).await.unwrap();
    // Half of it is closed; the other half still answers.
    drop(writer);
    let mut lines = BufReader::new(reader).lines();
    let answer = within(lines.next_line()).await.unwrap().unwrap();
    assert_eq!(text(&serde_json::from_str(&answer).unwrap()), "ok");
    assert_eq!(within(lines.next_line()).await.unwrap(), None);
    within(task).await.unwrap().unwrap();
}
