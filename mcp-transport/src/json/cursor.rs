//! The JSON grammar (RFC 8259) over text that is known to be UTF-8, one byte after the other.

use crate::limits::MAX_DEPTH;

/// Where a text stops being JSON that this crate accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    what: What,
    at: usize,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.at;
        match self.what {
            What::Expected(what) => write!(f, "expected {what} at byte {at}"),
            What::TooDeep => write!(f, "nested more than {MAX_DEPTH} deep at byte {at}"),
        }
    }
}

impl std::error::Error for SyntaxError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Expected(&'static str),
    TooDeep,
}

/// A position in a text. Every method leaves it right behind what it has checked.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Checks the members of an object at the cursor. `member` is called behind each colon and
    /// has to pass the value; `depth` containers are open around the object.
    pub(super) fn object(
        &mut self,
        depth: usize,
        mut member: impl FnMut(&mut Self, Key<'a>) -> Result<(), SyntaxError>,
    ) -> Result<&'a str, SyntaxError> {
        let start = self.at;
        Nesting::new(depth).open(true).ok_or_else(|| self.too_deep())?;
        self.expect(b'{', "an object")?;
        if self.whitespace() == Some(b'}') {
            self.at += 1;
            return Ok(self.since(start));
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.whitespace() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.expected("a comma or the end of the object")),
            }
            self.whitespace();
        }
        self.at += 1;
        Ok(self.since(start))
    }

    /// Checks any one value at the cursor, `depth` containers being open around it. Keeps no
    /// stack but a bit for each open container, so no input can exhaust it.
    pub(super) fn value(&mut self, depth: usize) -> Result<&'a str, SyntaxError> {
        let start = self.at;
        let mut nesting = Nesting::new(depth);
        loop {
            // A value is due.
            match self.peek() {
                Some(b'{') => {
                    nesting.open(true).ok_or_else(|| self.too_deep())?;
                    self.at += 1;
                    if self.whitespace() != Some(b'}') {
                        self.pass_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    nesting.open(false).ok_or_else(|| self.too_deep())?;
                    self.at += 1;
                    if self.whitespace() != Some(b']') {
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended, and with it perhaps the containers it was the last of.
            loop {
                let Some(in_object) = nesting.innermost_is_object() else {
                    return Ok(self.since(start));
                };
                match (self.whitespace(), in_object) {
                    (Some(b','), _) => {
                        self.at += 1;
                        self.whitespace();
                        if in_object {
                            self.pass_key()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        nesting.close();
                    }
                    (_, true) => return Err(self.expected("a comma or the end of the object")),
                    (_, false) => return Err(self.expected("a comma or the end of the array")),
                }
            }
        }
    }

    /// Checks that nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), SyntaxError> {
        match self.whitespace() {
            None => Ok(()),
            Some(_) => Err(self.expected("nothing more")),
        }
    }

    /// Passes white space and shows the byte behind it.
    pub(super) fn whitespace(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Checks the string at the cursor and takes it.
    pub(super) fn string(&mut self) -> Result<Key<'a>, SyntaxError> {
        let start = self.at;
        let escaped = self.pass_string()?;
        Ok(Key { raw: self.since(start), escaped })
    }

    /// Checks the string at the cursor; whether it has escapes.
    fn pass_string(&mut self) -> Result<bool, SyntaxError> {
        let mut escaped = false;
        self.expect(b'"', "a string")?;
        loop {
            self.at += plain_prefix(self.rest());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.expected("an escape instead of a control character")),
                None => return Err(self.expected("the end of the string")),
            }
        }
        self.at += 1;
        Ok(escaped)
    }

    /// A member's key, its colon and the white space behind.
    fn key(&mut self) -> Result<Key<'a>, SyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        let key = self.string()?;
        self.pass_colon()?;
        Ok(key)
    }

    /// The same, of a member that nobody asks for.
    fn pass_key(&mut self) -> Result<(), SyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        self.pass_string()?;
        self.pass_colon()
    }

    fn pass_colon(&mut self) -> Result<(), SyntaxError> {
        self.whitespace();
        self.expect(b':', "a colon")?;
        self.whitespace();
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            Some(b'"') => self.pass_string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.expected("a value")),
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), SyntaxError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        self.eat(|byte| byte == b'-');
        if !self.eat(|byte| byte == b'0') {
            self.digits()?;
        }
        if self.eat(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.eat(|byte| matches!(byte, b'e' | b'E')) {
            self.eat(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.expected("a digit")) } else { Ok(()) }
    }

    /// One escape. Half a surrogate pair is refused: no `String` can hold it, so what the scan
    /// admits would fail to decode later.
    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.code_unit()? {
                0xD800..=0xDBFF => {
                    let low = self.peek() == Some(b'\\') && {
                        self.at += 1;
                        matches!(self.code_unit()?, 0xDC00..=0xDFFF)
                    };
                    if low {
                        Ok(())
                    } else {
                        Err(self.expected("the other half of a surrogate pair"))
                    }
                }
                0xDC00..=0xDFFF => Err(self.expected("a whole surrogate pair")),
                _ => Ok(()),
            },
            _ => Err(self.expected("an escape")),
        }
    }

    /// The `u` of an escape and its four digits.
    fn code_unit(&mut self) -> Result<u16, SyntaxError> {
        self.expect(b'u', "the other half of a surrogate pair")?;
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), SyntaxError> {
        if self.eat(|found| found == byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn eat(&mut self, wanted: impl FnOnce(u8) -> bool) -> bool {
        let found = self.peek().is_some_and(wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).expect("values start and end with ASCII")
    }

    fn expected(&self, what: &'static str) -> SyntaxError {
        SyntaxError { what: What::Expected(what), at: self.at }
    }

    fn too_deep(&self) -> SyntaxError {
        SyntaxError { what: What::TooDeep, at: self.at }
    }
}

/// A string as it stands in the text, quotes and escapes included.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) raw: &'a str,
    pub(super) escaped: bool,
}

/// The open containers, innermost in the lowest bit; a set bit is an object.
struct Nesting {
    objects: u128,
    open: usize,
    around: usize,
}

/// One bit for each container that may be open.
const _: () = assert!(MAX_DEPTH <= u128::BITS as usize);

impl Nesting {
    fn new(around: usize) -> Self {
        Self { objects: 0, open: 0, around }
    }

    fn open(&mut self, is_object: bool) -> Option<()> {
        if self.around + self.open >= MAX_DEPTH {
            return None;
        }
        self.open += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        Some(())
    }

    fn close(&mut self) {
        self.open -= 1;
        self.objects >>= 1;
    }

    fn innermost_is_object(&self) -> Option<bool> {
        (self.open > 0).then_some(self.objects & 1 == 1)
    }
}

/// How many bytes at the start need no look inside a string.
///
/// Most strings are short and end within a few words. For long ones whole blocks are judged at once, in a
/// loop without branches that the compiler turns into vector instructions.
fn plain_prefix(bytes: &[u8]) -> usize {
    let Some((head, rest)) = bytes.split_at_checked(BLOCK) else {
        return plain_words(bytes);
    };
    let plain = plain_words(head);
    if plain < BLOCK {
        return plain;
    }
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    let is_plain =
        |block: &&[u8; BLOCK]| !block.iter().fold(false, |hit, &byte| hit | ends_plain(byte));
    let plain = blocks.iter().take_while(is_plain).count() * BLOCK;
    BLOCK + plain + plain_words(rest.get(plain..).unwrap_or_default())
}

/// The same, eight bytes at a time.
fn plain_words(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let hits = ends_plain_in(u64::from_le_bytes(*word));
        if hits != 0 {
            return n * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    let tail_plain = tail.iter().take_while(|&&byte| !ends_plain(byte)).count();
    words.len() * 8 + tail_plain
}

/// [`ends_plain`] of eight bytes: the high bit of the first byte that does is set, and none before it.
/// Behind it a borrow may set others.
const fn ends_plain_in(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const fn zero_bytes(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word
    }
    let quote = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslash = zero_bytes(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (quote | backslash | control) & (ONES << 7)
}

const fn ends_plain(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

/// Two 16-byte vectors: with more, the bytewise look behind a hit costs more than is won.
const BLOCK: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_plain_wherever_it_ends_and_whatever_follows() {
        for length in 0..100 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(plain_prefix(&bytes), length);
            // What could be mistaken for an end: the neighbours of those that are, and non-ASCII.
            for near in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF] {
                bytes.fill(near);
                assert_eq!(plain_prefix(&bytes), length, "{near:#x} times {length}");
            }
            for end in [b'"', b'\\', 0, 0x1F] {
                for follower in [b'"', 0, 0xFF] {
                    bytes.truncate(length);
                    bytes.push(end);
                    bytes.resize(length + 12, follower);
                    assert_eq!(plain_prefix(&bytes), length, "{end:#x} before {follower:#x}");
                }
            }
        }
    }
}
