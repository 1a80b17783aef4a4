//! What clients and servers can do beyond the bare protocol. Specification: Overview, `_meta`;
//! Discovery.

use crate::object::open_object;
use crate::{JsonMap, MetaKey, RawJson};

open_object! {
    /// What a client can do for a server, declared in every request. Schema `ClientCapabilities`.
    ///
    /// An empty one declares nothing. Members that are not known are kept in `other`.
    pub struct ClientCapabilities {
        /// Capabilities outside the specification, by name.
        "experimental" => experimental: JsonMap;
        /// It lists its roots. Deprecated by this revision.
        "roots" => roots: JsonMap;
        /// It samples from a model. Deprecated by this revision.
        "sampling" => sampling: SamplingCapability;
        /// It asks the user.
        "elicitation" => elicitation: ElicitationCapability;
        /// The extensions it supports: settings by identifier.
        "extensions" => extensions: JsonMap;
    }
}

open_object! {
    /// What sampling a client supports. Schema `ClientCapabilities`, `sampling`. Deprecated by this
    /// revision.
    pub struct SamplingCapability {
        /// It can include context of MCP servers.
        "context" => context: JsonMap;
        /// The model can use tools.
        "tools" => tools: JsonMap;
    }
}

open_object! {
    /// How a client can ask the user. Empty stands for forms. Specification: Elicitation,
    /// Capabilities.
    pub struct ElicitationCapability {
        /// By a form that the client shows.
        "form" => form: JsonMap;
        /// By a web page that the user visits.
        "url" => url: JsonMap;
    }
}

open_object! {
    /// What a server offers. Schema `ServerCapabilities`.
    ///
    /// Members that are not known are kept in `other`.
    pub struct ServerCapabilities {
        /// Capabilities outside the specification, by name.
        "experimental" => experimental: JsonMap;
        /// It sends log messages. Deprecated by this revision.
        "logging" => logging: JsonMap;
        /// It completes arguments.
        "completions" => completions: JsonMap;
        /// It offers prompts.
        "prompts" => prompts: ListChangedCapability;
        /// It offers resources.
        "resources" => resources: ResourcesCapability;
        /// It offers tools.
        "tools" => tools: ListChangedCapability;
        /// The extensions it supports: settings by identifier.
        "extensions" => extensions: JsonMap;
    }
}

open_object! {
    /// What a server offers with its tools or prompts. Schema `ServerCapabilities`, `tools` and
    /// `prompts`.
    pub struct ListChangedCapability {
        /// It notifies of changes to the list.
        "listChanged" => list_changed: bool;
    }
}

open_object! {
    /// What a server offers with its resources. Schema `ServerCapabilities`, `resources`.
    pub struct ResourcesCapability {
        /// It notifies of changes to single resources.
        "subscribe" => subscribe: bool;
        /// It notifies of changes to the list.
        "listChanged" => list_changed: bool;
    }
}

impl ClientCapabilities {
    /// Whether forms can be shown to the user: declared, or elicitation declared as `{}`.
    pub fn supports_form(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.is_empty())
    }

    /// Whether the user can be sent to a web page.
    pub fn supports_url(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.url.is_some())
    }

    /// What of `required` is not declared here, in a form fit for the error -32021; `None` when
    /// nothing is missing.
    ///
    /// A capability counts as declared by its name; the settings of extensions are not compared.
    pub fn missing(&self, required: &Self) -> Option<Self> {
        let missing = Self {
            experimental: missing_keys(self.experimental.as_ref(), required.experimental.as_ref()),
            roots: required.roots.clone().filter(|_| self.roots.is_none()),
            sampling: self.missing_sampling(required),
            elicitation: self.missing_elicitation(required),
            extensions: missing_keys(self.extensions.as_ref(), required.extensions.as_ref()),
            other: missing_keys(Some(&self.other), Some(&required.other)).unwrap_or_default(),
        };
        (!missing.is_empty()).then_some(missing)
    }

    fn missing_sampling(&self, required: &Self) -> Option<SamplingCapability> {
        let required = required.sampling.as_ref()?;
        let Some(declared) = &self.sampling else {
            return Some(required.clone());
        };
        let missing = SamplingCapability {
            context: required.context.clone().filter(|_| declared.context.is_none()),
            tools: required.tools.clone().filter(|_| declared.tools.is_none()),
            other: missing_keys(Some(&declared.other), Some(&required.other)).unwrap_or_default(),
        };
        (!missing.is_empty()).then_some(missing)
    }

    fn missing_elicitation(&self, required: &Self) -> Option<ElicitationCapability> {
        let elicitation = required.elicitation.as_ref()?;
        if self.elicitation.is_none() {
            return Some(elicitation.clone());
        }
        let form = required.supports_form() && !self.supports_form();
        let url = required.supports_url() && !self.supports_url();
        (form || url).then(|| ElicitationCapability {
            form: form.then(JsonMap::new),
            url: url.then(JsonMap::new),
            other: JsonMap::new(),
        })
    }
}

/// The members of `required` whose keys are not in `declared`; `None` when there are none.
fn missing_keys(declared: Option<&JsonMap>, required: Option<&JsonMap>) -> Option<JsonMap> {
    let lacks = |key: &str| declared.is_none_or(|declared| !declared.contains_key(key));
    let missing: JsonMap = required?
        .iter()
        .filter(|(key, _)| lacks(key))
        .map(|(key, value)| (key, value.clone()))
        .collect();
    (!missing.is_empty()).then_some(missing)
}

/// An identifier that cannot name an extension: it breaks the rules for `_meta` keys, or has no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an extension's identifier is a prefix, a slash and a name, as in `com.example/feature`")]
pub struct InvalidExtensionId;

macro_rules! extensions {
    ($($name:ident),+) => {$(
        impl $name {
            /// Whether the extension `id` is declared.
            pub fn has_extension(&self, id: &str) -> bool {
                self.extension(id).is_some()
            }

            /// The settings of the extension `id`, if it is declared.
            pub fn extension(&self, id: &str) -> Option<&RawJson> {
                self.extensions.as_ref()?.get(id)
            }

            /// Declares the extension `id` with `settings`, which may be empty.
            ///
            /// # Errors
            /// When `id` does not follow the rules for `_meta` keys with a prefix (schema, `extensions`).
            pub fn declare_extension(
                &mut self,
                id: &str,
                settings: &JsonMap,
            ) -> Result<(), InvalidExtensionId> {
                match MetaKey::new(id) {
                    Ok(key) if key.prefix().is_some() => {}
                    _ => return Err(InvalidExtensionId),
                }
                self.extensions.get_or_insert_default().insert(id, settings.into());
                Ok(())
            }
        }
    )+};
}
extensions!(ClientCapabilities, ServerCapabilities);

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientCapabilities {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_modes_of_elicitation() {
        let table = [
            ("{}", false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
            (r#"{"elicitation":{"voice":{}}}"#, false, false),
        ];
        for (text, form, url) in table {
            assert_eq!(client(text).supports_form(), form, "{text}");
            assert_eq!(client(text).supports_url(), url, "{text}");
        }
    }

    #[test]
    fn what_is_missing() {
        // (declared, required, missing)
        let table = [
            ("{}", "{}", "{}"),
            ("{}", r#"{"sampling":{}}"#, r#"{"sampling":{}}"#),
            (r#"{"sampling":{}}"#, r#"{"sampling":{}}"#, "{}"),
            (r#"{"sampling":{}}"#, r#"{"sampling":{"tools":{}}}"#, r#"{"sampling":{"tools":{}}}"#),
            (r#"{"sampling":{"tools":{}}}"#, r#"{"sampling":{"tools":{}}}"#, "{}"),
            ("{}", r#"{"elicitation":{}}"#, r#"{"elicitation":{}}"#),
            (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#, "{}"),
            (r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{}}"#, "{}"),
            (
                r#"{"elicitation":{"url":{}}}"#,
                r#"{"elicitation":{}}"#,
                r#"{"elicitation":{"form":{}}}"#,
            ),
            (
                r#"{"elicitation":{}}"#,
                r#"{"elicitation":{"form":{},"url":{}}}"#,
                r#"{"elicitation":{"url":{}}}"#,
            ),
            (r#"{"roots":{"listChanged":true}}"#, r#"{"roots":{}}"#, "{}"),
            (
                r#"{"extensions":{"a.b/c":{"n":1}}}"#,
                r#"{"extensions":{"a.b/c":{},"a.b/d":{}}}"#,
                r#"{"extensions":{"a.b/d":{}}}"#,
            ),
            (r#"{"x":{}}"#, r#"{"x":{},"y":{}}"#, r#"{"y":{}}"#),
        ];
        for (declared, required, missing) in table {
            let found = client(declared).missing(&client(required));
            let text = serde_json::to_string(&found.unwrap_or_default()).unwrap();
            assert_eq!(text, missing, "{declared} lacks {required}");
        }
    }

    #[test]
    fn extensions_have_a_prefix() {
        let mut server = ServerCapabilities::default();
        for id in ["tasks", "", "/x", "a b/c", "com.example/a/b"] {
            assert_eq!(server.declare_extension(id, &JsonMap::new()), Err(InvalidExtensionId));
        }
        server.declare_extension("com.example/x", &JsonMap::new()).unwrap();
        assert!(server.has_extension("com.example/x"));
        assert!(!server.has_extension("com.example/y"));
        assert_eq!(
            serde_json::to_string(&server).unwrap(),
            r#"{"extensions":{"com.example/x":{}}}"#
        );
    }

    #[test]
    fn unknown_members_are_kept_and_false_stays() {
        let text = r#"{"tools":{"listChanged":false,"x":1},"tasks":{"list":{}}}"#;
        let server: ServerCapabilities = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&server).unwrap(), text);
    }
}
