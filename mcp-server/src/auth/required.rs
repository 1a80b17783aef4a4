//! `Required`: the scopes that a tool, a resource, a template, a prompt or a custom method is for.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mcp_transport::auth::Scopes;
use mcp_transport::json::Object;
use serde::de::DeserializeOwned;

use super::Access;
use crate::error::BuildError;
use crate::method::Method;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::template::Variables;
use crate::tool::Tool;

/// What a request wants to do, as a [function of scopes](Tool::scopes_for) is asked about it. It has passed every check
/// that is made before, but its arguments were not held against a schema yet.
#[derive(Clone, Copy)]
pub struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) arguments: Option<&'a str>,
    pub(crate) variables: Option<&'a Variables>,
    pub(crate) access: Option<&'a Access>,
}

impl<'a> Operation<'a> {
    /// The name of the method, such as `tools/call`.
    pub const fn method(&self) -> &'a str {
        self.method
    }

    /// The name of the tool, prompt or custom method, or the URI of the resource.
    pub const fn target(&self) -> &'a str {
        self.target
    }

    /// The arguments of a tool, or the parameters of a custom method: the JSON text of an object.
    pub const fn arguments(&self) -> Option<&'a str> {
        self.arguments
    }

    /// The argument `name` of a tool, or the member of that name of a custom method's parameters; `None` if it is not
    /// there or is no `T`. What is `None` must not cost fewer scopes than what is there.
    pub fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let object = Object::parse(self.arguments?).ok()?;
        serde_json::from_str(object.get(name)?).ok()
    }

    /// The arguments of a prompt, or the variables of a resource template.
    pub const fn variables(&self) -> Option<&'a Variables> {
        self.variables
    }

    /// Who asks; `None` for an anonymous caller.
    pub const fn access(&self) -> Option<&'a Access> {
        self.access
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither arguments nor a URI: they are the caller's.
        f.debug_struct("Operation").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Scopes that are always needed, and those that depend on the operation.
#[derive(Clone, Default)]
pub(crate) struct Required {
    always: Scopes,
    by_operation: Option<Arc<ByOperation>>,
    /// The first that is none.
    invalid: Option<String>,
}

type ByOperation = dyn Fn(&Operation<'_>) -> Result<Scopes, NoScope> + Send + Sync;

/// A text that is no scope.
#[derive(Debug)]
pub(super) struct NoScope(pub(super) String);

/// The scopes of a function could not be found out.
#[derive(Debug)]
pub(super) struct Failed;

impl Required {
    pub(crate) fn add<S: AsRef<str>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        match parse(scopes) {
            Ok(scopes) => self.always.extend(scopes.iter()),
            Err(NoScope(text)) => self.invalid = Some(text),
        }
    }

    fn add_by<F, I>(&mut self, function: F)
    where
        F: Fn(&Operation<'_>) -> I + Send + Sync + 'static,
        I: IntoIterator<Item: AsRef<str>>,
    {
        self.by_operation = Some(Arc::new(move |operation| parse(function(operation))));
    }

    /// Whether it is nothing, ever.
    pub(super) fn is_empty(&self) -> bool {
        self.by_operation.is_none() && self.always.is_empty()
    }

    pub(super) const fn always(&self) -> &Scopes {
        &self.always
    }

    /// Those that this operation needs besides.
    pub(super) fn of(&self, operation: &Operation<'_>) -> Result<Scopes, Failed> {
        let Some(function) = &self.by_operation else { return Ok(Scopes::default()) };
        match catch_unwind(AssertUnwindSafe(|| function(operation))) {
            Ok(Ok(scopes)) => Ok(scopes),
            Ok(Err(NoScope(_))) => {
                tracing::error!(
                    method = operation.method,
                    "a function of scopes gave what is none"
                );
                Err(Failed)
            }
            Err(panic) => {
                tracing::error!(method = operation.method, "a function of scopes panicked");
                crate::work::dispose(panic);
                Err(Failed)
            }
        }
    }

    /// Whether a server, which is protected or not, can have something `name` that requires this.
    pub(crate) fn check(&self, name: &str, is_protected: bool) -> Result<(), BuildError> {
        if let Some(scope) = &self.invalid {
            return Err(BuildError::Scope(scope.clone()));
        }
        if !is_protected && !self.is_empty() {
            return Err(BuildError::ScopesWithoutAuth(name.to_owned()));
        }
        Ok(())
    }
}

/// Every one of them: a requirement that is dropped silently would be none.
pub(super) fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Scopes, NoScope> {
    let mut scopes = Scopes::default();
    for text in texts {
        scopes.insert(text.as_ref());
        if !scopes.contains(text.as_ref()) {
            return Err(NoScope(text.as_ref().to_owned()));
        }
    }
    Ok(scopes)
}

macro_rules! setters {
    ($($name:ident: $what:literal;)*) => {$(
        impl $name {
            #[doc = concat!("Requires that the token of a caller was granted these scopes, or others that [imply](crate::auth::ResourceServer::implies) them, ")]
            #[doc = concat!("for ", $what, "; and those that were required before.")]
            ///
            /// A request whose token lacks any is answered with 403 and a challenge that names all that the request
            /// needs, one without a token with 401, before a handler or layer sees it. On a server without
            /// [authorization](crate::ServerBuilder::auth) it is an error when that is built. Specification:
            /// Authorization, Scope Challenge Handling.
            #[must_use]
            pub fn scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
                self.scopes.add(scopes);
                self
            }

            /// The scopes that depend on what is asked for, besides those that are [always](Self::scopes) needed. The
            /// function is called for every request and must not block; one that panics, or gives what is no
            /// scope, has the request answered with 500. A second one replaces the first.
            #[must_use]
            pub fn scopes_for<F, I>(mut self, function: F) -> Self
            where
                F: Fn(&crate::auth::Operation<'_>) -> I + Send + Sync + 'static,
                I: IntoIterator<Item: AsRef<str>>,
            {
                self.scopes.add_by(function);
                self
            }
        }
    )*};
}

setters! {
    Tool: "calling it";
    Prompt: "getting it, and completing its arguments";
    Resource: "reading and watching it";
    ResourceTemplate: "reading and watching what fits it, and completing its variables";
    Method: "calling it";
}
