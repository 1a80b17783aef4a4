//! Server-sent events, as far as this protocol has use for them: what stands in the data of each.

/// Reads events from pieces of a body.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Option<String>,
    event: Event,
    /// Whether the last byte was a carriage return, whose line feed is still to come.
    after_cr: bool,
}

/// One event, and what it says besides its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) data: String,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) retry: Option<String>,
}

impl Events {
    /// Takes more bytes, and gives the events that are whole now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut whole = Vec::new();
        for byte in bytes {
            let ends_pair = *byte == b'\n' && self.after_cr;
            self.after_cr = *byte == b'\r';
            match byte {
                b'\n' if ends_pair => {}
                b'\n' | b'\r' => whole.extend(self.end_line()),
                other => self.line.push(*other),
            }
        }
        whole
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return self.data.take().map(|data| Event { data, ..event });
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" => self.event.id = Some(value.to_owned()),
            "event" => self.event.name = Some(value.to_owned()),
            "retry" => self.event.retry = Some(value.to_owned()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_in_any_pieces() {
        let text = b": hi\r\ndata: {\"a\":\r\ndata:1}\r\nid: 7\r\n\r\nevent: x\ndata\n\n\rretry: 5\rdata: z\r\r";
        let whole = Events::default().push(text);
        assert_eq!(whole.len(), 3);
        assert_eq!(whole[0].data, "{\"a\":\n1}");
        assert_eq!(whole[0].id.as_deref(), Some("7"));
        assert_eq!((whole[1].name.as_deref(), &*whole[1].data), (Some("x"), ""));
        assert_eq!((whole[2].retry.as_deref(), &*whole[2].data), (Some("5"), "z"));
        for at in 0..text.len() {
            let mut events = Events::default();
            let mut pieces = events.push(&text[..at]);
            pieces.extend(events.push(&text[at..]));
            assert_eq!(pieces, whole, "cut at {at}");
        }
    }
}
