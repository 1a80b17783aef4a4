//! What takes the time of a stopped clock, which the server's own tests do without: Tokio's test utilities would cost its
//! benchmarks some instructions.

use std::future::IntoFuture;
use std::time::Duration;

use mcp_client::Client;
use mcp_server::{Server, Tool};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// There is one time to drain, for what somebody waits for and for what runs to completion alike.
#[tokio::test(start_paused = true)]
async fn the_time_to_drain_is_not_given_twice() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let endless = Tool::new("endless", move || {
        begun.send(()).unwrap();
        std::future::pending::<String>()
    });
    let server =
        Server::builder("test", "1.0.0").tool(endless.run_to_completion()).build().unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(far);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = server
        .serve_stream(reader, writer)
        .shutdown_on(async { drop(stopped.await) })
        .drain_time(Duration::from_secs(5));
    let served = tokio::spawn(serving.into_future());
    let (reader, writer) = tokio::io::split(near);
    let client = Client::over(reader, writer).unwrap();
    let call = tokio::spawn(client.call_tool("endless", ()).into_future());
    begins.recv().await.unwrap();
    let signalled = Instant::now();
    drop(stop);
    served.await.unwrap().unwrap();
    assert_eq!(signalled.elapsed().as_secs(), 5);
    assert!(call.await.unwrap().is_err());
}
