//! Resources: what their handlers are and return.

use std::borrow::Cow;
use std::future::Future;

use mcp_types::{
    CacheHint, ErrorObject, InputRequired, Outcome, ReadResourceResult, ResourceContents,
};

use super::{
    ErasedHandler, Handled, HandlerError, Input, Raw, Reply, Signature, Work, WorkBox, handlers,
};
use crate::context::Context;

/// What a resource is known as, for those who return only its content.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResourceInfo<'a> {
    /// The URI that was asked for.
    pub uri: &'a str,
    /// The media type of the resource or template, where it was given one.
    pub mime_type: Option<&'a str>,
    /// How cacheable the resource or template was declared to be.
    pub cache: CacheHint,
}

/// What the handler of a resource may return: text, bytes, contents, a whole [`ReadResourceResult`], an
/// [`Outcome`] of one, an `Option` whose `None` says that there is no such resource, or a `Result` whose error
/// becomes a [`HandlerError`].
///
/// A whole [`ReadResourceResult`] says itself how cacheable it is; anything else is as cacheable as the resource was
/// [declared](crate::Resource::cache) to be. A result that depends on answers is not cacheable, whatever it says.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    note = "return text, bytes, `ResourceContents`, `ReadResourceResult`, `Outcome<ReadResourceResult>`, or an \
            `Option` or a `Result` of one of these"
)]
pub trait IntoResourceResult {
    /// Turns it into the result of reading the resource, or into the error that answers the request.
    ///
    /// # Errors
    /// The JSON-RPC error that a failed handler comes to.
    fn into_resource_result(
        self,
        info: ResourceInfo<'_>,
    ) -> Result<Outcome<ReadResourceResult>, ErrorObject>;

    #[doc(hidden)]
    fn output_schema() -> Option<serde_json::Value> {
        None
    }
}

type ResourceResult = Result<Outcome<ReadResourceResult>, ErrorObject>;

impl IntoResourceResult for ReadResourceResult {
    fn into_resource_result(self, _: ResourceInfo<'_>) -> ResourceResult {
        Ok(Outcome::Complete(self))
    }
}

impl IntoResourceResult for Outcome<ReadResourceResult> {
    fn into_resource_result(self, _: ResourceInfo<'_>) -> ResourceResult {
        Ok(self)
    }
}

impl IntoResourceResult for InputRequired {
    fn into_resource_result(self, _: ResourceInfo<'_>) -> ResourceResult {
        Ok(Outcome::InputRequired(self))
    }
}

impl IntoResourceResult for Vec<ResourceContents> {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        let CacheHint { ttl_ms, cache_scope } = info.cache;
        let contents = self;
        ReadResourceResult { contents, ttl_ms, cache_scope, ..ReadResourceResult::default() }
            .into_resource_result(info)
    }
}

impl IntoResourceResult for ResourceContents {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        vec![self].into_resource_result(info)
    }
}

impl IntoResourceResult for String {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        let mime_type = info.mime_type.map(str::to_owned);
        ResourceContents { mime_type, ..ResourceContents::text(info.uri, self) }
            .into_resource_result(info)
    }
}

impl IntoResourceResult for &'static str {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        self.to_owned().into_resource_result(info)
    }
}

impl IntoResourceResult for Cow<'static, str> {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        self.into_owned().into_resource_result(info)
    }
}

impl IntoResourceResult for Vec<u8> {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        let mime_type = info.mime_type.map(str::to_owned);
        ResourceContents { mime_type, ..ResourceContents::blob(info.uri, self) }
            .into_resource_result(info)
    }
}

impl<T: IntoResourceResult> IntoResourceResult for Option<T> {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        match self {
            Some(found) => found.into_resource_result(info),
            None => Err(ErrorObject::resource_not_found(info.uri)),
        }
    }
}

impl<T: IntoResourceResult, E: Into<HandlerError>> IntoResourceResult for Result<T, E> {
    fn into_resource_result(self, info: ResourceInfo<'_>) -> ResourceResult {
        match self {
            Ok(result) => result.into_resource_result(info),
            Err(error) => Err(error.into().into_error()),
        }
    }
}

/// A function that can be a resource or a resource template. Implemented for `async` functions and closures of
/// the form that [the module](super) describes; `M` only tells them apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource handler",
    note = "a handler is an async function; its arguments are up to eight that implement `FromContext` and then at \
            most one `Args<T>`, the variables of a template; it returns what implements `IntoResourceResult`"
)]
pub trait ResourceHandler<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn signature() -> Signature;
    #[doc(hidden)]
    fn start(&self, context: &Context, input: Raw<'_>) -> Result<WorkBox, HandlerError>;
}

handlers!(ResourceHandler, IntoResourceResult, work);

fn work<F, R>(context: &Context, future: F) -> WorkBox
where
    F: Future<Output = R> + Send + 'static,
    R: IntoResourceResult,
{
    let context = context.clone();
    WorkBox(Box::pin(async move {
        let result = future.await.into_resource_result(context.resource_info());
        result.map(|outcome| outcome.map(|read| Handled::Resource(context.cacheable(read))))
    }))
}

pub(crate) struct ErasedResource<H, M>(
    pub(crate) H,
    pub(crate) std::marker::PhantomData<fn() -> M>,
);

impl<M: 'static, H: ResourceHandler<M>> ErasedHandler for ErasedResource<H, M> {
    fn start(&self, context: &Context, input: Input<'_>) -> Result<Work, HandlerError> {
        self.0.start(context, Raw(input)).map(|work| work.0)
    }

    fn refuse(&self, error: HandlerError) -> Reply {
        Err(error.into_error())
    }
}
