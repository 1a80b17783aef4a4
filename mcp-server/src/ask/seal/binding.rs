//! The request that a state belongs to, as bytes that the seal vouches for.

use std::fmt;

use mcp_transport::tape::{Tape, Token};

/// What two rounds of one request have in common. A state opens only where all of it is the same.
#[derive(Clone, Copy)]
pub(crate) struct Binding<'a> {
    /// Who asks, where callers are authenticated. Nobody is somebody else than a caller with an empty name.
    pub(crate) principal: Option<&'a str>,
    /// The JSON-RPC method.
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: &'a str,
    /// The JSON text of the arguments, `{}` where there are none.
    ///
    /// White space, the order of members and the way in which strings are escaped make no difference, since
    /// a client may write its arguments anew for each round. All else does, also how a number is written:
    /// 1.0 is not 1. A text that is not JSON, or is too deep or too large to be taken apart, is compared
    /// letter by letter.
    pub(crate) arguments: &'a str,
}

impl Binding<'_> {
    /// The bytes to authenticate: `head`, the purpose, and each field behind its length, so that no two
    /// bindings have the same.
    pub(super) fn associated_data(&self, head: &[u8]) -> Vec<u8> {
        let Self { principal, method, target, arguments } = *self;
        let known = principal.map_or(0, str::len) + method.len() + target.len() + arguments.len();
        let mut data = Vec::with_capacity(DOMAIN.len() + head.len() + known + 64);
        data.extend_from_slice(DOMAIN);
        field(&mut data, head);
        data.push(u8::from(principal.is_some()));
        field(&mut data, principal.unwrap_or_default().as_bytes());
        field(&mut data, method.as_bytes());
        field(&mut data, target.as_bytes());
        match Tape::parse(arguments) {
            Ok(tape) => {
                data.push(CANONICAL);
                canonical(&tape, 0, &mut data);
            }
            Err(_) => {
                data.push(VERBATIM);
                field(&mut data, arguments.as_bytes());
            }
        }
        data
    }
}

/// A value in the one form that all texts of the same meaning have: every value begins with its kind and
/// its length, members are sorted by key. It recurses as deep as a tape can be.
fn canonical(tape: &Tape<'_>, at: u32, data: &mut Vec<u8>) {
    match &tape.slot(at).token {
        Token::Null => data.push(b'n'),
        Token::Bool(bool) => data.push(if *bool { b't' } else { b'f' }),
        Token::Number(text) => {
            data.push(b'#');
            field(data, text.as_bytes());
        }
        Token::String(text) => {
            data.push(b'"');
            field(data, text.as_bytes());
        }
        Token::Array(len) => {
            data.push(b'[');
            data.extend_from_slice(&len.to_le_bytes());
            for element in tape.elements(at) {
                canonical(tape, element, data);
            }
        }
        Token::Object(len) => {
            data.push(b'{');
            data.extend_from_slice(&len.to_le_bytes());
            let mut members: Vec<(&str, u32)> = tape.members(at).collect();
            // A stable sort: of members with one key the order is meaning, since the last counts.
            members.sort_by_key(|(key, _)| *key);
            for (key, value) in members {
                field(data, key.as_bytes());
                canonical(tape, value, data);
            }
        }
    }
}

fn field(data: &mut Vec<u8>, bytes: &[u8]) {
    data.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    data.extend_from_slice(bytes);
}

/// Keeps these seals apart from whatever else the same key may be used for.
const DOMAIN: &[u8] = b"io.modelcontextprotocol requestState 2026-07-28\0";

/// How the arguments are written behind it.
const CANONICAL: u8 = 0;
const VERBATIM: u8 = 1;

impl fmt::Debug for Binding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the caller nor the arguments belong into a log.
        f.debug_struct("Binding")
            .field("method", &self.method)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
