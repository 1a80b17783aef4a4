//! Timeouts, on paused time.

use std::time::Duration;

use mcp_client::Error;
use tokio::time::Instant;

use crate::support::{Memory, OK, Piece, call, result};

const SECOND: Duration = Duration::from_secs(1);

fn progress(nth: u32) -> Piece {
    Piece::event(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{{id}},"progress":{nth}}}}}"#
    ))
}

/// Progress every second.
fn ticking(times: u32) -> Vec<Piece> {
    let ticks = (0..times).flat_map(|nth| [Piece::Wait(SECOND), progress(nth)]);
    ticks.chain([Piece::event(&result(OK))]).collect()
}

fn ended_after<T>(since: Instant, answer: Result<T, Error>, seconds: u64) {
    let error = answer.err().unwrap();
    assert!(error.is_timeout() && !error.is_transport(), "{error:?}");
    assert_eq!(since.elapsed().as_secs(), seconds, "{error}");
}

// C4
#[tokio::test(start_paused = true)]
async fn the_defaults() {
    let since = Instant::now();
    ended_after(since, call(&Memory::new([]).client()).await, 60);

    let memory = Memory::sse(ticking(700));
    let since = Instant::now();
    let answer = memory.client().call_tool("t", ()).reset_on_progress().await;
    ended_after(since, answer, 600);
}

#[tokio::test(start_paused = true)]
async fn every_wait_is_bounded() {
    let half = Piece::Data("{".to_owned());
    let table = [
        Memory::new([]),
        Memory::new([("application/json", vec![Piece::Hang])]),
        Memory::new([("application/json", vec![half.clone(), Piece::Hang])]),
        Memory::sse(vec![Piece::Hang]),
        Memory::sse(vec![half, Piece::Hang]),
        Memory::sse(ticking(100)),
    ];
    for memory in table {
        let client = memory.builder().timeout(7 * SECOND).build().unwrap();
        let since = Instant::now();
        ended_after(since, call(&client).await, 7);
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_has_its_own() {
    let client = Memory::new([]).builder().timeout(7 * SECOND).build().unwrap();
    let since = Instant::now();
    ended_after(since, client.discover().timeout(SECOND).await, 1);
    let since = Instant::now();
    ended_after(since, client.discover().timeout(None).total_timeout(3 * SECOND).await, 3);

    let memory = Memory::sse(ticking(5000));
    let call = memory.client().call_tool("t", ()).timeout(None).total_timeout(None);
    assert!(call.await.is_ok());
}

// C5: progress each second, two seconds of silence allowed, ten in all.
#[tokio::test(start_paused = true)]
async fn progress_resets_the_timeout_but_not_the_total() {
    let limited = |memory: Memory| {
        let builder = memory.builder().timeout(2 * SECOND).total_timeout(10 * SECOND);
        builder.build().unwrap().call_tool("t", ())
    };
    let since = Instant::now();
    ended_after(since, limited(Memory::sse(ticking(5))).await, 2);
    limited(Memory::sse(ticking(5))).reset_on_progress().await.unwrap();
    let since = Instant::now();
    ended_after(since, limited(Memory::sse(ticking(50))).reset_on_progress().await, 10);

    // Progress of others, comments and logs do not count.
    for noise in [
        r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}"#,
        r#"data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        ": comment",
    ] {
        let noise = [Piece::Wait(SECOND), Piece::Data(format!("{noise}\n\n"))];
        let memory = Memory::sse(std::iter::repeat_n(noise, 20).flatten().collect());
        let since = Instant::now();
        ended_after(since, limited(memory).reset_on_progress().await, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_not_waited_for_behind_its_response() {
    let memory = Memory::sse(vec![Piece::event(&result(OK)), Piece::Hang]);
    let since = Instant::now();
    assert_eq!(call(&memory.client()).await.unwrap(), "ok");
    assert!(since.elapsed() <= mcp_client::Limits::STREAM_END + Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_status_is_not_kept_waiting_by_its_body() {
    for (time, waited) in [(60 * SECOND, 5), (2 * SECOND, 2)] {
        let memory = Memory::refusing(403, vec![Piece::Data("no".to_owned()), Piece::Hang]);
        let since = Instant::now();
        let error = memory.client().discover().timeout(time).await.unwrap_err();
        assert!(error.is_auth() && !error.is_timeout(), "{error:?}");
        assert_eq!(since.elapsed().as_secs(), waited);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_stream_is_no_timeout() {
    let error = call(&Memory::sse(vec![Piece::Fail]).client()).await.unwrap_err();
    assert!(error.is_transport(), "{error:?}");
    let failing = vec![Piece::event(&result(OK)), Piece::Fail];
    assert_eq!(call(&Memory::sse(failing).client()).await.unwrap(), "ok");
}
