//! From a message to the reply's beginning: `admit → dispatch → reply`. The file to read first.

use std::sync::Arc;

use http::{HeaderMap, Response};
use mcp_transport::json::{Message, Request};
use mcp_types::RequestId;
use tracing::Span;

#[cfg(feature = "asking")]
use crate::ask::Asks;
use crate::caller::RequestParts;
use crate::context::{Context, Subject};
use crate::ladder::{self, Brought, Call, Target};
use crate::metadata::Metadata;
use crate::permit::Permit;
use crate::registry::Answering;
use crate::rejection::{Reason, Rejection};
use crate::reply::{self, Answer, Body, Outbox, Plan, Respond};
use crate::server::Shared;
use crate::span;
use crate::subscription::{self, Group, Subscription};
use crate::work::{Given, Working};

/// What an exchange comes to without waiting: a whole response, one still to be made, or a stream without end.
pub(crate) enum Begun {
    Done(Response<Body>),
    Working(Respond),
    Listening(Subscription),
}

/// Starts the exchange of one message. What goes on without it takes the `permit` along; a subscription ends with
/// `group`.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    message: Message<'_>,
    parts: RequestParts,
    plan: Plan,
    permit: &mut Option<Permit>,
    group: Option<&Group>,
) -> Begun {
    match message {
        Message::Request(request) => {
            let span = span::of(shared, &request, &parts, plan.http);
            let _entered = span.enter();
            let opening = Opening { shared, parts, plan, span: &span };
            opening.answer(request, permit, group).unwrap_or_else(|rejection| {
                span::refused(&span, &rejection);
                Begun::Done(rejection.into_response())
            })
        }
        // None that a client sends over HTTP means anything in this revision.
        Message::Notification(_) => Begun::Done(reply::accepted()),
        Message::Response(_) => Begun::Done(Rejection::new(Reason::Response).into_response()),
    }
}

/// What there is besides the request itself.
struct Opening<'a> {
    shared: &'a Arc<Shared>,
    parts: RequestParts,
    plan: Plan,
    span: &'a Span,
}

impl Opening<'_> {
    /// Takes a request up the ladder and routes the call that comes of it to what answers it.
    fn answer(
        self,
        request: Request<'_>,
        permit: &mut Option<Permit>,
        group: Option<&Group>,
    ) -> Result<Begun, Rejection> {
        let Self { shared, plan, span, .. } = self;
        let headers: Option<&HeaderMap> = plan.http.then_some(&self.parts.headers);
        let Call { id, meta, target } = ladder::climb(shared, headers, plan.sse, request)?;
        span::served(span, &meta);
        let (subject, given, brought) = match target {
            Target::Encoded(result) => {
                return Ok(Begun::Done(plan.reply(Answer::encoded(&id, result))));
            }
            Target::CallTool { tool, arguments, brought } => {
                (Subject::Tool(tool), Given::Json(arguments.into()), brought)
            }
            Target::GetPrompt { prompt, arguments, brought } => {
                (Subject::Prompt(prompt), Given::Texts(arguments), brought)
            }
            Target::ReadResource { uri, reader, variables, brought } => {
                (Subject::Resource(uri, reader), Given::Texts(variables), brought)
            }
            Target::Complete { completer, value, arguments } => {
                let given = Given::Typed { value, settled: arguments };
                (Subject::Completion(completer), given, Brought::default())
            }
            Target::Listen { wanted } => {
                return subscription::open(shared, id, wanted, &self.parts, permit, group)
                    .map(Begun::Listening);
            }
        };
        span::called(span, &subject);
        let context = self.context(id, meta, subject, &brought)?;
        let work = Working::begin(&context, given, span, permit);
        Ok(Begun::Working(Respond::new(context, work, plan)))
    }

    /// The context of a call about `subject`.
    fn context(
        self,
        id: RequestId,
        meta: Metadata,
        subject: Subject,
        brought: &Brought<'_>,
    ) -> Result<Context, Rejection> {
        let outbox = Outbox::new(self.plan.streams(), self.shared.limits.queued_events);
        let shared = Arc::clone(self.shared);
        let context = Context::new(id, meta, self.parts, outbox, subject, shared);
        match brought.answering {
            Answering::Never => Ok(context),
            Answering::ByHand => Ok(context.with_answers(brought)),
            #[cfg(feature = "asking")]
            Answering::Asks => asking(context, brought),
        }
    }
}

/// The context of a call whose handler asks, with the answers that its client brought.
#[cfg(feature = "asking")]
fn asking(context: Context, brought: &Brought<'_>) -> Result<Context, Rejection> {
    let method = context.subject().method().as_str();
    let request = crate::ask::Request {
        principal: context.caller().map(|caller| caller.principal().into()),
        method,
        target: context.target().into(),
        arguments: brought.arguments.into(),
    };
    let Some(sealer) = &context.shared().sealer else { return Ok(context) };
    match Asks::open(sealer, request, &brought.responses, brought.state.as_deref()) {
        Ok(asks) => Ok(context.asking(Some(asks))),
        Err(error) => {
            tracing::debug!(%error, "a request state was refused");
            let reason = Reason::Params("the request state is not one of this request, or expired");
            Err(Rejection::of(context.request_id().clone(), method, reason))
        }
    }
}
