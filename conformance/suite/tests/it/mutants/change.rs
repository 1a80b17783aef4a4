//! `Change`: what a peer in between does to what passes.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::http::Http;

/// The one rule that is broken, as a function over what passes. Over lines a request has a body and no head.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    /// Everything passes as it is.
    Nothing,
    /// Changes a request on its way to the server.
    Asked(fn(&mut Http, &Memory)),
    /// Changes a response of HTTP on its way to the client; of a stream its head alone.
    Told(fn(&Http, &mut Http)),
    /// Changes a message of the server, which belongs to this request.
    Said(fn(&Value, &mut Value, &Memory)),
    /// Gives what is sent in place of a message of the server.
    Sends(fn(&Value, Value) -> Vec<Value>),
    /// Changes the bytes of a message: a body, an event, a line.
    Wire(fn(&Value, Vec<u8>) -> Vec<u8>),
    /// Does not pass on that the client has left.
    Stays,
}

/// What a change remembers of the run: every state under the name of the tool it was given for, every cursor under the
/// method of its list, and what the change keeps.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Vec<(String, Value)>>);

impl Memory {
    pub(crate) fn keep(&self, key: &str, value: &Value) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((key.to_owned(), value.clone()));
    }

    /// All that was kept under this key, the latest first.
    pub(crate) fn kept(&self, key: &str) -> Vec<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().filter(|(of, _)| of == key).map(|(_, value)| value.clone()).collect()
    }
}

impl Change {
    /// The request that the server gets.
    pub(crate) fn asked(self, asked: &Http, memory: &Memory) -> Http {
        let mut sent = asked.clone();
        if let Self::Asked(change) = self {
            change(&mut sent, memory);
        }
        sent
    }

    /// Whether the messages of the server are of interest.
    pub(crate) const fn hears(self) -> bool {
        matches!(self, Self::Asked(_) | Self::Said(_) | Self::Sends(_))
    }

    /// Whether their bytes are. Otherwise they pass as they come.
    pub(crate) const fn reads(self) -> bool {
        self.hears() || matches!(self, Self::Wire(_))
    }

    pub(crate) fn told(self, asked: &Http, told: &mut Http) {
        if let Self::Told(change) = self {
            change(asked, told);
        }
    }

    /// What is sent in place of a message of the server, which belongs to this request, as it was asked and as it was sent on.
    pub(crate) fn said(
        self,
        asked: &Value,
        sent: &Value,
        mut said: Value,
        memory: &Memory,
    ) -> Vec<Vec<u8>> {
        // Who changed the id of a request gives the answer back under the one that was asked for.
        if let (Some(id), true) =
            (asked.get("id"), said.get("id").is_some_and(|id| Some(id) == sent.get("id")))
        {
            said["id"] = id.clone();
        }
        if let Some(state) = said.pointer("/result/requestState") {
            memory.keep(name(asked), state);
        }
        if let Some(cursor) = said.pointer("/result/nextCursor") {
            memory.keep(method(asked), cursor);
        }
        let all = match self {
            Self::Said(change) => {
                change(asked, &mut said, memory);
                vec![said]
            }
            Self::Sends(change) => change(asked, said),
            _ => vec![said],
        };
        all.into_iter().map(|said| said.to_string().into_bytes()).collect()
    }

    /// What goes on the wire in place of these bytes.
    pub(crate) fn wire(self, asked: &Value, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Wire(change) => change(asked, bytes),
            _ => bytes,
        }
    }
}

/// Takes a member away from the object that stands there.
pub(crate) fn without(value: &mut Value, at: &str, name: &str) {
    if let Some(members) = value.pointer_mut(at).and_then(Value::as_object_mut) {
        members.remove(name);
    }
}

/// Gives a member to the object that stands there, in place of another one or anew.
pub(crate) fn put(value: &mut Value, at: &str, name: &str, member: impl Into<Value>) {
    if let Some(members) = value.pointer_mut(at).and_then(Value::as_object_mut) {
        members.insert(name.to_owned(), member.into());
    }
}

/// Puts a value in place of what stands there, if anything does.
pub(crate) fn replace(value: &mut Value, at: &str, new: impl Into<Value>) {
    if let Some(place) = value.pointer_mut(at) {
        *place = new.into();
    }
}

/// The method of a message; empty if it has none.
pub(crate) fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

/// The name of the tool or prompt that is asked for.
pub(crate) fn name(message: &Value) -> &str {
    message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default()
}
