//! The requirement table: every normative statement of the specification, in our own words.

mod table;

use serde::Deserialize;

pub(crate) use table::Table;

/// One statement of the specification.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    pub(crate) id: String,
    pub(crate) level: Level,
    /// The anchor of the heading under which it stands.
    pub(crate) section: String,
    /// Other places that say the same, as pages with an anchor.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    pub(crate) side: Side,
    pub(crate) text: String,
    /// The checks that rest on it.
    #[serde(default)]
    pub(crate) checks: Vec<String>,
    /// Why no check can.
    #[serde(default)]
    pub(crate) unobservable: Option<String>,
    /// The page on which it stands.
    #[serde(skip)]
    pub(crate) page: String,
}

/// How strong a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Level {
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "MUST")]
    Must,
}

impl Level {
    pub(crate) const ALL: [Self; 4] = [Self::Must, Self::MustNot, Self::Should, Self::ShouldNot];

    /// Whether it leaves no choice.
    pub(crate) const fn is_must(self) -> bool {
        matches!(self, Self::Must | Self::MustNot)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
        }
    }
}

/// Who has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Client,
    Server,
    Either,
    /// Somebody who is not tested.
    Other,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Either => "either",
            Self::Other => "other",
        }
    }
}

impl Requirement {
    /// Where it stands: on the specification's own site, or in the repository of its extension.
    pub(crate) fn url(&self) -> String {
        let drafts = "https://github.com/modelcontextprotocol";
        let at = match self.page.strip_prefix("extensions/") {
            Some("tasks") => format!("{drafts}/ext-tasks/blob/main/specification/draft/tasks.md"),
            Some("client-credentials") => {
                format!(
                    "{drafts}/ext-auth/blob/main/specification/draft/oauth-client-credentials.mdx"
                )
            }
            Some(page) => format!("{drafts}/ext-auth/blob/main/specification/draft/{page}.mdx"),
            None => {
                format!("https://modelcontextprotocol.io/specification/2026-07-28/{}", self.page)
            }
        };
        format!("{at}#{}", self.section)
    }
}
