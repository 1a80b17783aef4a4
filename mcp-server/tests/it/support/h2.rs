//! HTTP/2, for which bytes by hand would be a library of its own: hyper's client connection.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::{Post, within};

/// A connection that speaks HTTP/2 without being asked to.
#[derive(Clone)]
pub(crate) struct H2(SendRequest<Full<Bytes>>);

impl H2 {
    pub(crate) async fn open(addr: SocketAddr) -> Self {
        let stream = within(TcpStream::connect(addr)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) =
            within(http2::handshake(TokioExecutor::new(), TokioIo::new(stream))).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// One that lets the server send `window` bytes on each stream until they are read.
    pub(crate) async fn open_with_window(addr: SocketAddr, window: u32) -> Self {
        let stream = within(TcpStream::connect(addr)).await.unwrap();
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (sender, connection) = within(builder.handshake(TokioIo::new(stream))).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// The head of the response; dropping what it returns resets the stream.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        within(self.0.send_request(request)).await
    }

    /// A response that is not waited for here.
    pub(crate) fn begin(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + Send + use<> {
        self.0.send_request(request)
    }
}

/// `post` to `authority`; its `Host` field only where it says another name than `localhost`.
pub(crate) fn h2_request(authority: &str, post: &Post) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("http://{authority}/mcp"));
    for (name, value) in post.fields() {
        if name != "Host" || value != "localhost" {
            request = request.header(name, value);
        }
    }
    request.body(Full::new(Bytes::copy_from_slice(post.content()))).unwrap()
}
