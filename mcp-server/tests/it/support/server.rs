//! A server at work on a port of its own.

use std::net::SocketAddr;

use mcp_server::{Serve, ServeError, Server, ServerBuilder};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Conn, Post, Reply, within};

/// A server that serves until it is dropped or told to [shut down](Self::shut_down).
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    signal: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    pub(crate) async fn start(server: Server) -> Self {
        Self::start_with(server, |serve| serve).await
    }

    pub(crate) async fn build(builder: ServerBuilder) -> Self {
        Self::start(builder.build().unwrap()).await
    }

    /// Starts with more settings.
    pub(crate) async fn start_with(server: Server, configure: impl FnOnce(Serve) -> Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (signal, signalled) = oneshot::channel();
        let serve = server.serve_with(listener).shutdown_on(async {
            let _ = signalled.await;
        });
        let task = tokio::spawn(configure(serve).into_future());
        Self { addr, signal: Some(signal), task }
    }

    pub(crate) async fn connect(&self) -> Conn {
        Conn::open(self.addr).await
    }

    /// Sends `post` over a connection of its own and reads the whole answer.
    pub(crate) async fn ask(&self, post: &Post) -> Reply {
        self.connect().await.ask(post).await
    }

    /// Gives the signal to shut down.
    pub(crate) fn shut_down(&mut self) {
        let _ = self.signal.take().unwrap().send(());
    }

    /// Waits until serving has ended.
    pub(crate) async fn ended(&mut self) -> Result<(), ServeError> {
        within(&mut self.task).await.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
