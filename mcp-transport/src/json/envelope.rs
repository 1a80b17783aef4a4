//! The envelope: one JSON-RPC message by its parts (specification: Overview, Messages).

use std::borrow::Cow;

use mcp_types::RequestId;

use super::cursor::{Cursor, Key, SyntaxError};
use super::error::Kind;
use super::object::repeated;
use super::{Object, ScanError, decode_string};
use crate::limits::MAX_ID;
use crate::quote;

/// Reads one message and proves that what it carries can be decoded.
///
/// In one pass: UTF-8, the whole JSON grammar, nesting up to
/// [`MAX_DEPTH`](crate::limits::MAX_DEPTH), and no key twice in the envelope, in `params`, in their
/// `_meta` and in `result`. What lies deeper is checked but not collected. Takes time linear in the
/// body and, for a usual request, three allocations. A request's id has up to
/// [`MAX_ID`](crate::limits::MAX_ID) bytes.
///
/// ```
/// use mcp_transport::json::{Message, scan};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
/// let Message::Request(request) = scan(body)? else { panic!() };
/// assert_eq!(request.method, "tools/call");
/// assert_eq!(request.params.get("name"), Some(r#""add""#));
/// # Ok::<(), mcp_transport::json::ScanError>(())
/// ```
///
/// # Errors
/// When the body is not JSON ([`ScanError::is_parse`]) or no single well formed message. Half of a
/// surrogate pair in an escape counts as not JSON, since no string can hold it.
pub fn scan(body: &[u8]) -> Result<Message<'_>, ScanError> {
    let text = str::from_utf8(body)
        .map_err(|error| ScanError::new(None, Kind::Utf8 { at: error.valid_up_to() }))?;
    let mut cursor = Cursor::new(text);
    let Some(b'{') = cursor.whitespace() else {
        return Err(ScanError::new(None, not_an_object(&mut cursor)));
    };
    let mut envelope = Envelope::default();
    let read = cursor.object(0, |cursor, key| envelope.read(cursor, key));
    match read.and_then(|_| cursor.end()) {
        Ok(()) => envelope.classify(),
        Err(error) => Err(ScanError::new(envelope.id().valid(), error)),
    }
}

/// One message, by kind.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these three")]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Is one.
    Response(Response<'a>),
}

/// A message with a method and an id.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// To be repeated in the response.
    pub id: RequestId,
    /// Never empty.
    pub method: Cow<'a, str>,
    /// Empty when absent or `null`.
    pub params: Object<'a>,
    /// The `_meta` among the parameters, if it is an object.
    pub meta: Option<Object<'a>>,
}

/// A message with a method and no id.
#[derive(Clone, Debug)]
pub struct Notification<'a> {
    /// Never empty.
    pub method: Cow<'a, str>,
    /// Empty when absent or `null`.
    pub params: Object<'a>,
}

/// A message with a result or an error.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The request's id. `None` only for an error whose sender could not read it.
    pub id: Option<RequestId>,
    /// The one or the other.
    pub outcome: Outcome<'a>,
}

/// What a response carries.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these two")]
pub enum Outcome<'a> {
    /// The `result`.
    Result(Object<'a>),
    /// The text of the `error`, an object.
    Error(&'a str),
}

/// The members as they were met.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<Payload<'a>>,
    meta: Option<Object<'a>>,
    result: Option<Payload<'a>>,
    error: Option<&'a str>,
    others: Vec<Cow<'a, str>>,
    /// The first known key that came again.
    repeated: Option<&'static str>,
    id_repeated: bool,
}

enum Payload<'a> {
    Object(Object<'a>),
    Other(&'a str),
}

enum Id {
    Absent,
    Null,
    Invalid,
    Valid(RequestId),
}

/// What a message says, apart from its id.
enum Content<'a> {
    Call(Cow<'a, str>, Object<'a>, Option<Object<'a>>),
    Outcome(Outcome<'a>),
}

impl<'a> Envelope<'a> {
    fn read(&mut self, cursor: &mut Cursor<'a>, key: Key<'a>) -> Result<(), SyntaxError> {
        let key = key.decode();
        let (name, repeated) = match &*key {
            "jsonrpc" => ("jsonrpc", self.jsonrpc.replace(cursor.value(1)?).is_some()),
            "id" => {
                let id = cursor.value(1)?;
                // Digits that end with the text may have been cut off.
                if cursor.whitespace().is_some() {
                    self.id_repeated |= self.id.replace(id).is_some();
                }
                ("id", self.id_repeated)
            }
            "method" => ("method", self.method.replace(cursor.value(1)?).is_some()),
            "params" => {
                let params = Payload::read(cursor, |cursor, key| match key {
                    "_meta" if cursor.peek() == Some(b'{') => {
                        let meta = Object::read(cursor, 2)?;
                        Ok(self.meta.insert(meta).raw())
                    }
                    _ => cursor.value(2),
                })?;
                ("params", self.params.replace(params).is_some())
            }
            "result" => {
                let result = Payload::read(cursor, |cursor, _| cursor.value(2))?;
                ("result", self.result.replace(result).is_some())
            }
            "error" => ("error", self.error.replace(cursor.value(1)?).is_some()),
            _ => {
                cursor.value(1)?;
                self.others.push(key);
                return Ok(());
            }
        };
        if repeated {
            self.repeated.get_or_insert(name);
        }
        Ok(())
    }

    fn classify(self) -> Result<Message<'a>, ScanError> {
        let id = self.id();
        let of_notification = matches!(id, Id::Absent) && self.has_method();
        match (self.content(), id) {
            (Err(kind), id) => {
                Err(ScanError::new(id.valid(), kind).of_notification(of_notification))
            }
            (Ok(Content::Call(..)), Id::Valid(id)) if is_long(&id) => {
                Err(ScanError::new(Some(id), Kind::LongId))
            }
            (Ok(Content::Call(method, params, meta)), Id::Valid(id)) => {
                Ok(Message::Request(Request { id, method, params, meta }))
            }
            (Ok(Content::Call(method, params, _)), Id::Absent) => {
                Ok(Message::Notification(Notification { method, params }))
            }
            (Ok(Content::Outcome(outcome)), Id::Valid(id)) => {
                Ok(Message::Response(Response { id: Some(id), outcome }))
            }
            (Ok(Content::Outcome(outcome @ Outcome::Error(_))), Id::Absent | Id::Null) => {
                Ok(Message::Response(Response { id: None, outcome }))
            }
            (Ok(_), _) => Err(ScanError::new(None, "the id must be a string or an integer")),
        }
    }

    /// Whether it calls a method: all is right but for the params.
    fn has_method(&self) -> bool {
        let is_text =
            |raw: Option<&str>| raw.and_then(decode_string).is_some_and(|it| !it.is_empty());
        let is_whole = self.jsonrpc.and_then(decode_string).as_deref() == Some("2.0")
            && self.repeated.is_none();
        is_whole && is_text(self.method) && self.result.is_none() && self.error.is_none()
    }

    fn content(self) -> Result<Content<'a>, Kind> {
        if let Some(key) = self.repeated.or_else(|| repeated(self.others.iter().map(|key| &**key)))
        {
            return Err(Kind::RepeatedKey(quote(key)));
        }
        if self.jsonrpc.and_then(decode_string).as_deref() != Some("2.0") {
            return Err("jsonrpc must be \"2.0\"".into());
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = decode_string(method).filter(|method| !method.is_empty());
                let method = method.ok_or("the method must be a string that is not empty")?;
                let params = params(self.params)?;
                Ok(Content::Call(method, params, self.meta.map(unique).transpose()?))
            }
            (None, Some(result), None) => match result {
                Payload::Object(result) => Ok(Content::Outcome(Outcome::Result(unique(result)?))),
                Payload::Other(_) => Err("the result must be an object".into()),
            },
            (None, None, Some(error)) if error.starts_with('{') => {
                Ok(Content::Outcome(Outcome::Error(error)))
            }
            (None, None, Some(_)) => Err("the error must be an object".into()),
            (None, None, None) => Err("there is no method, result or error".into()),
            _ => Err("there is more than one of method, result and error".into()),
        }
    }

    fn id(&self) -> Id {
        match self.id {
            None => Id::Absent,
            Some("null") => Id::Null,
            Some(_) if self.id_repeated => Id::Invalid,
            Some(raw) => RequestId::from_json(raw).map_or(Id::Invalid, Id::Valid),
        }
    }
}

impl<'a> Payload<'a> {
    /// Reads it, with `value` for the values of an object's members.
    fn read(
        cursor: &mut Cursor<'a>,
        value: impl FnMut(&mut Cursor<'a>, &str) -> Result<&'a str, SyntaxError>,
    ) -> Result<Self, SyntaxError> {
        match cursor.whitespace() {
            Some(b'{') => Object::read_with(cursor, 1, value).map(Self::Object),
            _ => cursor.value(1).map(Self::Other),
        }
    }
}

impl Id {
    fn valid(self) -> Option<RequestId> {
        match self {
            Self::Valid(id) => Some(id),
            Self::Absent | Self::Null | Self::Invalid => None,
        }
    }
}

/// That of a request alone: a response either has the id of a request or means nothing.
fn is_long(id: &RequestId) -> bool {
    id.as_str().is_some_and(|id| id.len() > MAX_ID)
}

fn params(params: Option<Payload<'_>>) -> Result<Object<'_>, Kind> {
    match params {
        None | Some(Payload::Other("null")) => Ok(Object::default()),
        Some(Payload::Object(params)) => unique(params),
        Some(Payload::Other(_)) => Err("the params must be an object".into()),
    }
}

fn unique(object: Object<'_>) -> Result<Object<'_>, Kind> {
    match object.repeated_key() {
        Some(key) => Err(Kind::RepeatedKey(quote(key))),
        None => Ok(object),
    }
}

/// A body that does not start as an object: still JSON, or not even that?
fn not_an_object(cursor: &mut Cursor<'_>) -> Kind {
    match cursor.value(0).and_then(|value| cursor.end().map(|()| value)) {
        Err(error) => error.into(),
        Ok(batch) if batch.starts_with('[') => "a batch is not a message".into(),
        Ok(_) => "a message must be an object".into(),
    }
}

/// What is accepted decodes with serde_json and has its parts where they are said to be; nothing
/// panics.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_scan(body: &[u8]) {
    use serde_json::Value;

    let decoded = serde_json::from_slice::<Value>(body);
    let (id, params) = match scan(body) {
        Ok(Message::Request(request)) => (Some(request.id), request.params),
        Ok(Message::Notification(notification)) => (None, notification.params),
        Ok(Message::Response(Response { id, outcome: Outcome::Result(result) })) => (id, result),
        Ok(Message::Response(Response { id, outcome: Outcome::Error(error) })) => {
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(error).is_ok());
            (id, Object::default())
        }
        Err(error) => {
            let text = decoded.as_ref().map(ToString::to_string);
            assert!(!error.is_parse() || decoded.is_err(), "{error}: {text:?}");
            return;
        }
    };
    match decoded {
        Ok(message) => {
            assert_eq!(
                message.get("id").filter(|id| !id.is_null()).cloned(),
                id.map(|id| serde_json::json!(id))
            );
            let again: Value =
                serde_json::from_str(params.raw()).expect("it is part of what was decoded");
            assert_eq!(again.as_object().map(serde_json::Map::len), Some(params.len()));
            for (key, value) in params.iter() {
                assert_eq!(again.get(key), serde_json::from_str(value).ok().as_ref());
            }
        }
        // serde_json counts depth from the envelope, and takes numbers for doubles.
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("recursion limit") || text.contains("out of range"), "{text}");
        }
    }
}
