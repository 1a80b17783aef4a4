//! URI templates (RFC 6570, levels 1 to 3): matched against URIs, and expanded into them.

mod decode;
mod expand;
mod expression;
mod matcher;
mod parse;
mod percent;
mod reach;
#[cfg(test)]
mod tests;
mod variables;

use std::fmt;

pub use decode::InvalidVariables;
use expression::Part;
use matcher::Matcher;
pub use parse::InvalidTemplate;
pub(crate) use percent::is_well_formed;
pub use variables::Variables;

/// A URI template, which names many resources at once ("Resources, Resource Templates").
///
/// ```
/// use mcp_server::UriTemplate;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Issue { repo: String, id: u32, comments: Option<bool> }
///
/// let template = UriTemplate::parse("issues://{repo}/{id}{?comments}")?;
/// let variables = template.matches("issues://engine/7?comments=true").expect("it is one");
/// let issue: Issue = variables.decode()?;
/// assert_eq!((issue.repo.as_str(), issue.id, issue.comments), ("engine", 7, Some(true)));
///
/// assert_eq!(template.expand(&variables), "issues://engine/7?comments=true");
/// assert!(template.matches("issues://engine/7/8").is_none());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # What a variable takes
///
/// | written | in the URI | takes | may be absent |
/// |---|---|---|---|
/// | `{x}`, `{x,y}` | `1,2` | what a path segment may hold: no `/`, `?`, `#` | `y` |
/// | `{+x}`, `{+x,y}` | `a/b,c` | anything | `y` |
/// | `{#x,y}` | `#a/b,c` | anything but `#` | both |
/// | `{.x,y}` | `.1.2` | as `{x}` | both |
/// | `{/x,y}` | `/1/2` | as `{x}` | both |
/// | `{;x,y}` | `;x=1;y=2` | as `{x}`, no `;` | both |
/// | `{?x,y}` | `?x=1&y=2` | as `{x}`, and `/`, no `&` | both |
/// | `{&x,y}` | `&x=1&y=2` | as `{?x}` | both |
///
/// - Values are percent-decoded. So a value of `{x}` holds `/` where the URI has `%2F`, and every value may hold
///   `..`: what becomes a path goes through [`Variables::relative_path`].
/// - A variable whose name is not in the URI takes at least one character: `users/{id}` does not match `users/`.
/// - Named variables may come in any order, each once; a name that the template does not have is no match.
/// - Reserved characters that a client left unencoded are accepted in a value, unless the template itself gives them
///   a meaning behind it: `?` and `#` where it has a query or a fragment, `;` and `&` where it has `{;x}` or `{&x}`.
///   In an expression of several variables no value holds the separator.
/// - Where a URI can be read in several ways, an optional `{.x}` or `{/x}` right behind a value is filled rather
///   than skipped, and earlier variables are filled first and take as much as they can: `{name}{.ext}` reads
///   `a.tar.gz` as `a.tar` and `gz`.
/// - Text outside of expressions is compared byte by byte, as [`expand`](Self::expand) writes it.
///
/// # Time
///
/// Matching is at most proportional to the length of the URI times that of the template, whatever they are; both
/// have a ceiling.
///
/// # What is refused
///
/// The modifiers of level 4, `{x*}` and `{x:3}`, and a variable that stands twice: neither can be read back from a URI
/// without guessing. Also named variables followed directly by what could belong to their value, as in `{?x}.json`.
#[derive(Clone)]
pub struct UriTemplate {
    source: String,
    parts: Vec<Part>,
    matcher: Matcher,
}

impl UriTemplate {
    /// 2 KiB: a template is written by hand.
    pub const MAX_LEN: usize = 2 * 1024;
    /// 32 variables: with [`MAX_URI_LEN`](Self::MAX_URI_LEN) it bounds what a match costs, to less than 1 MiB
    /// for its duration.
    pub const MAX_VARIABLES: usize = 32;
    /// 8 KiB: a little over the 8,000 bytes that HTTP recommends every recipient to take.
    pub const MAX_URI_LEN: usize = 8 * 1024;

    /// Parses a template of at most [`MAX_LEN`](Self::MAX_LEN) bytes.
    ///
    /// # Errors
    /// When `template` breaks the grammar of RFC 6570, or is of a kind that [is refused](Self#what-is-refused).
    pub fn parse(template: &str) -> Result<Self, InvalidTemplate> {
        let parts = parse::parts(template)?;
        let matcher = Matcher::compile(&parts);
        Ok(Self { source: template.to_owned(), parts, matcher })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The names of its variables, in the order in which they are written.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(Part::variables)
    }

    /// The variables that make this template into `uri`, percent-decoded; absent ones are left out.
    ///
    /// `None` when there are none; also when `uri` is longer than [`MAX_URI_LEN`](Self::MAX_URI_LEN), holds a
    /// character that URIs cannot hold or an incomplete percent-encoding, or a value is not UTF-8 once decoded.
    ///
    /// Of several templates that match a URI none is better than another: a server asks them in the order of
    /// their registration, and the first one that matches has it.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        if uri.len() > Self::MAX_URI_LEN {
            return None;
        }
        let values = self.matcher.values(uri)?;
        self.variables()
            .zip(values)
            .filter_map(|(name, value)| Some((name, value?)))
            .map(|(name, value)| Some((name.to_owned(), percent::decode(value)?)))
            .collect()
    }

    /// The URI that `variables` make of this template; what it has no variable for is skipped.
    ///
    /// [`matches`](Self::matches) gives the same variables back, unless the URI can be read in another way: empty
    /// values without a name look like absent ones, and `{+x}` leaves reserved characters and percent-encodings
    /// as they are.
    #[must_use]
    pub fn expand(&self, variables: &Variables) -> String {
        expand::expand(&self.parts, variables)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.source).finish()
    }
}
