//! `Answer`: the last message of an exchange, encoded.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use mcp_types::{ErrorCode, ErrorMessage, ErrorObject, HasMeta, Outcome, RequestId, ResultMessage};
use serde::Serialize;

use super::{Body, Framing, JSON};
use crate::context::Context;
use crate::detached::Unheard;
use crate::handler::Handled;
use crate::layer::{CallOutcome, Refusal};
use crate::span::Fault;

/// The response to a request as it goes out, and the HTTP status for it while nothing was sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) json: Vec<u8>,
    /// Why the request failed, where it did.
    pub(crate) fault: Option<Fault>,
    /// After how many seconds to try again, where it was too early.
    retry_after: Option<u64>,
    /// Where somebody has to be told what it says if it is dropped instead of sent.
    unheard: Option<Box<Unheard>>,
}

impl Answer {
    /// One that is encoded already: a result, or the error of this code.
    pub(crate) fn new(json: Vec<u8>, error: Option<ErrorCode>) -> Self {
        let status = error.map_or(StatusCode::OK, status_of);
        let fault = error.map(Fault::Code);
        Self { status, json, fault, retry_after: None, unheard: None }
    }

    /// What the outcome of a call makes.
    pub(crate) fn of(context: &Context, outcome: CallOutcome) -> Self {
        let fault = outcome.is_tool_error().then_some(Fault::Tool);
        let CallOutcome { reply, refusal, unheard } = outcome;
        let encoded = reply
            .and_then(|outcome| may_ask(context, outcome))
            .and_then(|outcome| encode(context, outcome));
        let mut answer = match encoded {
            Ok(json) => Self { fault, ..Self::new(json, None) },
            Err(error) => Self::failed(context, error),
        };
        match refusal {
            None => {}
            Some(Refusal::Busy(seconds)) => {
                answer.status = StatusCode::TOO_MANY_REQUESTS;
                answer.retry_after = Some(seconds);
            }
            #[cfg(feature = "asking")]
            Some(Refusal::State) => answer.status = StatusCode::BAD_REQUEST,
        }
        Self { unheard, ..answer }
    }

    /// What an error makes. Only -32021 has a status of its own here: every other error of a handler is in
    /// band.
    pub(crate) fn failed(context: &Context, mut error: ErrorObject) -> Self {
        // These two say that nothing was done, and that to mend the request and repeat it is safe.
        let before = [ErrorCode::HEADER_MISMATCH, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION]
            .contains(&error.code);
        if before || !error.code.may_be_sent() {
            tracing::warn!(code = %error.code, "a handler's error code may not be sent; -32603 is sent instead");
            error.code = ErrorCode::INTERNAL_ERROR;
        }
        let code = error.code;
        let message = ErrorMessage::new(Some(context.request_id().clone()), error);
        // Its parts were decoded from JSON or made of strings, which always encode.
        Self::new(serde_json::to_vec(&message).unwrap_or_default(), Some(code))
    }

    /// What an encoded result makes.
    pub(crate) fn encoded(id: &RequestId, result: &str) -> Self {
        let mut json = Vec::with_capacity(result.len() + AROUND);
        around(&mut json, id, |json| json.extend_from_slice(result.as_bytes()));
        Self::new(json, None)
    }

    /// As the one body of a response.
    pub(crate) fn into_json(self) -> Response<Body> {
        let mut response = Response::new(Body::full(self.json));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        if let Some(seconds) = self.retry_after {
            too_early(response.headers_mut(), seconds);
        }
        if let Some(unheard) = self.unheard {
            unheard.is_sent();
        }
        response
    }

    /// As the last frame of a stream.
    pub(crate) fn write_frame(self, out: &mut Vec<u8>, framing: Framing) {
        framing.write(out, &self.json);
        if let Some(unheard) = self.unheard {
            unheard.is_sent();
        }
    }
}

#[cold]
fn too_early(headers: &mut HeaderMap, retry_after: u64) {
    headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
}

/// The HTTP status of a call that came to an error, while nothing was sent.
const fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Sees to it that a client is asked only for what it declared.
fn may_ask(context: &Context, outcome: Outcome<Handled>) -> Result<Outcome<Handled>, ErrorObject> {
    if let Outcome::InputRequired(input) = &outcome
        && let Some(missing) = context.client_capabilities().missing(&input.required_capabilities())
    {
        return Err(ErrorObject::missing_capability(missing));
    }
    Ok(outcome)
}

/// Encodes the response, with the server's identity unless the handler gave one.
fn encode(context: &Context, mut outcome: Outcome<Handled>) -> Result<Vec<u8>, ErrorObject> {
    let meta = match &mut outcome {
        Outcome::Complete(handled) => handled.meta_mut(),
        Outcome::InputRequired(input) => input.meta_mut(),
    };
    let encoded = match &context.shared().identity {
        // By far the most common: the same `_meta` as ever, encoded when the server was built.
        Some(identity) if meta.is_empty() => {
            let mut json = Vec::with_capacity(size_hint(&outcome));
            around(&mut json, context.request_id(), |json| {
                outcome.encode_with_meta(&identity.meta, json)
            })
            .map(|()| json)
        }
        identity => {
            if meta.server_info.is_none() {
                meta.server_info =
                    identity.as_ref().map(|identity| identity.implementation.clone());
            }
            serde_json::to_vec(&ResultMessage::new(context.request_id().clone(), outcome))
        }
    };
    encoded.map_err(|error| {
        tracing::error!(%error, "a result has no form in JSON");
        ErrorObject::internal_error("The result could not be encoded")
    })
}

/// The envelope of a result that `write` appends.
fn around<T>(json: &mut Vec<u8>, id: &RequestId, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    json.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    // An id is a string or an integer, which always encode.
    let _ = id.serialize(&mut serde_json::Serializer::new(&mut *json));
    json.extend_from_slice(br#","result":"#);
    let written = write(json);
    json.push(b'}');
    written
}

/// About what an envelope takes besides the result.
const AROUND: usize = 64;

/// About what `outcome` will take: enough to spare text the growing of the buffer.
fn size_hint(outcome: &Outcome<Handled>) -> usize {
    const MEMBERS: usize = 256;
    let Outcome::Complete(Handled::Tool(result)) = outcome else { return MEMBERS };
    let text: usize = result
        .content
        .iter()
        .map(|block| block.as_text().map_or(MEMBERS, |text| text.len() + 32))
        .sum();
    let structured = result.structured_content.as_ref().map_or(0, |json| json.get().len());
    MEMBERS + text + structured
}
