//! HTTP and connections of the caller's own.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Pool, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_client::Client;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::support::{OK, Reply, Server, call, result};

type Boxed<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Connects to one server, whatever the address.
#[derive(Clone)]
struct Always(String);

impl Service<Uri> for Always {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = Boxed<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let host = self.0.clone();
        Box::pin(async move { TcpStream::connect(host).await.map(TokioIo::new) })
    }
}

#[tokio::test]
async fn a_connector_makes_the_connections() {
    let server = Server::start([Reply::json(&result(OK)), Reply::json(&result(OK))]).await;
    // What TLS is to an address, this is to one of HTTPS.
    let builder = Client::builder("https://example.com/mcp").connector(Always(server.host.clone()));
    let client = builder.build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.requests()[0].header("host"), Some("example.com"));
    assert_eq!(server.connections(), 1);

    let nowhere = Client::builder("https://example.com/").connector(Always("127.0.0.1:0".into()));
    assert!(call(&nowhere.build().unwrap()).await.unwrap_err().is_connect());
}

/// Notes what passes, and adds a header, as a layer would.
#[derive(Clone)]
struct Noting {
    inner: Pool<HttpConnector, Full<Bytes>>,
    noted: Arc<Mutex<Vec<(String, serde_json::Value)>>>,
}

impl Service<Request<Full<Bytes>>> for Noting {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = Boxed<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<Full<Bytes>>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let (mut inner, noted) = (self.inner.clone(), Arc::clone(&self.noted));
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let version = head.headers["mcp-protocol-version"].to_str().unwrap().to_owned();
            noted.lock().unwrap().push((version, serde_json::from_slice(&body).unwrap()));
            head.headers.insert("x-layer", "1".parse().unwrap());
            inner.call(Request::from_parts(head, Full::new(body))).await
        })
    }
}

// H8: a layer in between sees the whole message, whose header and body agree.
#[tokio::test]
async fn a_service_is_the_http_layer() {
    let server = Server::start([Reply::json(&result(OK)), Reply::sse(&[&result(OK)])]).await;
    let inner = Pool::builder(TokioExecutor::new()).build_http();
    let noting = Noting { inner, noted: Arc::default() };
    let client = Client::builder(&server.url).service(noting.clone()).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.requests()[1].header("x-layer"), Some("1"));
    let noted = noting.noted.lock().unwrap();
    assert_eq!(noted.len(), 2);
    for (header, message) in &*noted {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], *header);
    }
}
