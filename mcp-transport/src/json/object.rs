//! A JSON object whose members stay text.

use std::borrow::Cow;
use std::collections::HashSet;

use super::cursor::{Cursor, Key, SyntaxError};
use crate::quote;

/// An object by its members: keys decoded, values as they stand in the text.
///
/// Objects found by [`scan`](super::scan) and [`Object::parse`] have no key twice. Looking a key
/// up walks the members, which are few where the protocol looks.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    raw: &'a str,
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Object<'a> {
    /// Reads a text that is one object, white space around it allowed.
    ///
    /// # Errors
    /// When the text is not JSON, nests deeper than [`MAX_DEPTH`](crate::limits::MAX_DEPTH), is
    /// something else than an object, or has a key twice at its top level.
    pub fn parse(text: &'a str) -> Result<Self, InvalidObject> {
        let mut cursor = Cursor::new(text);
        if cursor.whitespace() != Some(b'{') {
            cursor.value(0)?;
            cursor.end()?;
            return Err(InvalidObject::NotAnObject);
        }
        let object = Self::read(&mut cursor, 0)?;
        cursor.end()?;
        match object.repeated_key() {
            Some(key) => Err(InvalidObject::RepeatedKey(quote(key))),
            None => Ok(object),
        }
    }

    /// The whole text from brace to brace, `{}` for an object that was absent.
    #[must_use]
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The text of the key's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members.iter().find(|(found, _)| found == key).map(|(_, value)| *value)
    }

    /// The members in order, each a decoded key and the text of its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(key, value)| (&**key, *value))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Reads the object at the cursor; whether a key is there twice is for the caller to ask.
    pub(super) fn read(cursor: &mut Cursor<'a>, depth: usize) -> Result<Self, SyntaxError> {
        Self::read_with(cursor, depth, |cursor, _| cursor.value(depth + 1))
    }

    /// The same, with `value` to read the value of each key.
    pub(super) fn read_with(
        cursor: &mut Cursor<'a>,
        depth: usize,
        mut value: impl FnMut(&mut Cursor<'a>, &str) -> Result<&'a str, SyntaxError>,
    ) -> Result<Self, SyntaxError> {
        let mut members = Vec::new();
        let raw = cursor.object(depth, |cursor, key| {
            let key = key.decode();
            let value = value(cursor, &key)?;
            members.push((key, value));
            Ok(())
        })?;
        Ok(Self { raw, members })
    }

    pub(super) fn repeated_key(&self) -> Option<&str> {
        repeated(self.members.iter().map(|(key, _)| &**key))
    }
}

impl Default for Object<'_> {
    fn default() -> Self {
        Self { raw: "{}", members: Vec::new() }
    }
}

/// Why a text is no object that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidObject {
    /// The text is not JSON, or nests too deep.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text is another kind of JSON value.
    #[error("is not an object")]
    NotAnObject,
    /// The key, quoted, stands for more than one member.
    #[error("has the key {0} twice")]
    RepeatedKey(Box<str>),
}

/// The text that a JSON string stands for; `None` if `raw` is anything else than one JSON string.
///
/// ```
/// use mcp_transport::json::decode_string;
///
/// assert_eq!(decode_string(r#""a\u00e4""#).as_deref(), Some("aä"));
/// assert_eq!(decode_string("7"), None);
/// ```
#[must_use]
pub fn decode_string(raw: &str) -> Option<Cow<'_, str>> {
    let key = Cursor::new(raw).string().ok()?;
    (key.raw.len() == raw.len()).then(|| key.decode())
}

impl<'a> Key<'a> {
    pub(super) fn decode(self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(serde_json::from_str(self.raw).expect("the cursor has checked every escape"))
        } else {
            let inner = self.raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Cow::Borrowed(inner.expect("a string has its quotes"))
        }
    }
}

/// A key that is there more than once. Few are compared with each other, many through a set, so
/// that a peer's hundred thousand keys cost no more than they should.
pub(super) fn repeated<'k>(
    keys: impl ExactSizeIterator<Item = &'k str> + Clone,
) -> Option<&'k str> {
    if keys.len() <= FEW {
        let mut rest = keys;
        while let Some(key) = rest.next() {
            if rest.clone().any(|other| other == key) {
                return Some(key);
            }
        }
        return None;
    }
    let mut seen = HashSet::with_capacity(keys.len());
    keys.into_iter().find(|key| !seen.insert(*key))
}

/// Up to here comparing all pairs is faster than hashing.
const FEW: usize = 16;
