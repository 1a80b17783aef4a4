//! A JSON text as a flat list of its values: what validation walks and what sealing brings into one order.
//!
//! A `serde_json::Value` would cost an allocation per key and round numbers to what `f64` holds. Here
//! strings without escapes and all numbers stay slices of the text, and a document is one allocation.

use std::borrow::Cow;

use crate::limits::MAX_DEPTH;

/// The values of one text in the order in which they begin, each container before what it holds.
#[derive(Debug)]
pub struct Tape<'t> {
    slots: Vec<Slot<'t>>,
}

/// One value, or one key of an object, which comes right before its value.
#[derive(Debug)]
pub struct Slot<'t> {
    /// What it is.
    pub token: Token<'t>,
    /// Where the next value begins that is not part of this one.
    pub next: u32,
}

/// A scalar, or the head of a container with the number of its elements or members.
#[derive(Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has these values and no others")]
pub enum Token<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// As it is written.
    Number(&'t str),
    /// Without quotes and escapes.
    String(Cow<'t, str>),
    /// The head of an array.
    Array(u32),
    /// The head of an object.
    Object(u32),
}

/// Why a text has no tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TapeError {
    /// It is not JSON.
    Syntax,
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
    /// It has more than [`MAX_VALUES`] values.
    TooMany,
}

/// Values of one text, keys included.
///
/// An argument of a tool that has more is a file or a table in disguise; a batch of embeddings has some ten
/// thousand. Each costs 32 bytes, so that no text gets more than 7 MiB.
pub const MAX_VALUES: usize = 200_000;

impl<'t> Tape<'t> {
    /// Reads a text that is one JSON value, white space around it allowed.
    ///
    /// # Errors
    /// When it is none, or is too deep or too large.
    pub fn parse(text: &'t str) -> Result<Self, TapeError> {
        // A guess for small texts, which then need no second allocation; large ones are often one large
        // string.
        let slots = Vec::with_capacity((text.len() / 6 + 2).min(64));
        let mut reader = Reader { text, at: 0, slots };
        reader.whitespace();
        reader.value(0)?;
        reader.whitespace();
        if reader.at < text.len() {
            Err(TapeError::Syntax)
        } else {
            Ok(Self { slots: reader.slots })
        }
    }

    /// The value that begins at `at`, which is 0 for the whole text or comes from this tape.
    ///
    /// # Panics
    /// When the position comes from elsewhere.
    pub fn slot(&self, at: u32) -> &Slot<'t> {
        self.slots.get(at as usize).expect("positions come from the tape itself")
    }

    /// How many values and keys there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.slots.len()
    }

    /// The positions of the elements of the array at `at`; empty for any other value.
    pub fn elements(&self, at: u32) -> Elements<'_> {
        let Slot { token, next: end } = self.slot(at);
        let here = if matches!(token, Token::Array(_)) { at + 1 } else { *end };
        Elements { tape: self, here, end: *end }
    }

    /// The keys of the object at `at`, with the positions of their values; empty for any other value.
    pub fn members(&self, at: u32) -> Members<'_> {
        let Slot { token, next: end } = self.slot(at);
        let here = if matches!(token, Token::Object(_)) { at + 1 } else { *end };
        Members(Elements { tape: self, here, end: *end })
    }

    /// How deep the containers nest: 0 for a scalar, 1 for `[]`.
    pub fn depth(&self) -> usize {
        let mut ends: Vec<u32> = Vec::new();
        let mut deepest = 0;
        for (at, slot) in (0u32..).zip(&self.slots) {
            while ends.last().is_some_and(|end| *end <= at) {
                ends.pop();
            }
            if matches!(slot.token, Token::Array(_) | Token::Object(_)) {
                ends.push(slot.next);
                deepest = deepest.max(ends.len());
            }
        }
        deepest
    }
}

/// See [`Tape::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    tape: &'a Tape<'a>,
    here: u32,
    end: u32,
}

impl Iterator for Elements<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let here = (self.here < self.end).then_some(self.here)?;
        self.here = self.tape.slot(here).next;
        Some(here)
    }
}

/// See [`Tape::members`].
#[derive(Clone, Debug)]
pub struct Members<'a>(Elements<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let tape = self.0.tape;
        let (key, value) = (self.0.next()?, self.0.next()?);
        match &tape.slot(key).token {
            Token::String(key) => Some((key, value)),
            _ => None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    slots: Vec<Slot<'t>>,
}

impl<'t> Reader<'t> {
    /// The value at the cursor, inside `depth` containers.
    fn value(&mut self, depth: usize) -> Result<(), TapeError> {
        let token = match self.peek() {
            Some(b'{') => return self.container(depth, b'}'),
            Some(b'[') => return self.container(depth, b']'),
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true", Token::Bool(true))?,
            Some(b'f') => self.literal("false", Token::Bool(false))?,
            Some(b'n') => self.literal("null", Token::Null)?,
            _ => return Err(TapeError::Syntax),
        };
        self.push(token).map(drop)
    }

    fn container(&mut self, depth: usize, close: u8) -> Result<(), TapeError> {
        if depth >= MAX_DEPTH {
            return Err(TapeError::TooDeep);
        }
        let head = self.push(Token::Null)?;
        self.at += 1;
        let mut count = 0;
        self.whitespace();
        if !self.eat(close) {
            loop {
                if close == b'}' {
                    self.key()?;
                }
                self.value(depth + 1)?;
                count += 1;
                self.whitespace();
                if self.eat(close) {
                    break;
                }
                if !self.eat(b',') {
                    return Err(TapeError::Syntax);
                }
                self.whitespace();
            }
        }
        let next = self.next();
        let slot = self.slots.get_mut(head as usize).expect("pushed above");
        *slot = Slot {
            token: if close == b'}' { Token::Object(count) } else { Token::Array(count) },
            next,
        };
        Ok(())
    }

    /// A member's key, its colon and the white space behind.
    fn key(&mut self) -> Result<(), TapeError> {
        let key = self.string()?;
        self.push(key)?;
        self.whitespace();
        if !self.eat(b':') {
            return Err(TapeError::Syntax);
        }
        self.whitespace();
        Ok(())
    }

    fn string(&mut self) -> Result<Token<'t>, TapeError> {
        let start = self.at;
        if !self.eat(b'"') {
            return Err(TapeError::Syntax);
        }
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += memchr::memchr2(b'"', b'\\', rest).ok_or(TapeError::Syntax)? + 1;
            if self.text.as_bytes().get(self.at - 1) == Some(&b'"') {
                break;
            }
            // What follows is escaped, whatever it is.
            escaped = true;
            self.at += 1;
        }
        let raw = self.text.get(start..self.at).ok_or(TapeError::Syntax)?;
        if escaped {
            let text = serde_json::from_str::<String>(raw).or(Err(TapeError::Syntax))?;
            return Ok(Token::String(Cow::Owned(text)));
        }
        // A fold instead of `any`: without an early exit the compiler makes vector instructions of it.
        if raw.bytes().fold(false, |found, byte| found | (byte < b' ')) {
            return Err(TapeError::Syntax);
        }
        let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Ok(Token::String(Cow::Borrowed(inner.expect("a string has its quotes"))))
    }

    fn number(&mut self) -> Result<Token<'t>, TapeError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _signed = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        self.text.get(start..self.at).map(Token::Number).ok_or(TapeError::Syntax)
    }

    fn digits(&mut self) -> Result<(), TapeError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(TapeError::Syntax) } else { Ok(()) }
    }

    fn literal(&mut self, word: &str, token: Token<'t>) -> Result<Token<'t>, TapeError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(TapeError::Syntax);
        }
        self.at += word.len();
        Ok(token)
    }

    /// Adds a value that ends where the next begins, and says where it is.
    fn push(&mut self, token: Token<'t>) -> Result<u32, TapeError> {
        if self.slots.len() >= MAX_VALUES {
            return Err(TapeError::TooMany);
        }
        let at = self.next();
        self.slots.push(Slot { token, next: at + 1 });
        Ok(at)
    }

    fn next(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("MAX_VALUES is far below")
    }

    fn whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, proptest};
    use serde_json::{Map, Value};

    use super::*;

    /// The same as serde_json reads it; `None` where a number is larger than it can hold.
    fn value(tape: &Tape<'_>, at: u32) -> Option<Value> {
        Some(match &tape.slot(at).token {
            Token::Null => Value::Null,
            Token::Bool(bool) => Value::Bool(*bool),
            Token::Number(text) => serde_json::from_str(text).ok()?,
            Token::String(text) => Value::String(text.to_string()),
            Token::Array(count) => {
                assert_eq!(tape.elements(at).count(), *count as usize);
                tape.elements(at).map(|at| value(tape, at)).collect::<Option<_>>()?
            }
            Token::Object(count) => {
                assert_eq!(tape.members(at).count(), *count as usize);
                let members =
                    tape.members(at).map(|(key, at)| Some((key.to_owned(), value(tape, at)?)));
                Value::Object(members.collect::<Option<Map<_, _>>>()?)
            }
        })
    }

    #[test]
    fn texts_are_read_as_serde_json_reads_them() {
        for text in JSON {
            assert_eq!(
                value(&Tape::parse(text).unwrap(), 0),
                serde_json::from_str(text).ok(),
                "{text}"
            );
        }
        for text in NO_JSON {
            assert_eq!(Tape::parse(text).unwrap_err(), TapeError::Syntax, "{text}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    const JSON: &[&str] = &[
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "12",
        "-1.5e+3",
        "2E-7",
        "\"\"",
        r#""a\"b\\""#,
        r#""\u00e4\ud83d\ude00""#,
        "[]",
        "[ ]",
        "{}",
        "{ }",
        "[1,[2,[]],{}]",
        r#" { "a" : [ 1 , 2 ] , "b" : { "c" : null } } "#,
        "\"ä\u{7f}\"",
    ];

    const NO_JSON: &[&str] = &[
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "1e+",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\ud83d\"",
        "\"\n\"",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "{} {}",
        "NaN",
        "\u{a0}1",
        "\"\\",
    ];

    #[test]
    fn depth_and_size_are_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Tape::parse(&nested(MAX_DEPTH)).unwrap().depth(), MAX_DEPTH);
        assert_eq!(Tape::parse(&nested(MAX_DEPTH + 1)).unwrap_err(), TapeError::TooDeep);
        assert_eq!(Tape::parse(&nested(1_000_000)).unwrap_err(), TapeError::TooDeep);
        let flat = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert_eq!(Tape::parse(&flat(MAX_VALUES)).unwrap().len(), MAX_VALUES);
        assert_eq!(Tape::parse(&flat(MAX_VALUES + 1)).unwrap_err(), TapeError::TooMany);
        for (text, depth) in [("1", 0), ("[]", 1), ("[[],[[]],[]]", 3), (r#"{"a":{},"b":1}"#, 2)] {
            assert_eq!(Tape::parse(text).unwrap().depth(), depth, "{text}");
        }
    }

    #[test]
    fn a_slot_is_as_small_as_its_documentation_says() {
        assert_eq!(size_of::<Slot<'_>>(), 32);
    }

    proptest! {
        #[test]
        fn any_text_is_judged_as_serde_json_judges_it(text in r#"[\[\]{}:,"\\0-9eE.+tfn a-]{0,12}"#) {
            let ours = Tape::parse(&text).ok().and_then(|tape| value(&tape, 0));
            assert_eq!(ours, serde_json::from_str(&text).ok());
        }

        #[test]
        fn any_document_survives(text in document()) {
            assert_eq!(value(&Tape::parse(&text).unwrap(), 0), serde_json::from_str(&text).ok());
        }
    }

    fn document() -> impl Strategy<Value = String> {
        let leaf = proptest::prop_oneof![
            any::<Option<bool>>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            proptest::prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((".{0,3}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
        .prop_map(|value| value.to_string())
    }
}
