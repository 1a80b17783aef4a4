//! From messages to bytes.

use crate::one_line;

/// Written when a stream has been quiet for long, so that nobody on the way takes it for dead: an
/// empty comment, and an empty line for readers that wait for one.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// Appends one event with a message.
///
/// Only `data` is written. The default type is `message`, so naming it would be bytes without
/// meaning, and an id would promise that streams can be resumed. Line ends inside `json`, which
/// can only stand between tokens, become spaces, so that the event has one data line.
///
/// ```
/// let mut out = Vec::new();
/// mcp_transport::sse::write_event(&mut out, "{\n}");
/// assert_eq!(out, b"data: { }\n\n");
/// ```
pub fn write_event(out: &mut Vec<u8>, json: impl AsRef<[u8]>) {
    let json = json.as_ref();
    out.reserve(DATA.len() + json.len() + END.len());
    write_event_with(out, |out| out.extend_from_slice(json));
}

/// Appends one event with the message that `write` appends, without a copy in between. Passes on
/// what `write` returns; after an error there the caller has to truncate `out`.
pub fn write_event_with<T>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.extend_from_slice(DATA);
    let written = one_line(out, write);
    out.extend_from_slice(END);
    written
}

/// Appends a comment, which readers pass over. Each line of `text` becomes one of its own.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    for line in text.split(['\n', '\r']) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

const DATA: &[u8] = b"data: ";
const END: &[u8] = b"\n\n";

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::sse::Decoder;

    fn decode(stream: Vec<u8>) -> Vec<Bytes> {
        let mut decoder = Decoder::new(1 << 20);
        decoder.push(stream.into());
        std::iter::from_fn(|| decoder.next().unwrap()).map(|event| event.data).collect()
    }

    #[test]
    fn writes_one_data_line() {
        let mut out = b"before".to_vec();
        write_event(&mut out, "{\r\n  \"a\": 1\n}");
        assert_eq!(out, b"beforedata: {    \"a\": 1 }\n\n");
    }

    #[test]
    fn comments_and_keep_alive_are_no_events() {
        let mut out = KEEP_ALIVE.to_vec();
        write_comment(&mut out, "one\ntwo\r\ndata: x");
        assert_eq!(out, b":\n\n: one\n: two\n: \n: data: x\n\n");
        assert_eq!(decode(out), Vec::<Bytes>::new());
    }

    proptest! {
        #[test]
        fn events_come_back(
            messages in prop::collection::vec("[ -~\u{80}-\u{800}\r\n]{1,40}", 0..5),
        ) {
            let mut out = Vec::new();
            for message in &messages {
                write_event(&mut out, message);
                out.extend_from_slice(KEEP_ALIVE);
            }
            let one_line = |text: &String| text.replace(['\r', '\n'], " ");
            prop_assert_eq!(decode(out), messages.iter().map(one_line).collect::<Vec<_>>());
        }
    }
}
