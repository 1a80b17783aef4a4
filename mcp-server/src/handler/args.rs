//! `Args<T>`: the arguments of a call.

use std::fmt;

use serde::de::DeserializeOwned;

use super::{HandlerError, Input};
use crate::rejection::{MAX_WHY, cut};

/// The arguments of a tool call or a prompt, or the variables of a resource template, decoded into `T`; the
/// last argument of a handler.
///
/// `T` gives a tool its input schema and a prompt its arguments. Omitted arguments are `{}`. Prompts and templates
/// have texts only, which are parsed into the numbers, booleans and enums that `T` asks for. What does not decode
/// never reaches the handler: the model gets a tool error that says what was wrong, and can try again; a
/// prompt or a resource answers -32602.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: DeserializeOwned> Args<T> {
    pub(crate) fn decode(input: Input<'_>) -> Result<Self, HandlerError> {
        match input {
            Input::Json(text) => serde_json::from_str(text).map_err(|error| invalid(&error)),
            Input::Texts(texts) => texts.decode().map_err(|error| invalid(&error)),
        }
        .map(Self)
    }
}

// Not generic, so compiled once.
#[cold]
fn invalid(error: &dyn fmt::Display) -> HandlerError {
    let error = error.to_string();
    HandlerError::input(format!("Invalid arguments: {}", cut(&error, MAX_WHY)))
}
