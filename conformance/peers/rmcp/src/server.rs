//! The server: answers in a thread of its own, and counts.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{listening, now, runtime};

static ACCEPTED: AtomicUsize = AtomicUsize::new(0);
static SENT: AtomicU64 = AtomicU64::new(0);

/// How many connections there have been.
pub fn accepted() -> usize {
    ACCEPTED.load(Ordering::SeqCst)
}

/// When the first event of the last stream was handed over to be sent.
pub fn sent() -> u64 {
    SENT.load(Ordering::SeqCst)
}

/// Serves until the process ends.
pub fn start() -> SocketAddr {
    listening(|sender| {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                ACCEPTED.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                tokio::spawn(connection);
            }
        });
    })
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(default)]
    name: &'a str,
    #[serde(borrow, default)]
    arguments: Option<Arguments<'a>>,
    #[serde(default, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

async fn answer(request: Request<Incoming>) -> Result<Response<AnyBody>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let Ok(Message { id, method, params }) = serde_json::from_slice(&body) else {
        let nothing = Full::new(Bytes::new()).boxed_unsync();
        return Ok(Response::builder().status(405).body(nothing).unwrap());
    };
    let respond = |result: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete",{SERVER},{result}}}}}"#
        )
    };
    let (kind, body) = match (method, params.name) {
        ("server/discover", _) => ("application/json", whole(respond(DISCOVERED))),
        (_, "progress") => {
            let token = params.meta.token.expect("a progress token");
            let first = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            );
            let last = respond(r#""content":[{"type":"text","text":"ok"}]"#);
            let event = |json: &str| Some(Bytes::from(format!("data: {json}\n\n")));
            let events = Events { first: event(&first), last: event(&last), pause: None };
            ("text/event-stream", events.boxed_unsync())
        }
        _ => {
            let text = params.arguments.and_then(|arguments| arguments.text).expect("a text");
            let result = format!(r#""content":[{{"type":"text","text":{text}}}]"#);
            ("application/json", whole(respond(&result)))
        }
    };
    Ok(Response::builder().header("content-type", kind).body(body).unwrap())
}

const SERVER: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}"#;

const DISCOVERED: &str = r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private""#;

fn whole(json: String) -> AnyBody {
    Full::new(json.into()).boxed_unsync()
}

/// One event at once, the last one 20 ms later.
struct Events {
    first: Option<Bytes>,
    last: Option<Bytes>,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            SENT.store(now(), Ordering::SeqCst);
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let pause = Duration::from_millis(20);
        let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
        match pause.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(self.last.take().map(|last| Ok(Frame::data(last)))),
            Poll::Pending => Poll::Pending,
        }
    }
}
