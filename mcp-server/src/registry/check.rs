//! What is checked of everything that is registered.

use mcp_types::RawJson;

use crate::completion::Completers;
use crate::error::BuildError;
use crate::handler::Needs;
use crate::state::States;

/// Names are served as they are, but some clients refuse unusual ones. Specification: Tools, Tool Names.
pub(super) fn name(name: &str) -> Result<(), BuildError> {
    if name.is_empty() {
        return Err(BuildError::NoName);
    }
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.len() > 128 || !name.bytes().all(usual) {
        tracing::warn!(
            name,
            "names should have 1 to 128 of A-Z, a-z, 0-9, '_', '-', '.'; some clients will refuse this one"
        );
    }
    Ok(())
}

/// Whether a handler has the shared values that it takes, and its forms can be shown.
pub(super) fn needs(name: &str, needs: &Needs, states: &States) -> Result<(), BuildError> {
    #[cfg(feature = "asking")]
    if let Some(source) = &needs.invalid_form {
        return Err(BuildError::Form { handler: name.to_owned(), source: source.clone() });
    }
    match states.missing(needs) {
        None => Ok(()),
        Some(state) => Err(BuildError::MissingState { handler: name.to_owned(), state }),
    }
}

/// Whether every completer has an argument to complete.
pub(super) fn completers<'a>(
    name: &str,
    completers: &Completers,
    arguments: impl Iterator<Item = &'a str>,
) -> Result<(), BuildError> {
    let arguments: Vec<&str> = arguments.collect();
    let stray = completers.names().find(|name| !arguments.contains(name));
    match stray {
        None => Ok(()),
        Some(argument) => {
            let (handler, argument) = (name.to_owned(), argument.to_owned());
            Err(BuildError::Completer { handler, argument })
        }
    }
}

/// Whether every variable that a handler requires is one of `given`.
pub(super) fn variables<'a>(
    uri: &str,
    required: &[String],
    given: impl Iterator<Item = &'a str>,
) -> Result<(), BuildError> {
    let given: Vec<&str> = given.collect();
    match required.iter().find(|name| !given.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let (handler, variable) = (uri.to_owned(), name.clone());
            Err(BuildError::Variable { handler, variable })
        }
    }
}

pub(super) fn uri(uri: &str) -> Result<(), BuildError> {
    if crate::resource::is_uri(uri) { Ok(()) } else { Err(BuildError::Uri(uri.to_owned())) }
}

/// The roots of both schemas. Specification: Tools, Data Types.
pub(super) fn schemas(tool: &mcp_types::Tool) -> Result<(), BuildError> {
    #[derive(serde::Deserialize)]
    struct Root {
        #[serde(rename = "type")]
        kind: Option<RawJson>,
    }
    let fault = |which, why: &str| BuildError::Schema {
        tool: tool.name.clone(),
        which,
        why: why.to_owned(),
    };
    let root: Root = match tool.input_schema.decode() {
        Ok(root) if tool.input_schema.is_object() => root,
        _ => return Err(fault("input", "is not an object")),
    };
    if root.kind.is_none_or(|kind| kind.get() != "\"object\"") {
        return Err(fault("input", "does not have \"type\": \"object\" at its root"));
    }
    if tool.output_schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        return Err(fault("output", "is not an object"));
    }
    Ok(())
}
