//! How a reply is played.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body::{Body, Frame};
use mcp_transport::media;
use mcp_types::RawJson;
use serde_json::{Value, json};
use tokio::time::Sleep;

use super::Asked;
use super::reply::{Reply, Step};
use crate::error::BoxError;

pub(super) fn play(reply: Reply, asked: &Asked) -> Result<Response<ScriptBody>, BoxError> {
    if !reply.connects {
        return Err("the script breaks off".into());
    }
    let message = asked.json();
    let id = message.get("id").cloned().unwrap_or_default().into();
    let mut response = Response::new(ScriptBody {
        is_stream: reply.content_type == media::SSE,
        id: reply.id.unwrap_or(id),
        token: message.pointer("/params/_meta/progressToken").cloned(),
        steps: reply.steps.into(),
        sleep: None,
    });
    *response.status_mut() = reply.status;
    let content_type = HeaderValue::from_static(reply.content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}

/// The body of a reply of a [`Script`](super::Script).
pub struct ScriptBody {
    is_stream: bool,
    id: RawJson,
    token: Option<Value>,
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Body for ScriptBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            let Some(step) = self.steps.pop_front() else {
                return Poll::Ready(None);
            };
            let bytes = match step {
                Step::Bytes(bytes) => bytes,
                Step::Response(last) => {
                    self.message(&format!(r#"{{"jsonrpc":"2.0","id":{},{last}}}"#, self.id))
                }
                Step::Notification { method, params } => {
                    let method = Value::from(method);
                    self.message(&format!(
                        r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#
                    ))
                }
                Step::Progress(progress) => match &self.token {
                    None => continue,
                    Some(token) => {
                        let params = json!({ "progressToken": token, "progress": progress });
                        self.message(&format!(
                            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
                        ))
                    }
                },
                Step::Pause(time) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Step::Break => return Poll::Ready(Some(Err("the script breaks off".into()))),
                Step::Hang => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            };
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
    }
}

impl ScriptBody {
    fn message(&self, json: &str) -> Bytes {
        if !self.is_stream {
            return json.to_owned().into();
        }
        // Raw values may hold line ends, which are data of their own in an event.
        let lines: String = json.lines().map(|line| format!("data: {line}\n")).collect();
        (lines + "\n").into()
    }
}

impl fmt::Debug for ScriptBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptBody").field("left", &self.steps.len()).finish_non_exhaustive()
    }
}
