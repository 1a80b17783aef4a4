//! `Framing`: how one message of many is told from the next.

use mcp_transport::{line, sse};

/// What frames the messages of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// An event each, for the body of an HTTP response.
    Sse,
    /// A line each, for a byte stream.
    Lines,
}

impl Framing {
    /// Appends a message. Line ends in `json`, which can only stand between tokens, become spaces.
    pub(crate) fn write(self, out: &mut Vec<u8>, json: &[u8]) {
        match self {
            Self::Sse => sse::write_event(out, json),
            Self::Lines => {
                out.reserve(json.len() + 1);
                line::write_line_with(out, |out| out.extend_from_slice(json));
            }
        }
    }

    /// Appends a comment, where there are any.
    pub(crate) fn write_comment(self, out: &mut Vec<u8>, text: &str) {
        match self {
            Self::Sse => sse::write_comment(out, text),
            Self::Lines => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_frame_whatever_it_looks_like() {
        for (framing, framed) in [
            (Framing::Sse, "data: {    \"a\": 1 }\n\n: why\n\n"),
            (Framing::Lines, "{    \"a\": 1 }\n"),
        ] {
            let mut out = Vec::new();
            framing.write(&mut out, b"{\r\n  \"a\": 1\n}");
            framing.write_comment(&mut out, "why");
            assert_eq!(String::from_utf8(out).unwrap(), framed);
        }
    }
}
