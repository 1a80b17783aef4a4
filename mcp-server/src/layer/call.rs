//! `Call`: what layers see of a request.

use std::fmt;

use http::Extensions;
use tracing::Span;

use super::{CallFuture, Next};
use crate::caller::Caller;
use crate::context::Context;
use crate::permit::SharedPermit;
use crate::template::Variables;
use crate::work::{Given, Working};

/// A request that has passed the checks, on its way to its handler through the [layers](super).
///
/// A clone can be called as well, so that layers can try again; the handler then runs anew, with the same progress and
/// the same reply ahead of it. Handlers that [ask](crate::Ask) are called one after the other: their questions are
/// those of one round.
#[derive(Clone)]
pub struct Call {
    context: Context,
    given: Given<'static>,
    span: Span,
    /// The exchange's, where the handler outlives that.
    permit: Option<SharedPermit>,
}

impl Call {
    pub(crate) fn new(
        context: Context,
        given: Given<'_>,
        span: Span,
        permit: Option<SharedPermit>,
    ) -> Self {
        Self { context, given: given.into_owned(), span, permit }
    }

    /// The name of the method: `tools/call`, `prompts/get`, `resources/read`, `completion/complete`, or that of a
    /// [custom one](crate::Method).
    pub fn method(&self) -> &str {
        self.context.subject().method()
    }

    /// The name of the tool, prompt or custom method, or the URI of the resource; empty for a completion.
    pub fn target(&self) -> &str {
        self.context.target()
    }

    /// The authenticated caller, where there is one.
    pub fn caller(&self) -> Option<&Caller> {
        self.context.caller()
    }

    /// The request as the handler will see it: headers, extensions, peer, `_meta`, progress.
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The arguments of a tool, or the parameters of a custom method: the JSON text of an object that was not held
    /// against a schema yet. `None` for everything else.
    pub fn arguments(&self) -> Option<&str> {
        match &self.given {
            Given::Json(json) | Given::Params(json) => Some(json),
            Given::Texts(_) | Given::Typed { .. } => None,
        }
    }

    /// The arguments of a prompt, the variables of a resource template, or the arguments that are settled already where
    /// another is completed; `None` for a tool and a custom method.
    pub const fn variables(&self) -> Option<&Variables> {
        match &self.given {
            Given::Json(_) | Given::Params(_) => None,
            Given::Texts(variables) | Given::Typed { settled: variables, .. } => Some(variables),
        }
    }

    /// The extensions of the request, to be changed: the layers inside and the handler see what was put there, as
    /// [`Extension<T>`](crate::Extension) and in their [`Context`].
    ///
    /// The caller of the request stays who it was.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        self.context.extensions_mut()
    }

    /// The layers of the tool itself.
    pub(super) fn own_layers(&self) -> Option<Next> {
        self.context.subject().tool()?.layers.clone()
    }

    /// The call without layers.
    pub(super) fn handle(self) -> CallFuture {
        let Self { context, given, span, permit } = self;
        context.restart_round();
        let mut work = Working::handle(&context, given, &span, permit);
        Box::pin(std::future::poll_fn(move |cx| work.poll_outcome(cx).map(Ok)))
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither arguments nor a URI: they are the caller's.
        f.debug_struct("Call")
            .field("method", &self.method())
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}
