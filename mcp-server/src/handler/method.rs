//! Custom methods: what their handlers are and return.

use std::future::Future;

use mcp_types::{EmptyResult, ErrorObject, JsonMap, Outcome, RawJson, ResultMeta};
use serde::Serialize;

use super::{
    Args, ErasedHandler, Handled, HandlerError, Input, NoArgs, Raw, Reply, Signature, Structured,
    Work, WorkBox, handlers,
};
use crate::context::Context;

/// What the handler of a custom method may return: a [`Structured`] value, nothing, or a `Result` of one of these
/// whose error becomes a [`HandlerError`].
///
/// The value has to be an object in JSON. Asking the client is not among it: a server must not ask in answer to a
/// method that is not the specification's (Multi Round-Trip Requests, Supported Requests).
#[diagnostic::on_unimplemented(
    message = "a custom method cannot return `{Self}`",
    note = "return `Structured<T>`, `()`, or a `Result` of one of these whose error converts into `HandlerError`"
)]
pub trait IntoMethodResult {
    /// What the value is on the wire; [`Method::of`](crate::Method::of) holds it against the result of a request.
    type Result;

    /// Turns it into the JSON of the result, or into the error that answers the request.
    ///
    /// `resultType` and the identity of the server are added to the JSON, which must be an object.
    ///
    /// # Errors
    /// The JSON-RPC error that a failed handler comes to.
    fn into_method_result(self) -> Result<RawJson, ErrorObject>;

    #[doc(hidden)]
    fn output_schema() -> Option<serde_json::Value> {
        None
    }
}

impl<T: Serialize> IntoMethodResult for Structured<T> {
    type Result = T;

    fn into_method_result(self) -> Result<RawJson, ErrorObject> {
        RawJson::new(&self.0).map_err(|error| HandlerError::from(error).into_error())
    }
}

impl IntoMethodResult for () {
    type Result = EmptyResult;

    fn into_method_result(self) -> Result<RawJson, ErrorObject> {
        Ok((&JsonMap::new()).into())
    }
}

impl<T: IntoMethodResult, E: Into<HandlerError>> IntoMethodResult for Result<T, E> {
    type Result = T::Result;

    fn into_method_result(self) -> Result<RawJson, ErrorObject> {
        self.map_err(|error| error.into().into_error())?.into_method_result()
    }
}

/// A function that can be a custom method. Implemented for `async` functions and closures of the form that
/// [the module](super) describes; `M` only tells them apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of a custom method",
    note = "a handler is an async function; its arguments are up to eight that implement `FromContext` and then at \
            most one `Args<T>`, the parameters; it returns what implements `IntoMethodResult`",
    note = "`T` of `Args<T>` must be `DeserializeOwned + Send + 'static`"
)]
pub trait MethodHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    type Taken;
    #[doc(hidden)]
    type Returned: IntoMethodResult;
    #[doc(hidden)]
    fn signature() -> Signature;
    #[doc(hidden)]
    fn start(&self, context: &Context, input: Raw<'_>) -> Result<WorkBox, HandlerError>;
}

handlers!(MethodHandler, IntoMethodResult, work, types);

/// What a handler may take of parameters `P`: them, or nothing.
///
/// ```
/// use mcp_server::types::{CompleteParams, CompleteResult, request::Complete};
/// use mcp_server::{Args, Method, Structured};
///
/// async fn complete(_: Args<CompleteParams>) -> Structured<CompleteResult> { Structured(Default::default()) }
/// Method::of::<Complete, _>(complete);
/// ```
///
/// ```compile_fail
/// # use mcp_server::types::{CompleteResult, request::Complete};
/// # use mcp_server::{Args, Method, Structured};
/// async fn complete(_: Args<String>) -> Structured<CompleteResult> { Structured(Default::default()) }
/// Method::of::<Complete, _>(complete);
/// ```
///
/// ```compile_fail
/// # use mcp_server::types::{CompleteParams, request::Complete};
/// # use mcp_server::{Args, Method, Structured};
/// async fn complete(_: Args<CompleteParams>) -> Structured<String> { Structured(Default::default()) }
/// Method::of::<Complete, _>(complete);
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the handler takes other parameters than its request has",
    note = "the request's are `{P}`: take `Args<{P}>`, or none"
)]
pub trait Takes<P> {}

impl<P> Takes<P> for Args<P> {}

impl<P> Takes<P> for NoArgs {}

fn work<F, R>(_: &Context, future: F) -> WorkBox
where
    F: Future<Output = R> + Send + 'static,
    R: IntoMethodResult,
{
    WorkBox(Box::pin(async move {
        let result = future.await.into_method_result().and_then(|json| MethodResult::read(&json));
        result.map(|result| Outcome::Complete(Handled::Method(result)))
    }))
}

pub(crate) struct ErasedMethod<H, M>(pub(crate) H, pub(crate) std::marker::PhantomData<fn() -> M>);

impl<M: 'static, H: MethodHandler<M>> ErasedHandler for ErasedMethod<H, M> {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError> {
        self.0.start(context, Raw(input)).map(|work| work.0)
    }

    fn refuse(&self, error: HandlerError) -> Reply {
        Err(error.into_error())
    }
}

/// The result of a custom method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MethodResult {
    #[serde(rename = "_meta", skip_serializing_if = "ResultMeta::is_empty")]
    pub(crate) meta: ResultMeta,
    #[serde(flatten)]
    members: JsonMap,
}

impl MethodResult {
    /// Reads what a handler returned, which may carry a `_meta` and, where it was passed through, a `resultType`.
    fn read(json: &RawJson) -> Result<Self, ErrorObject> {
        let Ok(Outcome::Complete(mut members)) = json.decode::<Outcome<JsonMap>>() else {
            return Err(unusable("it is no object, or not a complete result"));
        };
        // Whoever writes the outcome writes it again.
        members.remove("resultType");
        let meta = members.remove("_meta").map(|meta| meta.decode()).transpose();
        match meta {
            Ok(meta) => Ok(Self { meta: meta.unwrap_or_default(), members }),
            Err(_) => Err(unusable("its _meta is none")),
        }
    }
}

#[cold]
fn unusable(why: &str) -> ErrorObject {
    tracing::error!(why, "what the handler of a custom method returned cannot be sent");
    ErrorObject::internal_error("The result could not be encoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_result() {
        let table = [
            ("{}", Some("{}")),
            (r#"{"a":[1.0]}"#, Some(r#"{"a":[1.0]}"#)),
            (r#"{"resultType":"complete","a":1}"#, Some(r#"{"a":1}"#)),
            (
                r#"{"a":1,"_meta":{"com.example/b":2}}"#,
                Some(r#"{"_meta":{"com.example/b":2},"a":1}"#),
            ),
            (r#"{"_meta":{}}"#, Some("{}")),
            (r#"{"_meta":7}"#, None),
            (r#"{"resultType":"task"}"#, None),
            (r#"{"resultType":"input_required","requestState":"s"}"#, None),
            (r#"{"a":1,"a":2}"#, None),
            ("[]", None),
            ("null", None),
            ("\"text\"", None),
        ];
        for (returned, sent) in table {
            let read = MethodResult::read(&RawJson::from_text(returned).unwrap());
            let text = read.ok().map(|result| serde_json::to_string(&result).unwrap());
            assert_eq!(text.as_deref(), sent, "{returned}");
        }
    }
}
