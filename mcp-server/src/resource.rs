//! `Resource` and `ResourceTemplate`: what can be read, and what clients are told about it.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use mcp_types::{Annotations, CacheHint, CacheScope, Icon};
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::completion::{Completers, Completing, IntoCompletion};
use crate::handler::{ErasedHandler, ErasedResource, Needs, ResourceHandler};
use crate::state::States;
use crate::template::is_well_formed;

/// A resource: its URI, the handler that reads it, and the definition that clients list. Specification:
/// Resources.
pub struct Resource {
    pub(crate) definition: mcp_types::Resource,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) needs: Needs,
    /// Shared values that come before those of the server.
    pub(crate) states: Option<Arc<States>>,
    /// The variables that the handler cannot do without.
    pub(crate) variables: Vec<String>,
    pub(crate) cache: CacheHint,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
}

/// Resources whose URIs follow a template, the handler that reads them, and the definition that clients list.
///
/// The handler's `Args<T>` are the variables of the template. The template is an RFC 6570 one of levels 1 to 3,
/// [matched](crate::UriTemplate::matches) in the order of registration after the resources of fixed URIs.
pub struct ResourceTemplate {
    pub(crate) definition: mcp_types::ResourceTemplate,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) needs: Needs,
    /// Shared values that come before those of the server.
    pub(crate) states: Option<Arc<States>>,
    /// The variables that the handler cannot do without.
    pub(crate) variables: Vec<String>,
    pub(crate) cache: CacheHint,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
    pub(crate) completers: Completers,
}

impl Resource {
    /// The resource at `uri`, read by `handler`; see [the handler module](crate::handler) for what that may
    /// be.
    pub fn new<M: 'static, H: ResourceHandler<M>>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: H,
    ) -> Self {
        let signature = H::signature();
        Self {
            definition: mcp_types::Resource::new(uri, name),
            handler: Arc::new(ErasedResource(handler, PhantomData)),
            needs: signature.needs,
            states: None,
            variables: required(signature.input.as_ref()),
            cache: UNHINTED,
            #[cfg(feature = "auth")]
            scopes: Required::default(),
        }
    }

    /// A resource that always has this text.
    pub fn text(
        uri: impl Into<String>,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        let text = text.into();
        let size = u64::try_from(text.len()).ok();
        let mut resource = Self::new(uri, name, move || std::future::ready(text.to_string()));
        resource.definition.size = size;
        resource
    }

    /// A resource that always has these bytes.
    pub fn binary(
        uri: impl Into<String>,
        name: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Self {
        let bytes = bytes.into();
        let size = u64::try_from(bytes.len()).ok();
        let mut resource = Self::new(uri, name, move || std::future::ready(bytes.to_vec()));
        resource.definition.size = size;
        resource
    }

    /// How many bytes it has, before any encoding.
    #[must_use]
    pub const fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }

    /// What clients list.
    pub const fn definition(&self) -> &mcp_types::Resource {
        &self.definition
    }
}

impl ResourceTemplate {
    /// The resources that fit `template`, read by `handler`. A template that is none, or that lacks a variable which
    /// the handler requires, is an error when the server is built.
    pub fn new<M: 'static, H: ResourceHandler<M>>(
        template: impl Into<String>,
        name: impl Into<String>,
        handler: H,
    ) -> Self {
        let signature = H::signature();
        Self {
            definition: mcp_types::ResourceTemplate::new(template, name),
            handler: Arc::new(ErasedResource(handler, PhantomData)),
            needs: signature.needs,
            states: None,
            variables: required(signature.input.as_ref()),
            cache: UNHINTED,
            #[cfg(feature = "auth")]
            scopes: Required::default(),
            completers: Completers::default(),
        }
    }

    /// Suggests values for `variable` while it is typed. Specification: Completion.
    #[must_use]
    pub fn complete<F, Fut, R>(mut self, variable: impl Into<String>, completer: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoCompletion,
    {
        self.completers.insert(variable.into(), completer);
        self
    }

    /// What clients list.
    pub const fn definition(&self) -> &mcp_types::ResourceTemplate {
        &self.definition
    }
}

macro_rules! setters {
    ($name:ident, $key:ident) => {
        impl $name {
            /// A name for people to read.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.definition.title = Some(title.into());
                self
            }

            /// What is in it.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.definition.description = Some(description.into());
                self
            }

            /// The media type of what is read, where the handler gives no other.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.definition.mime_type = Some(mime_type.into());
                self
            }

            /// For whom it is, how important, and when it changed.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.definition.annotations = Some(annotations);
                self
            }

            /// Adds an icon for user interfaces.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.definition.icons.get_or_insert_default().push(icon);
                self
            }

            /// Sets a key of the definition's `_meta`. A key that breaks the naming rules is left out, with a
            /// warning.
            #[must_use]
            pub fn meta<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
                if let Err(error) = self.definition.meta.insert(key, value) {
                    tracing::warn!(uri = self.definition.$key, key, %error, "not a _meta key");
                }
                self
            }

            /// Says that the handler asks the user for a `T` by [`Ask::form`](crate::Ask::form), so that a `T` which no form
            /// can have is an error when the server is built, not when somebody is to be asked.
            #[cfg(feature = "asking")]
            #[must_use]
            pub fn asks<T: schemars::JsonSchema>(mut self) -> Self {
                self.needs.form::<T>();
                self
            }

            /// How long clients may take what they read for fresh, and whether caches may share it among callers.
            /// Default is no time, and private. A handler that returns a whole
            /// [`ReadResourceResult`](mcp_types::ReadResourceResult) says it there instead. Either way it is private on a
            /// server where something may be [hidden](crate::ServerBuilder::visible), and fresh for no time where it
            /// depends on what a client was asked. Specification: Caching.
            #[must_use]
            pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
                let ttl_ms = ttl.as_millis().try_into().unwrap_or(u64::MAX);
                self.cache = CacheHint { ttl_ms, cache_scope: scope };
                self
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("uri", &self.definition.$key)
                    .finish_non_exhaustive()
            }
        }
    };
}
setters!(Resource, uri);
setters!(ResourceTemplate, uri_template);

/// The members that a schema requires.
fn required(schema: Option<&Value>) -> Vec<String> {
    let names = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Private and fresh for no time: what is read for one caller is not for another.
pub(crate) const UNHINTED: CacheHint = CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private };

/// Whether `text` may be a URI: a scheme, a colon, and nothing behind it that no URI holds. RFC 3986, sections 2 and 3.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(scheme_byte)
        && !rest.is_empty()
        && is_well_formed(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_uri() {
        let table = [
            ("file:///a", true),
            ("test://template/123/data", true),
            ("urn:isbn:1", true),
            ("a+b-c.9:x", true),
            ("https://h/%20?q=1#f", true),
            ("", false),
            ("not a uri", false),
            ("/a", false),
            (":a", false),
            ("1a:b", false),
            ("a:", false),
            ("a:b c", false),
            ("a:ä", false),
            ("a:{b}", false),
            ("a:\n", false),
            ("a:%", false),
            ("a:%2", false),
            ("a:%zz", false),
            ("a:%+1", false),
        ];
        for (text, is) in table {
            assert_eq!(is_uri(text), is, "{text:?}");
        }
    }
}
