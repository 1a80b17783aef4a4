//! From a message to the reply's beginning: `admit → dispatch → reply`. The file to read first.

use std::sync::Arc;

use mcp_transport::json::Message;
use mcp_types::{Method, RequestId};

#[cfg(feature = "asking")]
use crate::ask::Asks;
use crate::caller::RequestParts;
use crate::completion::Completing;
use crate::context::{Context, Subject};
use crate::handler::Input;
use crate::ladder::{self, Brought, Call, Sender, Target};
use crate::metadata::Metadata;
use crate::permit::Permit;
use crate::registry::Answering;
use crate::rejection::{Reason, Rejection};
use crate::reply::{Answer, Outbox, Plan};
use crate::server::Shared;
use crate::subscription::{self, Group, Subscription};
use crate::work::{Working, run_to_completion};

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
            // What the request sees to its end, whatever is edited meanwhile.
            let offered = shared.registry.snapshot();
            let sender = Sender { parts: &parts, http: plan.http, sse: plan.sse };
            ladder::climb(shared, &offered, sender, request)
                .and_then(|call| dispatch(shared, call, parts, plan, permit, group))
        }
        // None that a client sends over HTTP means anything in this revision.
        Message::Notification(_) => Ok(Begun::Noted),
        Message::Response(_) => Err(Rejection::new(Reason::Response)),
    }
}

/// Routes a call to what answers it.
fn dispatch(
    shared: &Arc<Shared>,
    call: Call<'_>,
    parts: RequestParts,
    plan: Plan,
    permit: &mut Option<Permit>,
    group: Option<&Group>,
) -> Result<Begun, Rejection> {
    let Call { id, meta, target } = call;
    let opening = Opening { shared, meta, parts, plan };
    let (context, work) = match target {
        Target::Encoded(result) => {
            return Ok(Begun::Answered(Answer::encoded(&id, &result)));
        }
        Target::CallTool { tool, arguments, brought } => {
            let subject = Subject::Tool(Arc::clone(&tool));
            let context = opening.context(id, subject, Method::CallTool, &brought)?;
            let permit = if tool.to_completion { permit.take() } else { None };
            let start = move |context: &Context, input: Input<'_>| {
                let work = Working::start(&*tool.handler, context, input);
                if tool.to_completion {
                    run_to_completion(tool, context, work, permit)
                } else {
                    work
                }
            };
            let work = Working::when_claimed(&context, Input::Json(arguments), start);
            (context, work)
        }
        Target::GetPrompt { prompt, arguments, brought } => {
            let subject = Subject::Prompt(Arc::clone(&prompt));
            let context = opening.context(id, subject, Method::GetPrompt, &brought)?;
            let start = move |context: &Context, input: Input<'_>| {
                Working::start(&*prompt.handler, context, input)
            };
            let work = Working::when_claimed(&context, Input::Texts(&arguments), start);
            (context, work)
        }
        Target::ReadResource { uri, reader, variables, brought } => {
            let subject = Subject::Resource(uri, Arc::clone(&reader));
            let context = opening.context(id, subject, Method::ReadResource, &brought)?;
            let start = move |context: &Context, input: Input<'_>| {
                Working::start(&*reader.handler, context, input)
            };
            let work = Working::when_claimed(&context, Input::Texts(&variables), start);
            (context, work)
        }
        Target::Complete { completer, states, value, arguments } => {
            let context = opening.plain(id, Subject::Completion(states));
            let completing = Completing { value, arguments, context: context.clone() };
            let work = Working::complete(completer.as_deref(), completing);
            (context, work)
        }
        Target::CallMethod { method, params } => {
            let context = opening.plain(id, Subject::Method(Arc::clone(&method)));
            let work = Working::start(&*method.handler, &context, Input::Params(&params));
            (context, work)
        }
        Target::Listen { wanted } => {
            let parts = &opening.parts;
            return subscription::open(shared, id, wanted, parts, permit, group)
                .map(Begun::Listening);
        }
    };
    Ok(Begun::Working(context, work))
}

/// What the contexts of all calls are made from.
struct Opening<'a> {
    shared: &'a Arc<Shared>,
    meta: Metadata,
    parts: RequestParts,
    plan: Plan,
}

impl Opening<'_> {
    /// The context of a call about `subject` that nothing is brought back to.
    fn plain(self, id: RequestId, subject: Subject) -> Context {
        let outbox = Outbox::new(self.plan.streams(), self.shared.limits.queued_events);
        let shared = Arc::clone(self.shared);
        Context::new(id, self.meta, self.parts, outbox, subject, shared)
    }

    /// The context of a call about `subject`.
    fn context(
        self,
        id: RequestId,
        subject: Subject,
        #[cfg_attr(not(feature = "asking"), expect(unused_variables, reason = "binds asks"))]
        method: Method,
        brought: &Brought<'_>,
    ) -> Result<Context, Rejection> {
        let context = self.plain(id, subject);
        match brought.answering {
            Answering::Never => Ok(context),
            Answering::ByHand => Ok(context.with_answers(brought)),
            #[cfg(feature = "asking")]
            Answering::Asks => asking(context, method, brought),
        }
    }
}

/// The context of a call whose handler asks, with the answers that its client brought.
#[cfg(feature = "asking")]
fn asking(context: Context, method: Method, brought: &Brought<'_>) -> Result<Context, Rejection> {
    let request = crate::ask::Request {
        principal: context.caller().map(|caller| caller.principal().into()),
        method: method.as_str(),
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
            Err(Rejection::of(context.request_id().clone(), method.as_str(), reason))
        }
    }
}
