//! `Handlers`: who answers what, and how an answer is made fit to be sent.

use std::sync::Arc;

use mcp_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams,
    ElicitParams, ElicitResult, ElicitUrlParams, ElicitationSchema, InputRequest, InputRequests,
    InputResponses, JsonMap, ListRootsResult, RawJson, Root,
};
use serde::Serialize;

use super::{InputHandler, IntoAnswer, rules};
use crate::error::BoxError;
use crate::future::{BoxFuture, try_join_all};

type Handler<P, T> = Box<dyn Fn(P) -> BoxFuture<'static, Result<T, BoxError>> + Send + Sync>;

/// A function for each kind of input, where there is one.
#[derive(Default)]
pub(crate) struct Handlers {
    form: Option<Handler<ElicitFormParams, ElicitResult>>,
    url: Option<Handler<ElicitUrlParams, ElicitResult>>,
    sample: Option<Handler<CreateMessageParams, CreateMessageResult>>,
    roots: Option<Handler<(), Vec<Root>>>,
}

/// An answer on its way: the key of the request and what is to be sent under it.
type Answering<'a> = BoxFuture<'a, Result<(Box<str>, RawJson), BoxError>>;

impl Handlers {
    pub(crate) fn on_form<F, Fut>(&mut self, handler: F)
    where
        F: Fn(ElicitFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ElicitResult>> + Send + 'static,
    {
        self.form = Some(boxed(handler));
    }

    pub(crate) fn on_url<F, Fut>(&mut self, handler: F)
    where
        F: Fn(ElicitUrlParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ElicitResult>> + Send + 'static,
    {
        self.url = Some(boxed(handler));
    }

    pub(crate) fn on_sample<F, Fut>(&mut self, handler: F)
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<CreateMessageResult>> + Send + 'static,
    {
        self.sample = Some(boxed(handler));
    }

    pub(crate) fn on_roots<F, Fut>(&mut self, handler: F)
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Vec<Root>>> + Send + 'static,
    {
        self.roots = Some(boxed(move |()| handler()));
    }

    /// Takes from `handler` what `declared` says of it.
    pub(crate) fn take<H: InputHandler>(&mut self, handler: H, declared: &ClientCapabilities) {
        let handler = Arc::new(handler);
        if declared.supports_form() {
            let handler = Arc::clone(&handler);
            self.on_form(move |form| {
                let handler = Arc::clone(&handler);
                async move { handler.elicit(form).await }
            });
        }
        if declared.supports_url() {
            let handler = Arc::clone(&handler);
            self.on_url(move |page| {
                let handler = Arc::clone(&handler);
                async move { handler.elicit_url(page).await }
            });
        }
        if declared.sampling.is_some() {
            let handler = Arc::clone(&handler);
            self.on_sample(move |params| {
                let handler = Arc::clone(&handler);
                async move { handler.sample(params).await }
            });
        }
        if declared.roots.is_some() {
            self.on_roots(move || {
                let handler = Arc::clone(&handler);
                async move { handler.roots().await }
            });
        }
    }

    /// Adds what there are functions for.
    pub(crate) fn declare(&self, capabilities: &mut ClientCapabilities) {
        // Declared as `{}` it stands for forms, which has to be said once `url` stands beside it.
        if self.form.is_some() || capabilities.supports_form() {
            let elicitation = capabilities.elicitation.get_or_insert_default();
            elicitation.form.get_or_insert_default();
        }
        if self.url.is_some() {
            let elicitation = capabilities.elicitation.get_or_insert_default();
            elicitation.url.get_or_insert_default();
        }
        if self.sample.is_some() {
            capabilities.sampling.get_or_insert_default();
        }
        if self.roots.is_some() {
            capabilities.roots.get_or_insert_default();
        }
    }

    /// Answers all of `requests`, at the same time; `None` when there is one that nobody here answers, before
    /// anybody is asked.
    pub(crate) fn answer<'a>(
        &'a self,
        requests: &InputRequests,
    ) -> Option<BoxFuture<'a, Result<InputResponses, BoxError>>> {
        let answering = requests.iter().map(|(key, request)| self.answer_one(key, request));
        let answering: Vec<Answering<'a>> = answering.collect::<Option<_>>()?;
        Some(Box::pin(async move {
            let mut responses = InputResponses::new();
            for (key, answer) in try_join_all(answering).await? {
                responses.insert(&key, &answer)?;
            }
            Ok(responses)
        }))
    }

    /// Calls nobody before it is polled.
    fn answer_one<'a>(&'a self, key: &str, request: &InputRequest) -> Option<Answering<'a>> {
        let key = Box::from(key);
        match request {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let (handler, form) = (self.form.as_ref()?, form.clone());
                Some(Box::pin(async move {
                    let schema = form.requested_schema.clone();
                    json(key, &filled_in(&handler(form).await?, &schema)?)
                }))
            }
            InputRequest::Elicit(ElicitParams::Url(page)) => {
                let (handler, page) = (self.url.as_ref()?, page.clone());
                Some(Box::pin(
                    async move { json(key, &ElicitResult::of(handler(page).await?.action)) },
                ))
            }
            InputRequest::CreateMessage(params) => {
                let (handler, params) = (self.sample.as_ref()?, params.clone());
                Some(Box::pin(async move {
                    rules::conversation(&params)?;
                    json(key, &handler(*params).await?)
                }))
            }
            InputRequest::ListRoots(_) => {
                let handler = self.roots.as_ref()?;
                Some(Box::pin(async move {
                    let roots = handler(()).await?;
                    rules::roots(&roots)?;
                    json(key, &ListRootsResult { roots })
                }))
            }
            _ => None,
        }
    }
}

fn boxed<P, T, F, Fut>(handler: F) -> Handler<P, T>
where
    F: Fn(P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer<T>> + Send + 'static,
{
    Box::new(move |params| {
        let answer = handler(params);
        Box::pin(async move { answer.await.into_answer() })
    })
}

fn json<T: Serialize>(key: Box<str>, answer: &T) -> Result<(Box<str>, RawJson), BoxError> {
    Ok((key, RawJson::new(answer)?))
}

/// The answer to a form as it is sent: completed and checked when the user agreed, bare otherwise.
/// Specification: Elicitation, Response Actions.
fn filled_in(answer: &ElicitResult, schema: &ElicitationSchema) -> Result<ElicitResult, BoxError> {
    if answer.action != ElicitAction::Accept {
        return Ok(ElicitResult::of(answer.action));
    }
    let content = schema.complete(answer.decode::<JsonMap>()?)?;
    Ok(ElicitResult { action: ElicitAction::Accept, content: Some(RawJson::from(&content)) })
}
