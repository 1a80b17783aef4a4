//! `Args<T>`: the arguments of a call.

use std::fmt;

use serde::de::DeserializeOwned;

use super::{HandlerError, Input};
use crate::integers::rewritten;
use crate::rejection::{MAX_WHY, cut};

/// The arguments of a tool call or a prompt, the variables of a resource template, or the parameters of a custom
/// method, decoded into `T`; the last argument of a handler.
///
/// `T` gives a tool its input schema and a prompt its arguments. Omitted arguments are `{}`. Prompts and templates
/// have texts only, which are parsed into the numbers, booleans and enums that `T` asks for. What does not decode
/// never reaches the handler: the model gets a tool error that says what was wrong, and can try again; anything
/// else answers -32602.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: DeserializeOwned> Args<T> {
    pub(crate) fn decode(input: Input<'_>) -> Result<Self, HandlerError> {
        match input {
            Input::Json(text) => json(text).map_err(|error| invalid("arguments", &error)),
            Input::Params(text) => json(text).map_err(|error| invalid("params", &error)),
            Input::Texts(texts) => texts.decode().map_err(|error| invalid("arguments", &error)),
        }
        .map(Self)
    }
}

/// What the schema takes for an integer, such as `2.0`, has to be one to `T` as well.
fn json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        let rewritten = rewritten(text).and_then(|text| serde_json::from_str(&text).ok());
        rewritten.ok_or(error)
    })
}

// Not generic, so compiled once.
#[cold]
fn invalid(what: &str, error: &dyn fmt::Display) -> HandlerError {
    let error = error.to_string();
    HandlerError::input(format!("Invalid {what}: {}", cut(&error, MAX_WHY)))
}
