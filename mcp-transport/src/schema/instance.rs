//! A [`Tape`] as an instance that jsonschema can judge, with an account of the work that is done on it.

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{self, NodeIdentity};
use serde_json::{Map, Number, Value};

use super::excerpt::excerpt;
use crate::tape::{Elements, Members, Tape, Token};

/// One text under validation.
///
/// A schema with alternatives inside alternatives can make a few bytes cost exponential work, so every look
/// at a value is one step of a budget. Once it is spent, every value shows itself as `null`, validation
/// ends quickly, and its verdict is worth nothing: [`is_spent`](Self::is_spent) has to be asked.
#[derive(Debug)]
pub(super) struct Instance<'t> {
    tape: &'t Tape<'t>,
    prices: Prices,
    steps: Cell<u32>,
}

/// What a schema makes cost more than one step, since it is done without a look at a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// Steps for a value that is gone to.
    visit: usize,
    /// How often a member's name may be judged.
    names: usize,
    /// Steps for a byte of text, over what any text costs.
    byte: usize,
}

impl Prices {
    /// Where each value may be judged so often, and the name of each member, and a byte of text costs so much.
    pub(super) fn new(judgements: usize, names: usize, byte: usize) -> Self {
        Self { visit: judgements / JUDGEMENTS_PER_STEP, names, byte }
    }

    fn text(self, text: &str) -> usize {
        (text.len() / BYTES_PER_STEP).saturating_add(text.len().saturating_mul(self.byte))
    }

    /// Going to a member.
    fn member(self, name: &str) -> usize {
        self.visit.saturating_add(self.names.saturating_mul(self.text(name)))
    }
}

/// Subschemas that have nothing to say are applied in the time of one other step.
const JUDGEMENTS_PER_STEP: usize = 128;

/// Bytes of text that are matched in the time of one other step.
const BYTES_PER_STEP: usize = 8;

impl<'t> Instance<'t> {
    pub(super) fn new(tape: &'t Tape<'t>, prices: Prices, steps: u32) -> Self {
        Self { tape, prices, steps: Cell::new(steps) }
    }

    /// The whole text as a value.
    pub(super) fn root(&self) -> Node<'_> {
        Node::At(self, 0)
    }

    /// Whether the budget ran out, so that the verdict means nothing.
    pub(super) fn is_spent(&self) -> bool {
        self.steps.get() == 0
    }

    fn spend(&self, steps: usize) -> bool {
        let left = self.steps.get().saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        self.steps.set(left);
        left > 0
    }
}

/// jsonschema's name for this representation.
#[derive(Debug)]
pub(super) struct TapeJson;

impl json::Json for TapeJson {
    type Node<'a> = Node<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // Looking a key up walks the members here, so from a few on one pass over all is cheaper.
    const KEYS_PER_LOOKUP: usize = 1;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Node<'_>) -> T) -> T {
        f(Node::Name(string))
    }
}

/// A value: of the tape, or a member's name where a schema judges names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    At(&'a Instance<'a>, u32),
    Name(&'a str),
}

impl<'a> Node<'a> {
    fn token(self) -> Seen<'a> {
        match self {
            Node::At(instance, at) if instance.spend(1) => {
                Seen::Token(&instance.tape.slot(at).token)
            }
            Node::At(..) => Seen::Token(&Token::Null),
            Node::Name(name) => Seen::Name(name),
        }
    }

    /// The whole value, for comparisons that jsonschema makes on its own.
    fn build(self) -> Value {
        let (instance, at) = match self {
            Node::At(instance, at) => (instance, at),
            Node::Name(name) => return Value::from(name),
        };
        match self.token() {
            Seen::Token(Token::Array(_)) => {
                instance.tape.elements(at).map(|at| Node::At(instance, at).build()).collect()
            }
            Seen::Token(Token::Object(_)) => {
                let members = instance.tape.members(at);
                Value::Object(
                    members
                        .map(|(key, at)| (key.to_owned(), Node::At(instance, at).build()))
                        .collect(),
                )
            }
            Seen::Token(Token::String(text)) => Value::from(&**text),
            seen => seen.scalar(),
        }
    }
}

/// What a look at a value finds.
enum Seen<'a> {
    Token(&'a Token<'a>),
    Name(&'a str),
}

impl<'a> Seen<'a> {
    fn text(&self) -> Option<&'a str> {
        match *self {
            Seen::Token(Token::String(text)) => Some(text),
            Seen::Name(name) => Some(name),
            Seen::Token(_) => None,
        }
    }

    /// The value if it is small: containers are empty, long texts cut.
    fn scalar(&self) -> Value {
        match *self {
            Seen::Token(Token::Array(_)) => Value::Array(Vec::new()),
            Seen::Token(Token::Object(_)) => Value::Object(Map::new()),
            Seen::Token(Token::Bool(bool)) => Value::Bool(*bool),
            Seen::Token(Token::Number(text)) => Value::Number(number(text)),
            _ => self.text().map_or(Value::Null, |text| Value::String(excerpt(text))),
        }
    }
}

impl<'a> json::Node<'a, TapeJson> for Node<'a> {
    type Object = Container<'a>;
    type Array = Container<'a>;
    type Number = Written<'a>;

    fn as_object(&self) -> Option<Container<'a>> {
        match (self, self.token()) {
            (Node::At(instance, at), Seen::Token(Token::Object(len))) => {
                Some(Container { instance, at: *at, len: *len })
            }
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Container<'a>> {
        match (self, self.token()) {
            (Node::At(instance, at), Seen::Token(Token::Array(len))) => {
                Some(Container { instance, at: *at, len: *len })
            }
            _ => None,
        }
    }

    // Who asks for it reads all of it, which no look at the value alone pays for.
    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.token().text()?;
        match self {
            Node::At(instance, _) if !instance.spend(instance.prices.text(text)) => None,
            _ => Some(Cow::Borrowed(text)),
        }
    }

    fn as_number(&self) -> Option<Written<'a>> {
        match self.token() {
            Seen::Token(Token::Number(text)) => Some(Written(text)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.token() {
            Seen::Token(Token::Bool(bool)) => Some(*bool),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.token(), Seen::Token(Token::Null))
    }

    fn json_type(&self) -> JsonType {
        match self.token() {
            Seen::Token(Token::Null) => JsonType::Null,
            Seen::Token(Token::Bool(_)) => JsonType::Boolean,
            Seen::Token(Token::Number(_)) => JsonType::Number,
            Seen::Token(Token::Array(_)) => JsonType::Array,
            Seen::Token(Token::Object(_)) => JsonType::Object,
            Seen::Token(Token::String(_)) | Seen::Name(_) => JsonType::String,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (expected, self.token()) {
            (Value::Array(expected), Seen::Token(Token::Array(len))) => {
                let Some(array) = self.as_array().filter(|_| expected.len() == *len as usize)
                else {
                    return false;
                };
                json::Array::elements(&array)
                    .zip(expected)
                    .all(|(found, expected)| found.equals_value(expected))
            }
            (Value::Object(expected), Seen::Token(Token::Object(len))) => {
                let Some(object) = self.as_object().filter(|_| expected.len() == *len as usize)
                else {
                    return false;
                };
                expected.iter().all(|(key, expected)| {
                    object.find(key).is_some_and(|found| found.equals_value(expected))
                })
            }
            (Value::String(expected), seen) => seen.text() == Some(expected),
            (Value::Number(expected), Seen::Token(Token::Number(text))) => {
                json::cmp::equal_numbers(&Written(text), expected)
            }
            (Value::Bool(expected), Seen::Token(Token::Bool(found))) => expected == found,
            (Value::Null, Seen::Token(Token::Null)) => true,
            _ => false,
        }
    }

    // Only errors ask for it, and a fault is described from the scalar alone: a copy of all that is below
    // each fault would cost depth times size.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(self.token().scalar())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(match self {
            Node::At(instance, at) => std::ptr::from_ref(instance.tape.slot(*at)).addr(),
            Node::Name(name) => name.as_ptr().addr(),
        }))
    }
}

/// An array or an object.
#[derive(Debug)]
pub(super) struct Container<'a> {
    instance: &'a Instance<'a>,
    at: u32,
    len: u32,
}

impl<'a> Container<'a> {
    /// Of members with one key the last, as serde_json has it.
    fn find(&self, key: &str) -> Option<Node<'a>> {
        self.instance.spend(self.len as usize / KEYS_PER_STEP);
        let found = self.instance.tape.members(self.at).filter(|(found, _)| *found == key).last();
        found.map(|(_, at)| Node::At(self.instance, at))
    }
}

/// Keys that are compared in the time of one other step.
const KEYS_PER_STEP: usize = 8;

impl<'a> json::Object<'a, TapeJson> for Container<'a> {
    type Node = Node<'a>;
    type MemberName = &'a str;
    type MembersIter = Inside<'a, Members<'a>>;

    fn len(&self) -> usize {
        self.len as usize
    }

    fn get(&self, key: &Box<str>) -> Option<Node<'a>> {
        self.find(key)
    }

    fn members(&self) -> Self::MembersIter {
        Inside { instance: self.instance, positions: self.instance.tape.members(self.at) }
    }
}

impl<'a> json::Array<'a, TapeJson> for Container<'a> {
    type Node = Node<'a>;
    type ElementsIter = Inside<'a, Elements<'a>>;

    fn len(&self) -> usize {
        self.len as usize
    }

    fn elements(&self) -> Self::ElementsIter {
        Inside { instance: self.instance, positions: self.instance.tape.elements(self.at) }
    }

    fn is_unique(&self) -> bool {
        let values: Vec<Value> = json::Array::elements(self).map(Node::build).collect();
        json::unique::is_unique(&values)
    }
}

/// What is in a container, until the budget is spent.
#[derive(Debug)]
pub(super) struct Inside<'a, I> {
    instance: &'a Instance<'a>,
    positions: I,
}

impl<'a> Iterator for Inside<'a, Elements<'a>> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let at = self.positions.next()?;
        let is_paid = self.instance.spend(self.instance.prices.visit);
        is_paid.then_some(Node::At(self.instance, at))
    }
}

impl<'a> Iterator for Inside<'a, Members<'a>> {
    type Item = (&'a str, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, at) = self.positions.next()?;
        let is_paid = self.instance.spend(self.instance.prices.member(key));
        is_paid.then_some((key, Node::At(self.instance, at)))
    }
}

/// A number as it is written.
#[derive(Debug)]
pub(super) struct Written<'a>(&'a str);

impl json::JsonNumber for Written<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(float(self.0))
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(number(self.0))
    }
}

fn number(text: &str) -> Number {
    let whole =
        text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(float(text))).unwrap_or_else(|| Number::from(0))
}

/// What is beyond the range of `f64` becomes its end, so that comparisons still hold.
fn float(text: &str) -> f64 {
    text.parse().unwrap_or(0.0_f64).clamp(f64::MIN, f64::MAX)
}
