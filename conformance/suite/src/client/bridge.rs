//! `mcp-conformance bridge`: the server that a client under test starts, where it speaks in lines.

use tokio::io::{AsyncWriteExt as _, copy, stdin, stdout};
use tokio::net::TcpStream;

/// Connects the program's standard streams with the playing server at `address`, until either ends.
///
/// # Errors
/// When there is no such server.
pub(crate) async fn bridge(address: &str) -> std::io::Result<()> {
    let (mut from, mut to) = TcpStream::connect(address).await?.into_split();
    let (mut input, mut output) = (stdin(), stdout());
    let up = async {
        let copied = copy(&mut input, &mut to).await;
        let _ = to.shutdown().await;
        copied
    };
    let down = async {
        let copied = copy(&mut from, &mut output).await;
        let _ = output.flush().await;
        copied
    };
    tokio::pin!(up, down);
    tokio::select! {
        // The client has nothing more to say; what is left to be answered may still come.
        _ = &mut up => { let _ = down.await; }
        _ = &mut down => {}
    }
    Ok(())
}
