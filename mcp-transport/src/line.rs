//! One message a line, for pipes and other byte streams (specification: stdio).

use bytes::Bytes;
use memchr::memchr;

use crate::one_line;
use crate::pending::Pending;

/// Turns the chunks of a byte stream into lines.
///
/// Push a chunk, then take lines until there are none, and so on; at the end of the stream,
/// [`finish`](Decoder::finish). Lines end with LF or CRLF; blank ones are passed over. A line over
/// the limit is reported once, as soon as it is seen to be too long, and passed over without being
/// kept; the next line is read as usual.
///
/// ```
/// use bytes::Bytes;
/// use mcp_transport::line::Decoder;
///
/// let mut decoder = Decoder::new(10);
/// decoder.push(Bytes::from("[1]\r\n0123456789abc\n[2]\n"));
/// assert_eq!(decoder.next().unwrap().unwrap(), "[1]");
/// assert!(decoder.next().unwrap().is_err());
/// assert_eq!(decoder.next().unwrap().unwrap(), "[2]");
/// assert!(decoder.next().is_none());
/// ```
#[derive(Debug)]
pub struct Decoder {
    pending: Pending,
    limit: usize,
    /// Inside a line that has been reported as too long.
    skipping: bool,
}

impl Decoder {
    /// A decoder that takes lines of up to `limit` bytes, their ends not counted.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { pending: Pending::default(), limit, skipping: false }
    }

    /// Adds what arrived. A line that came in one piece is a slice of it.
    pub fn push(&mut self, chunk: Bytes) {
        self.pending.push(chunk);
    }

    /// The next line without its end, or the report of one that is too long; `None` when more has
    /// to arrive.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that more is to be pushed, not the end"
    )]
    pub fn next(&mut self) -> Option<Result<Bytes, LineTooLong>> {
        // The carriage return before the line's end does not count.
        let limit = self.limit.saturating_add(1);
        loop {
            let line = self.pending.line(limit, |bytes| memchr(b'\n', bytes));
            if let Some((line, _)) = line {
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                match self.checked(line) {
                    None => {}
                    item => return item,
                }
            } else if self.pending.len() > limit {
                self.pending.take();
                if !std::mem::replace(&mut self.skipping, true) {
                    return Some(Err(LineTooLong { limit: self.limit }));
                }
            } else {
                return None;
            }
        }
    }

    /// The last line, if the stream ended without a line end behind it. Call it when
    /// [`next`](Decoder::next) has no more.
    pub fn finish(&mut self) -> Option<Result<Bytes, LineTooLong>> {
        let line = self.pending.take();
        if std::mem::take(&mut self.skipping) { None } else { self.checked(line) }
    }

    fn checked(&self, mut line: Bytes) -> Option<Result<Bytes, LineTooLong>> {
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.limit {
            return Some(Err(LineTooLong { limit: self.limit }));
        }
        (!line.trim_ascii().is_empty()).then_some(Ok(line))
    }
}

/// A line longer than the decoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {limit} bytes")]
pub struct LineTooLong {
    /// The decoder's limit.
    pub limit: usize,
}

/// Appends one message and LF. Line ends inside `json`, which can only stand between tokens,
/// become spaces.
///
/// ```
/// let mut out = Vec::new();
/// mcp_transport::line::write_line(&mut out, "{\n}");
/// assert_eq!(out, b"{ }\n");
/// ```
pub fn write_line(out: &mut Vec<u8>, json: &str) {
    out.reserve(json.len() + 1);
    write_line_with(out, |out| out.extend_from_slice(json.as_bytes()));
}

/// Appends the message that `write` appends, and LF, without a copy in between. Passes on what
/// `write` returns; after an error there the caller has to truncate `out`.
pub fn write_line_with<T>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let written = one_line(out, write);
    out.push(b'\n');
    written
}

/// However a stream is cut, its lines are the same, except that too long ones may be reported
/// earlier; nothing panics. The first byte is the limit and the second the length of the pieces.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_line(data: &[u8]) {
    let [limit, piece, stream @ ..] = data else {
        return;
    };
    let decode = |piece: usize| {
        let mut decoder = Decoder::new(usize::from(*limit));
        let mut lines = Vec::new();
        for chunk in stream.chunks(piece) {
            decoder.push(Bytes::copy_from_slice(chunk));
            lines.extend(std::iter::from_fn(|| decoder.next()));
        }
        lines.extend(decoder.finish());
        lines
    };
    let lines = decode(usize::MAX);
    for line in lines.iter().flatten() {
        assert!(line.len() <= usize::from(*limit) && !line.contains(&b'\n'));
    }
    assert_eq!(decode(usize::from(*piece).max(1)), lines);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_decoded(bytes in any::<Vec<u8>>()) {
            super::fuzz_line(&bytes);
        }
    }
}
