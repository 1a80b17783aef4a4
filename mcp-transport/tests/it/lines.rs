//! Lines: bounded, resynchronising, the same however they arrive.

use bytes::Bytes;
use mcp_transport::line::{Decoder, LineTooLong, write_line};
use proptest::prelude::*;

use crate::cuts;

const LIMIT: usize = 8;

fn decode(chunks: Vec<Bytes>, limit: usize) -> Vec<Result<Bytes, LineTooLong>> {
    let mut decoder = Decoder::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        lines.extend(std::iter::from_fn(|| decoder.next()));
    }
    lines.extend(decoder.finish());
    lines
}

#[test]
fn lines_however_they_are_cut() {
    let rows: &[(&[u8], &[Option<&str>])] = &[
        (b"", &[]),
        (b"{}\n", &[Some("{}")]),
        (b"{}\r\n[]\n", &[Some("{}"), Some("[]")]),
        (b"\n\r\n \t\n{}\n\n", &[Some("{}")]),
        (b"{}\n[]", &[Some("{}"), Some("[]")]),
        (b"{}\r", &[Some("{}")]),
        (b"a\rb\n", &[Some("a\rb")]),
        ("ä\nö☃\n".as_bytes(), &[Some("ä"), Some("ö☃")]),
        (b"12345678\n1\n", &[Some("12345678"), Some("1")]),
        (b"12345678\r\n1\n", &[Some("12345678"), Some("1")]),
        (b"123456789\n1\n", &[None, Some("1")]),
        (b"123456789\r\n1\n", &[None, Some("1")]),
        (b"1\n1234567890123456789012345\n2\n", &[Some("1"), None, Some("2")]),
        (b"1234567890\n1234567890\n2\n", &[None, None, Some("2")]),
        (b"1234567890", &[None]),
        (b"123456789", &[None]),
    ];
    for (stream, expected) in rows {
        let expected: Vec<_> = expected
            .iter()
            .map(|line| line.map(Bytes::from).ok_or(LineTooLong { limit: LIMIT }))
            .collect();
        for chunks in cuts(stream) {
            assert_eq!(decode(chunks.clone(), LIMIT), expected, "{chunks:?}");
        }
    }
}

/// An endless line is reported once and held no longer than the limit.
#[test]
fn an_endless_line_is_reported_once() {
    let mut decoder = Decoder::new(1000);
    let mut reports = 0;
    for _ in 0..10_000 {
        decoder.push(Bytes::from_static(&[b'x'; 100]));
        reports += std::iter::from_fn(|| decoder.next()).count();
    }
    assert_eq!(reports, 1);
    decoder.push(Bytes::from_static(b"\nnext\n"));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"next"))));
}

/// Both take seconds at most; work that grows with the square of the size would take hours.
#[test]
fn one_long_line_is_linear() {
    const SIZE: usize = 10 << 20;
    let line = Bytes::from([vec![b'x'; SIZE], b"\n".to_vec()].concat());
    for chunks in [vec![line.clone()], (0..line.len()).map(|at| line.slice(at..at + 1)).collect()] {
        assert_eq!(decode(chunks, SIZE)[0].as_ref().map(Bytes::len), Ok(SIZE));
    }
}

#[test]
fn a_whole_line_is_not_copied() {
    let chunk = Bytes::from_static(b"[1]\n[2]\n");
    let lines = decode(vec![chunk.clone()], 100);
    assert_eq!(lines[1].as_ref().unwrap().as_ptr(), chunk[4..].as_ptr());
}

proptest! {
    #[test]
    fn messages_come_back(
        messages in prop::collection::vec("\\{[ -~\u{80}-\u{800}\r\n]{0,40}\\}", 0..5),
        piece in 1..9usize,
    ) {
        let mut stream = Vec::new();
        for message in &messages {
            write_line(&mut stream, message);
        }
        let lines = decode(stream.chunks(piece).map(Bytes::copy_from_slice).collect(), 1000);
        let one_line = |text: &String| Ok(Bytes::from(text.replace(['\r', '\n'], " ")));
        prop_assert_eq!(lines, messages.iter().map(one_line).collect::<Vec<_>>());
    }
}
