//! From a message to the reply's beginning: `admit → dispatch → reply`. The file to read first.

use std::sync::Arc;

use mcp_transport::json::{Message, Request};
use mcp_types::RequestId;
use tracing::Span;

#[cfg(feature = "asking")]
use crate::ask::Asks;
use crate::caller::RequestParts;
use crate::context::{Context, Subject};
use crate::ladder::{self, Brought, Call, Sender, Target};
use crate::metadata::Metadata;
use crate::permit::Permit;
use crate::registry::Answering;
use crate::rejection::{Reason, Rejection};
use crate::reply::{Answer, Outbox, Plan};
use crate::server::Shared;
use crate::span;
use crate::subscription::{self, Group, Subscription};
use crate::work::{Given, Working};

/// What a message comes to without waiting, whatever it came over.
pub(crate) enum Begun {
    /// It was a notification, which has no answer.
    Noted,
    Answered(Answer),
    /// A handler is to be driven.
    Working(Context, Working),
    /// A stream without end.
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
) -> Result<Begun, Rejection> {
    match message {
        Message::Request(request) => {
            let span = span::of(shared, &request, &parts, plan.http);
            let _entered = span.enter();
            let opening = Opening { shared, parts, plan, span: &span };
            opening.begin(request, permit, group).inspect_err(|rejection| {
                span::refused(&span, rejection);
            })
        }
        // None that a client sends over HTTP means anything in this revision.
        Message::Notification(_) => Ok(Begun::Noted),
        Message::Response(_) => Err(Rejection::new(Reason::Response)),
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
    fn begin(
        self,
        request: Request<'_>,
        permit: &mut Option<Permit>,
        group: Option<&Group>,
    ) -> Result<Begun, Rejection> {
        let Self { shared, plan, span, .. } = self;
        // What the request sees to its end, whatever is edited meanwhile.
        let offered = shared.registry.snapshot();
        let sender = Sender { parts: &self.parts, http: plan.http, sse: plan.sse };
        let Call { id, meta, target } = ladder::climb(shared, &offered, sender, request)?;
        span::served(span, &meta);
        let (subject, given, brought) = match target {
            Target::Encoded(result) => {
                return Ok(Begun::Answered(Answer::encoded(&id, &result)));
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
            Target::CallMethod { method, params } => {
                (Subject::Method(method), Given::Params(params), Brought::default())
            }
            Target::Complete { completer, states, value, arguments } => {
                let given = Given::Typed { value, settled: arguments };
                (Subject::Completion(completer, states), given, Brought::default())
            }
            Target::Listen { wanted } => {
                return subscription::open(shared, id, wanted, &self.parts, permit, group)
                    .map(Begun::Listening);
            }
        };
        span::called(span, &subject);
        let context = self.context(id, meta, subject, &brought)?;
        let work = Working::begin(&context, given, span, permit);
        Ok(Begun::Working(context, work))
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
    let request = crate::ask::Request {
        principal: context.caller().map(|caller| caller.principal().into()),
        method: context.subject().method().into(),
        target: context.target().into(),
        arguments: brought.arguments.into(),
    };
    let Some(sealer) = context.shared().sealer.get() else { return Ok(context) };
    let single_use = context.shared().spent_states.is_some();
    let (responses, state) = (&brought.responses, brought.state.as_deref());
    match Asks::open(sealer, request, responses, state, single_use) {
        Ok(asks) => Ok(context.asking(Some(asks))),
        Err(error) => {
            tracing::debug!(%error, "a request state was refused");
            let reason = Reason::Params(crate::ask::REFUSED);
            let (id, method) = (context.request_id().clone(), context.subject().method());
            Err(Rejection::of(id, method, reason))
        }
    }
}
