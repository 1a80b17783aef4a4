//! From bytes to events, however they are cut.

use bytes::{BufMut as _, Bytes, BytesMut};
use memchr::{memchr, memchr2};

use crate::pending::Pending;

/// Turns the chunks of a stream into events.
///
/// Push a chunk, then take events until there are none, and so on. Lines end with LF, CR or CRLF.
/// Comments, `id`, `retry` and unknown fields are passed over, and so are events without data.
/// What the stream's end leaves unfinished is no event. The bytes of the data are not looked at:
/// whether they are UTF-8 is for the reader of the message to find.
///
/// ```
/// use bytes::Bytes;
/// use mcp_transport::limits::MAX_EVENT;
/// use mcp_transport::sse::Decoder;
///
/// let mut decoder = Decoder::new(MAX_EVENT);
/// decoder.push(Bytes::from("data: {\"jsonrpc\":"));
/// assert_eq!(decoder.next()?, None);
/// decoder.push(Bytes::from("\"2.0\"}\n\n: idle\n\n"));
/// assert_eq!(decoder.next()?.unwrap().data, "{\"jsonrpc\":\"2.0\"}");
/// assert_eq!(decoder.next()?, None);
/// # Ok::<(), mcp_transport::sse::EventTooLong>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    pending: Pending,
    limit: usize,
    /// No line has been read yet, so a byte order mark may come.
    at_start: bool,
    /// The last line ended with CR; an LF right behind belongs to it.
    after_cr: bool,
    data: Data,
    event: Bytes,
    failed: bool,
}

impl Decoder {
    /// A decoder for one stream that takes up to `limit` bytes of data in an event.
    ///
    /// It holds a little more than that: a line that is no data may be as long, too.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            pending: Pending::default(),
            limit,
            at_start: true,
            after_cr: false,
            data: Data::None,
            event: Bytes::new(),
            failed: false,
        }
    }

    /// Adds what arrived. The event's data is a slice of it where it came in one piece.
    pub fn push(&mut self, chunk: Bytes) {
        self.pending.push(chunk);
    }

    /// The next event, or `None` when it has not wholly arrived.
    ///
    /// # Errors
    /// When an event exceeds the limit. A message is lost then, so there is no way to go on:
    /// every later call fails as well.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that more is to be pushed, not the end"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, EventTooLong> {
        if self.failed {
            return Err(EventTooLong { limit: self.limit });
        }
        let event = self.advance();
        self.failed = event.is_err();
        event
    }

    fn advance(&mut self) -> Result<Option<Event>, EventTooLong> {
        let line_limit = self.limit.saturating_add(LINE_OVERHEAD);
        loop {
            if self.after_cr && !self.pending.is_drained() {
                self.pending.skip(b'\n');
                self.after_cr = false;
            }
            let line = self.pending.line(line_limit, |bytes| memchr2(b'\n', b'\r', bytes));
            let len = line.as_ref().map_or(self.pending.len(), |(line, _)| line.len());
            if len > line_limit {
                return Err(EventTooLong { limit: self.limit });
            }
            let Some((line, ended_by)) = line else {
                return Ok(None);
            };
            self.after_cr = ended_by == b'\r';
            let line = self.without_bom(line);
            if !line.is_empty() {
                self.field(line)?;
                continue;
            }
            let event = std::mem::take(&mut self.event);
            if let Some(data) = self.data.take() {
                let event = Some(event).filter(|event| !event.is_empty());
                return Ok(Some(Event { data, event }));
            }
        }
    }

    fn without_bom(&mut self, line: Bytes) -> Bytes {
        if std::mem::take(&mut self.at_start) && line.starts_with(BOM) {
            line.slice(BOM.len()..)
        } else {
            line
        }
    }

    fn field(&mut self, mut line: Bytes) -> Result<(), EventTooLong> {
        let colon = memchr(b':', &line);
        let name = line.split_to(colon.unwrap_or(line.len()));
        let value_at = if line.starts_with(b": ") { 2 } else { usize::from(colon.is_some()) };
        let value = line.slice(value_at..);
        match &*name {
            b"data" => self.data.push(value),
            b"event" => self.event = value,
            // A comment (no name), `id` and `retry` (streams are not resumed), or unknown.
            _ => {}
        }
        if self.data.len() > self.limit || self.event.len() > self.limit {
            return Err(EventTooLong { limit: self.limit });
        }
        Ok(())
    }
}

/// One event with data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The data lines, joined with LF. Never empty.
    pub data: Bytes,
    /// The event's type, `None` where it has the default one.
    pub event: Option<Bytes>,
}

impl Event {
    /// Whether the event carries a message, which is so for the type `message` and for none.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.event.as_ref().is_none_or(|event| event == "message")
    }
}

/// An event with more data than the decoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {limit} bytes")]
pub struct EventTooLong {
    /// The decoder's limit.
    pub limit: usize,
}

/// The data lines so far. The usual single line stays the slice it came as.
#[derive(Debug)]
enum Data {
    None,
    One(Bytes),
    Many(BytesMut),
}

impl Data {
    fn push(&mut self, line: Bytes) {
        match self {
            Self::None => *self = Self::One(line),
            Self::One(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + 1 + line.len());
                lines.put_slice(first);
                *self = Self::Many(lines);
                self.push(line);
            }
            Self::Many(lines) => {
                lines.put_u8(b'\n');
                lines.put_slice(&line);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(line) => line.len(),
            Self::Many(lines) => lines.len(),
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        match std::mem::replace(self, Self::None) {
            Self::None => None,
            Self::One(line) => Some(line).filter(|line| !line.is_empty()),
            Self::Many(lines) => Some(lines.freeze()),
        }
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What a line has besides its data: a byte order mark and the longest field name we know.
const LINE_OVERHEAD: usize = BOM.len() + b"event: ".len();

/// However a stream is cut, its events are the same; nothing panics. The first byte is the limit
/// and the second the length of the pieces.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_sse(data: &[u8]) {
    let [limit, piece, stream @ ..] = data else {
        return;
    };
    let decode = |piece: usize| {
        let mut decoder = Decoder::new(usize::from(*limit));
        let mut events = Vec::new();
        for chunk in stream.chunks(piece) {
            decoder.push(Bytes::copy_from_slice(chunk));
            loop {
                match decoder.next() {
                    Ok(Some(event)) => events.push(event),
                    Ok(None) => break,
                    Err(error) => return (events, Some(error)),
                }
            }
        }
        (events, None)
    };
    let (events, error) = decode(usize::MAX);
    assert_eq!(decode(usize::from(*piece).max(1)), (events, error));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_decoded(bytes in any::<Vec<u8>>()) {
            super::fuzz_sse(&bytes);
        }
    }
}
