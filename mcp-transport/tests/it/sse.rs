//! Events: the HTML standard's algorithm, the same however the stream arrives.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};
use mcp_transport::sse::{Decoder, Event, EventStream, EventTooLong, StreamError, write_event};
use proptest::prelude::*;

use crate::cuts;

/// The events, and the error that ended them.
fn decode(chunks: Vec<Bytes>, limit: usize) -> (Vec<Event>, Option<EventTooLong>) {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.next(), Err(error), "an error stays");
                    return (events, Some(error));
                }
            }
        }
    }
    (events, None)
}

#[test]
fn events_however_they_are_cut() {
    // Each event as its data and type; the type `-` is none.
    let rows: &[(&str, &[(&str, &str)])] = &[
        ("", &[]),
        ("data: a\n\n", &[("a", "-")]),
        ("data:a\n\n", &[("a", "-")]),
        ("data:  a \n\n", &[(" a ", "-")]),
        ("data: a\r\rdata: b\r\r", &[("a", "-"), ("b", "-")]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &[("a", "-"), ("b", "-")]),
        ("data: a\r\n\rdata: b\n\r\n", &[("a", "-"), ("b", "-")]),
        ("data: a\n\r\ndata: b\r\n\n", &[("a", "-"), ("b", "-")]),
        ("\n\n\r\r\ndata: a\n\n\n\n", &[("a", "-")]),
        ("data: a\ndata: b\ndata\ndata:c\n\n", &[("a\nb\n\nc", "-")]),
        ("\u{feff}data: a\n\n", &[("a", "-")]),
        ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &[("b", "-")]),
        ("data: a\n\n\u{feff}data: b\n\n", &[("a", "-")]),
        (": comment\ndata: a\n:\n:data: x\n\n", &[("a", "-")]),
        (":\n\n: quiet\n\n:\r\n\r\n", &[]),
        ("event: message\ndata: a\n\n", &[("a", "message")]),
        ("data: a\nevent: x\nevent:y\n\ndata: b\n\n", &[("a", "y"), ("b", "-")]),
        ("event: x\nevent\ndata: a\n\n", &[("a", "-")]),
        ("event: x\n\ndata: a\n\n", &[("a", "-")]),
        (
            "id: 1\nretry: +5\nid: \0\nid\nunknown: x\nunknown\n data: x\nDATA: x\ndata : x\ndata: a\n\n",
            &[("a", "-")],
        ),
        ("id: 1\ndata:\n\ndata: a\n\n", &[("a", "-")]),
        ("data\n\ndata: \n\n", &[]),
        ("data: a:b: c\n\n", &[("a:b: c", "-")]),
        ("data: ä☃😀\n\n", &[("ä☃😀", "-")]),
        ("data: a\n\ndata: unfinished\n", &[("a", "-")]),
        ("data: a\n\ndata: unfinished", &[("a", "-")]),
        ("data: {\ndata: \"a\": 1\ndata: }\n\n", &[("{\n\"a\": 1\n}", "-")]),
    ];
    for (stream, expected) in rows {
        for chunks in cuts(stream.as_bytes()) {
            let (events, error) = decode(chunks.clone(), 100);
            let shown: Vec<_> = events
                .iter()
                .map(|event| {
                    let name = event.event.as_deref().unwrap_or(b"-");
                    (str::from_utf8(&event.data).unwrap(), str::from_utf8(name).unwrap())
                })
                .collect();
            assert_eq!((shown.as_slice(), error), (*expected, None), "{chunks:?}");
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_reach_the_reader_of_the_message() {
    for chunks in cuts(b": \xff\ndata: \xff\n\n") {
        assert_eq!(decode(chunks, 100).0[0].data, b"\xff"[..]);
    }
}

/// A carriage return ends the line at once: an event must not wait for the next one.
#[test]
fn an_event_does_not_wait_for_a_line_feed() {
    let (events, _) = decode(vec![Bytes::from_static(b"data: a\r\r")], 100);
    assert_eq!(events.len(), 1);
}

#[test]
fn default_and_named_type_carry_messages() {
    let (events, _) =
        decode(vec!["data: a\n\nevent: message\ndata: a\n\nevent: ping\ndata: a\n\n".into()], 100);
    assert_eq!(events.iter().map(Event::is_message).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn the_limit_is_exact_and_an_error_stays() {
    const LIMIT: usize = 20;
    let rows = [
        (format!("data: {}\n\n", "x".repeat(LIMIT)), true),
        (format!("\u{feff}data: {}\r\n\r\n", "x".repeat(LIMIT)), true),
        (format!("data: {}\n\n", "x".repeat(LIMIT + 1)), false),
        (format!("data:{}\n\n", "x".repeat(LIMIT + 1)), false),
        (format!("data: {}\ndata: {}\n\n", "x".repeat(LIMIT - 10), "x".repeat(9)), true),
        (format!("data: {}\ndata: {}\n\n", "x".repeat(LIMIT - 10), "x".repeat(10)), false),
        ("data:\n".repeat(LIMIT + 2), false),
        (format!("event: {}\ndata: x\n\n", "x".repeat(LIMIT + 1)), false),
        ("x".repeat(1000), false),
        (format!("{}data: x\n\n", ": comment of some length\n".repeat(50)), true),
        (format!("{}\n", "data: 12345\n\n".repeat(50)), true),
    ];
    for (stream, fits) in rows {
        for chunks in cuts(stream.as_bytes()) {
            let (events, error) = decode(chunks.clone(), LIMIT);
            assert_eq!(error, (!fits).then_some(EventTooLong { limit: LIMIT }), "{chunks:?}");
            assert_eq!(events.is_empty(), !fits);
        }
    }
}

/// Both take seconds at most; work that grows with the square of the size would take hours.
#[test]
fn one_event_of_ten_megabytes_is_linear() {
    const SIZE: usize = 10 << 20;
    let stream = Bytes::from([b"data: ".to_vec(), vec![b'x'; SIZE], b"\n\n".to_vec()].concat());
    for chunks in
        [vec![stream.clone()], (0..stream.len()).map(|at| stream.slice(at..at + 1)).collect()]
    {
        let (events, error) = decode(chunks, SIZE);
        assert_eq!((events[0].data.len(), error), (SIZE, None));
    }
}

#[test]
fn many_small_events_and_lines_are_linear() {
    let stream = Bytes::from("data: x\n\n".repeat(300_000));
    assert_eq!(decode(vec![stream], 10).0.len(), 300_000);
    let stream = Bytes::from(format!("{}\n", "data: x\n".repeat(300_000)));
    assert_eq!(decode(vec![stream], 1 << 20).0[0].data.len(), 599_999);
}

#[test]
fn data_in_one_piece_is_not_copied() {
    let chunk = Bytes::from_static(b"data: abc\n\n");
    let (events, _) = decode(vec![chunk.clone()], 100);
    assert_eq!(events[0].data.as_ptr(), chunk[6..].as_ptr());
}

/// A body made of its frames; it fails at the end if told to.
struct Frames(Vec<Frame<Bytes>>, bool);

impl Body for Frames {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if self.0.is_empty() {
            let fails = std::mem::take(&mut self.1);
            return Poll::Ready(fails.then_some(Err("reset")));
        }
        Poll::Ready(Some(Ok(self.0.remove(0))))
    }
}

fn read(body: Frames, limit: usize) -> Vec<String> {
    let mut stream = EventStream::new(body, limit);
    let mut seen = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(item)) = stream.poll_next(&mut cx) {
        seen.push(match item {
            Ok(event) => String::from_utf8_lossy(&event.data).into_owned(),
            Err(StreamError::Body(error)) => format!("body {error}"),
            Err(StreamError::TooLong(error)) => error.to_string(),
            Err(_) => unreachable!(),
        });
    }
    assert!(matches!(stream.poll_next(&mut cx), Poll::Ready(None)), "the end stays the end");
    seen
}

#[test]
fn events_of_a_body() {
    let data = |text: &'static str| Frame::data(Bytes::from_static(text.as_bytes()));
    let trailers = || Frame::trailers(http::HeaderMap::new());
    let frames = || {
        vec![
            data(""),
            data("data: a\n\nda"),
            data("ta: b\n"),
            data("\n"),
            trailers(),
            data("data: c"),
        ]
    };
    assert_eq!(read(Frames(frames(), false), 100), ["a", "b"]);
    assert_eq!(read(Frames(frames(), true), 100), ["a", "b", "body reset"]);
    assert_eq!(
        read(Frames(vec![data("data: a\n\ndata: 123456\n\ndata: b\n\n")], false), 5),
        ["a", "an event of the stream is longer than 5 bytes"]
    );
}

proptest! {
    #[test]
    fn messages_come_back(
        messages in prop::collection::vec("[ -~\u{80}-\u{800}]{1,40}", 0..5),
        piece in 1..9usize,
    ) {
        let mut stream = Vec::new();
        for message in &messages {
            write_event(&mut stream, message);
        }
        let chunks = stream.chunks(piece).map(Bytes::copy_from_slice).collect();
        let (events, error) = decode(chunks, 1000);
        prop_assert_eq!(error, None);
        prop_assert_eq!(events.into_iter().map(|event| event.data).collect::<Vec<_>>(), messages);
    }

    #[test]
    fn cuts_make_no_difference(
        stream in "(data|event|id|:|: | |\n|\r|\r\n|x|\u{feff}|ä){0,30}",
        pieces in prop::collection::vec(1..9usize, 1..20),
    ) {
        let whole = decode(vec![stream.clone().into()], 10);
        let (mut rest, mut chunks) = (Bytes::from(stream), Vec::new());
        for piece in pieces {
            chunks.push(rest.split_to(piece.min(rest.len())));
        }
        chunks.push(rest);
        prop_assert_eq!(decode(chunks, 10), whole);
    }
}
