//! What a handler can take before its arguments.

use std::sync::Arc;

use mcp_types::{InputResponses, RequestId, RequestMeta, RequestState, TraceContext};

use super::HandlerError;
#[cfg(feature = "asking")]
use crate::ask::InvalidForm;
use crate::context::{Context, Log, Progress};
use crate::state::StateType;
use crate::{Caller, PeerAddr, Server};

/// A context argument of a handler, made from the request it serves.
///
/// Implement it for what your handlers keep asking for, a tenant or a transaction:
///
/// ```
/// use mcp_server::{Context, FromContext, HandlerError};
///
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, HandlerError> {
///         let tenant = context.headers().get("x-tenant").and_then(|value| value.to_str().ok());
///         tenant.map(|name| Self(name.to_owned())).ok_or_else(|| HandlerError::new("Which tenant?"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no context argument of a handler",
    note = "take `Context`, `Progress`, `Log`, `Arc<State>`, `Extension<T>`, `Option<Caller>`, `RequestId`, or \
            implement `FromContext`; `Args<T>` comes last"
)]
pub trait FromContext: Sized + Send + 'static {
    /// Takes it from the request.
    ///
    /// # Errors
    /// What the model is told when it cannot be had; the handler is not called then.
    fn from_context(context: &Context) -> Result<Self, HandlerError>;

    /// Says, when the tool is made, what the server has to provide.
    fn needs(needs: &mut Needs) {
        let _ = needs;
    }
}

/// What the context arguments of a handler need of the server.
#[derive(Debug, Default)]
pub struct Needs {
    pub(crate) states: Vec<StateType>,
    pub(crate) logging: bool,
    /// Whether the handler asks, and its answers are looked after here.
    #[cfg(feature = "asking")]
    pub(crate) asks: bool,
    /// The first form that it asks with and that cannot be one.
    #[cfg(feature = "asking")]
    pub(crate) invalid_form: Option<InvalidForm>,
    /// Whether the handler looks after answers itself.
    pub(crate) answers: bool,
}

impl Needs {
    /// A shared value of type `T`; a server without one is not built.
    pub fn state<T: Send + Sync + 'static>(&mut self) {
        self.states.push(StateType::of::<T>());
    }

    /// That `T` can be asked for by a form; otherwise a server with such a handler is not built.
    #[cfg(feature = "asking")]
    pub fn form<T: schemars::JsonSchema>(&mut self) {
        if let Err(error) = crate::ask::assert_form::<T>() {
            self.invalid_form.get_or_insert(error);
        }
    }

    /// That the server declares the logging capability.
    pub const fn logging(&mut self) {
        self.logging = true;
    }

    /// Whether the handler wants something of the client that takes another round.
    pub(crate) const fn asks_client(&self) -> bool {
        #[cfg(feature = "asking")]
        if self.asks {
            return true;
        }
        self.answers
    }
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.clone())
    }

    fn needs(needs: &mut Needs) {
        needs.logging();
    }
}

impl FromContext for Progress {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.progress())
    }
}

impl FromContext for Log {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.log())
    }

    fn needs(needs: &mut Needs) {
        needs.logging();
    }
}

impl FromContext for RequestId {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.request_id().clone())
    }
}

impl FromContext for RequestMeta {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.meta().clone())
    }
}

/// See [`Context::trace_context`].
impl FromContext for TraceContext {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.trace_context())
    }
}

impl FromContext for Option<Caller> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.caller().cloned())
    }
}

impl FromContext for Option<PeerAddr> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.peer_addr().map(PeerAddr))
    }
}

/// The server itself, to [edit](Server::edit) what it offers.
impl FromContext for Server {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.server())
    }
}

/// The URI of the resource that is read; empty in the handler of anything else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceUri(pub String);

impl FromContext for ResourceUri {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(Self(context.resource_info().uri.to_owned()))
    }
}

/// What a client brought back from an earlier round, as it came, for handlers that return
/// [`InputRequired`](mcp_types::InputRequired) by hand.
///
/// Both are the client's word: a state that decides anything has to be protected by whoever made it. Handlers that
/// take an `Ask` as well get nothing here. Specification: Multi Round-Trip Requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Answers {
    /// Answers by the keys of their questions.
    pub responses: InputResponses,
    /// The state that was sent along with the questions.
    pub state: Option<RequestState>,
}

impl FromContext for Answers {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.answers().cloned().unwrap_or_default())
    }

    fn needs(needs: &mut Needs) {
        needs.answers = true;
    }
}

/// The shared value of type `T` that [`ServerBuilder::state`](crate::ServerBuilder::state) was given.
impl<T: Send + Sync + 'static> FromContext for Arc<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        // Building the server checked it; a handler that hides what it needs ends here.
        context.state().ok_or_else(|| {
            tracing::error!(state = std::any::type_name::<T>(), "no such shared value");
            HandlerError::generic()
        })
    }

    fn needs(needs: &mut Needs) {
        needs.state::<T>();
    }
}

/// A value of type `T` among the extensions of the HTTP request, put there by a layer.
///
/// `Option<Extension<T>>` is `None` without one; `Extension<T>` alone is a failure of the tool then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> FromContext for Extension<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        context.extensions().get().cloned().map(Self).ok_or_else(|| {
            tracing::error!(extension = std::any::type_name::<T>(), "no such request extension");
            HandlerError::generic()
        })
    }
}

impl<T: Clone + Send + Sync + 'static> FromContext for Option<Extension<T>> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.extensions().get().cloned().map(Extension))
    }
}
