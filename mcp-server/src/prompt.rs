//! `Prompt`: a handler that makes messages, and what clients are told about it.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_types::{Icon, PromptArgument};
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::completion::{Completers, Completing, IntoCompletion};
use crate::handler::{ErasedHandler, ErasedPrompt, Needs, PromptHandler};
use crate::state::States;

/// A prompt: its handler, and the definition that clients list. Specification: Prompts.
///
/// The handler's type gives its arguments: each field of the `T` of its `Args<T>` is one, described by the field's
/// documentation, required unless it is an `Option` or has a default.
pub struct Prompt {
    pub(crate) definition: mcp_types::Prompt,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) needs: Needs,
    /// Shared values that come before those of the server.
    pub(crate) states: Option<Arc<States>>,
    pub(crate) completers: Completers,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
}

impl Prompt {
    /// A prompt of this name that calls `handler`; see [the handler module](crate::handler) for what that
    /// may be.
    pub fn new<M: 'static, H: PromptHandler<M>>(name: impl Into<String>, handler: H) -> Self {
        let signature = H::signature();
        let arguments = signature.input.as_ref().map(arguments).filter(|list| !list.is_empty());
        Self {
            definition: mcp_types::Prompt { arguments, ..mcp_types::Prompt::new(name) },
            handler: Arc::new(ErasedPrompt(handler, PhantomData)),
            needs: signature.needs,
            states: None,
            completers: Completers::default(),
            #[cfg(feature = "auth")]
            scopes: Required::default(),
        }
    }

    /// A name for people to read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it gives.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Adds an icon for user interfaces.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.get_or_insert_default().push(icon);
        self
    }

    /// Replaces the arguments that the handler's type gave.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = PromptArgument>) -> Self {
        self.definition.arguments = Some(arguments.into_iter().collect());
        self
    }

    /// Sets a key of the definition's `_meta`. A key that breaks the naming rules is left out, with a
    /// warning.
    #[must_use]
    pub fn meta<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        if let Err(error) = self.definition.meta.insert(key, value) {
            tracing::warn!(prompt = self.definition.name, key, %error, "not a _meta key");
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

    /// Suggests values for `argument` while it is typed. Specification: Completion.
    #[must_use]
    pub fn complete<F, Fut, R>(mut self, argument: impl Into<String>, completer: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoCompletion,
    {
        self.completers.insert(argument.into(), completer);
        self
    }

    /// What clients list.
    pub const fn definition(&self) -> &mcp_types::Prompt {
        &self.definition
    }
}

/// The arguments that a schema describes.
fn arguments(schema: &Value) -> Vec<PromptArgument> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|found| found == name));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, property)| PromptArgument {
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            required: Some(is_required(name)),
            ..PromptArgument::new(name)
        })
        .collect()
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.definition.name).finish_non_exhaustive()
    }
}
