//! What a template is made of.

use super::percent::Class;

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text as it stands in the URI: encoded, never empty.
    Literal(String),
    Expression(Expression),
}

/// What stands between braces.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    /// The names of its variables, at least one.
    pub(super) names: Vec<String>,
}

impl Part {
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::Literal(_) => &[],
            Self::Expression(expression) => expression.names.as_slice(),
        };
        names.iter().map(String::as_str)
    }
}

/// How an expression writes its variables (RFC 6570, section 3.2 and Appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `{x}`
    Simple,
    /// `{+x}`
    Reserved,
    /// `{#x}`
    Fragment,
    /// `{.x}`
    Label,
    /// `{/x}`
    Path,
    /// `{;x}`
    Matrix,
    /// `{?x}`
    Query,
    /// `{&x}`
    Continuation,
}

impl Operator {
    /// The operator that `byte` stands for behind a brace.
    pub(super) const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            b'+' => Self::Reserved,
            b'#' => Self::Fragment,
            b'.' => Self::Label,
            b'/' => Self::Path,
            b';' => Self::Matrix,
            b'?' => Self::Query,
            b'&' => Self::Continuation,
            _ => return None,
        })
    }

    /// What stands before the first variable that is present.
    pub(super) const fn lead(self) -> Option<u8> {
        Some(match self {
            Self::Simple | Self::Reserved => return None,
            Self::Fragment => b'#',
            Self::Label => b'.',
            Self::Path => b'/',
            Self::Matrix => b';',
            Self::Query => b'?',
            Self::Continuation => b'&',
        })
    }

    /// What stands before every further one.
    pub(super) const fn separator(self) -> u8 {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => b',',
            Self::Label => b'.',
            Self::Path => b'/',
            Self::Matrix => b';',
            Self::Query | Self::Continuation => b'&',
        }
    }

    /// Whether the names of the variables are written too.
    pub(super) const fn named(self) -> bool {
        matches!(self, Self::Matrix | Self::Query | Self::Continuation)
    }

    /// Whether values are written with their reserved characters as they are.
    pub(super) const fn reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }

    /// What a value may hold in a URI: more than the encoding writes, because not every client encodes.
    ///
    /// Named variables never take their own lead or separator, which lets the matcher read each byte of
    /// theirs once.
    pub(super) const fn takes(self) -> Class {
        match self {
            Self::Simple | Self::Label | Self::Path => Class::SEGMENT,
            Self::Reserved => Class::URI,
            Self::Fragment => Class::URI.without(b'#'),
            Self::Matrix => Class::SEGMENT.without(b';'),
            Self::Query | Self::Continuation => Class::SEGMENT.with(b"/").without(b'&'),
        }
    }
}
