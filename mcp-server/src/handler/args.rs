//! `Args<T>`: the arguments of a call.

use serde::de::DeserializeOwned;

use super::ToolError;

/// The arguments of a call, decoded into `T`; the last argument of a handler.
///
/// `T` gives the tool its input schema. Omitted arguments are `{}`. Arguments that do not decode never
/// reach the handler: the model gets a tool error that says what was wrong, and can try again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: DeserializeOwned> Args<T> {
    pub(crate) fn decode(arguments: &str) -> Result<Self, ToolError> {
        match serde_json::from_str(arguments) {
            Ok(args) => Ok(Self(args)),
            Err(error) => Err(invalid(&error)),
        }
    }
}

// Not generic, so compiled once.
#[cold]
fn invalid(error: &serde_json::Error) -> ToolError {
    ToolError::new(format!("Invalid arguments: {error}"))
}
