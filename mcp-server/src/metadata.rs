//! `Metadata`: the `_meta` of a request, decoded as far as every exchange needs it.

use std::borrow::Cow;
use std::sync::OnceLock;

use mcp_transport::json::{Object, decode_string};
use mcp_transport::limits::MAX_ID;
use mcp_types::{ClientCapabilities, JsonMap, LoggingLevel, ProgressToken, RequestMeta};
use serde::de::DeserializeOwned;

use crate::rejection::{Reason, shortened};

/// The members that checks and emissions look at, well typed. Who the client is, and what else is in a `_meta`, is
/// decoded when a handler asks for it, which few do.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) log_level: Option<LoggingLevel>,
    text: Box<str>,
    whole: OnceLock<Box<RequestMeta>>,
}

impl Metadata {
    /// Reads the members of a `_meta` and hands out the protocol version that it names.
    ///
    /// Specification: Overview, Per-request protocol fields.
    pub(crate) fn read<'a>(members: &Object<'a>) -> Result<(Self, Cow<'a, str>), Reason> {
        let version = members.get(PROTOCOL_VERSION).ok_or_else(|| missing(PROTOCOL_VERSION))?;
        let version = decode_string(version)
            .ok_or_else(|| Reason::Meta(format!("{PROTOCOL_VERSION}: must be a string")))?;
        let capabilities = decode(members, CLIENT_CAPABILITIES)?;
        let metadata = Self {
            capabilities: capabilities
                .ok_or_else(|| missing(CLIENT_CAPABILITIES))
                .and_then(well_typed)?,
            progress_token: decode(members, PROGRESS_TOKEN)?.map(not_long).transpose()?,
            log_level: decode(members, "io.modelcontextprotocol/logLevel")?,
            text: members.raw().into(),
            whole: OnceLock::new(),
        };
        Ok((metadata, version))
    }

    /// All of it.
    pub(crate) fn whole(&self) -> &RequestMeta {
        self.whole.get_or_init(|| {
            // What could be ill typed was decoded before, or is read as absent.
            serde_json::from_str(&self.text).unwrap_or_default()
        })
    }
}

fn decode<T: DeserializeOwned>(members: &Object<'_>, key: &str) -> Result<Option<T>, Reason> {
    let decoded = members.get(key).map(serde_json::from_str).transpose();
    decoded.map_err(|error| Reason::Meta(format!("{key}: {error}")))
}

/// Every progress notification that waits to be sent holds the token.
fn not_long(token: ProgressToken) -> Result<ProgressToken, Reason> {
    if token.as_str().is_some_and(|token| token.len() > MAX_ID) {
        return Err(Reason::Meta(format!("{PROGRESS_TOKEN}: longer than {MAX_ID} bytes")));
    }
    Ok(token)
}

/// What is declared by its name is only a declaration if what it maps to is one: an object of settings (schema,
/// `ClientCapabilities`).
fn well_typed(capabilities: ClientCapabilities) -> Result<ClientCapabilities, Reason> {
    let maps = [&capabilities.extensions, &capabilities.experimental].into_iter().flatten();
    for (name, settings) in maps.flat_map(JsonMap::iter) {
        if !settings.get().starts_with('{') {
            let name = shortened(name);
            return Err(Reason::Meta(format!("{CLIENT_CAPABILITIES}: {name} must be an object")));
        }
    }
    Ok(capabilities)
}

pub(crate) fn missing(what: &str) -> Reason {
    Reason::Meta(format!("{what} is missing"))
}

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const PROGRESS_TOKEN: &str = "progressToken";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_at_once_is_what_the_whole_says() {
        let text = r#"{"progressToken":"7","io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"x":1},"io.modelcontextprotocol/logLevel":"error","a/b":[1]}"#;
        let (metadata, version) = Metadata::read(&Object::parse(text).unwrap()).unwrap();
        let whole: RequestMeta = serde_json::from_str(text).unwrap();
        assert_eq!(whole.protocol_version, Some((&*version).into()));
        assert_eq!(whole.client_capabilities.as_ref(), Some(&metadata.capabilities));
        assert_eq!(whole.progress_token, metadata.progress_token);
        assert_eq!(whole.log_level, metadata.log_level);
        assert_eq!(metadata.whole(), &whole);
    }

    #[test]
    fn whatever_would_make_the_whole_unreadable_is_refused_at_once() {
        let valid = r#""io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}"#;
        let table = [
            ("", true),
            (r#","a":1"#, true),
            (r#","io.modelcontextprotocol/clientInfo":7"#, true),
            (r#","io.modelcontextprotocol/clientInfo":{"name":1}"#, true),
            (r#","a":1,"a":2"#, false),
            (r#","\u0061":1,"a":2"#, false),
            (r#","progressToken":1.5"#, false),
            (r#","progressToken":null"#, false),
            (r#","io.modelcontextprotocol/logLevel":"loud""#, false),
            (r#","io.modelcontextprotocol/logLevel":null"#, false),
        ];
        for (more, readable) in table {
            let text = format!("{{{valid}{more}}}");
            let read = Object::parse(&text).map(|members| Metadata::read(&members).is_ok());
            assert_eq!(read == Ok(true), readable, "{text}");
            assert_eq!(serde_json::from_str::<RequestMeta>(&text).is_ok(), readable, "{text}");
        }
    }
}
