//! hyper alone: parses the body, answers the bytes that the other server answers, checks nothing.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use crate::work::Work;

#[derive(Deserialize)]
struct Message {
    id: u64,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    arguments: Arguments,
}

#[derive(Default, Deserialize)]
struct Arguments {
    text: String,
}

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: u64,
    result: &'a T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: &'a RawValue,
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// What is always the same.
struct Fixed {
    work: Work,
    meta: Box<RawValue>,
    list: Box<RawValue>,
}

pub(crate) async fn serve(listener: TcpListener, work: Work) {
    let raw = |text: String| RawValue::from_string(text).unwrap();
    let fixed: &'static Fixed = Box::leak(Box::new(Fixed {
        work,
        meta: raw(
            r#"{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}"#.into()
        ),
        list: raw(list(work).await),
    }));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service = hyper::service::service_fn(|request| answer(fixed, request));
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// The list that the other server gives, taken from it.
async fn list(work: Work) -> String {
    use tower_service::Service;
    let request = Work::List1.request();
    let text = String::from_utf8(request).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut built = Request::post("/mcp");
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ").unwrap();
        built = built.header(name, value);
    }
    let request = built.body(http_body_util::Full::new(Bytes::from(body.to_owned()))).unwrap();
    let response = crate::ours::server(work).service().call(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    #[derive(Deserialize)]
    struct Listed {
        result: Box<RawValue>,
    }
    let listed: Listed = serde_json::from_slice(&body).unwrap();
    listed.result.get().to_owned()
}

type BoxBody = UnsyncBoxBody<Bytes, Infallible>;

async fn answer(
    fixed: &Fixed,
    request: Request<Incoming>,
) -> Result<Response<BoxBody>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let message: Message = serde_json::from_slice(&body).unwrap();
    let text = &message.params.arguments.text;
    Ok(match fixed.work {
        Work::Echo50 | Work::Echo64K => json(call_answer(fixed, message.id, text)),
        Work::List1 | Work::List100 => json(encode(message.id, &fixed.list)),
        Work::Progress10 | Work::Paced10 => {
            let last = call_answer(fixed, message.id, "done");
            let mut response = Response::new(Events { sent: 0, last }.boxed_unsync());
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, "text/event-stream".parse().unwrap());
            headers.insert(header::CACHE_CONTROL, "no-cache, no-transform".parse().unwrap());
            headers.insert("x-accel-buffering", "no".parse().unwrap());
            response
        }
    })
}

fn call_answer(fixed: &Fixed, id: u64, text: &str) -> Vec<u8> {
    let result = CallResult {
        result_type: "complete",
        meta: &fixed.meta,
        content: [Text { r#type: "text", text }],
    };
    encode(id, &result)
}

fn encode<T: Serialize>(id: u64, result: &T) -> Vec<u8> {
    serde_json::to_vec(&Answer { jsonrpc: "2.0", id, result }).unwrap()
}

fn json(body: Vec<u8>) -> Response<BoxBody> {
    let mut response = Response::new(http_body_util::Full::new(Bytes::from(body)).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    response
}

/// Ten events and the answer, each written by itself.
struct Events {
    sent: u32,
    last: Vec<u8>,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent += 1;
        let event = match self.sent {
            n @ 1..=10 => format!(
                "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                 {{\"progressToken\":\"token\",\"progress\":{n},\"total\":10}}}}\n\n"
            )
            .into_bytes(),
            11 => [b"data: ", &self.last[..], b"\n\n"].concat(),
            _ => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(event.into()))))
    }
}
