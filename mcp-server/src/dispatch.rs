//! From a message to the reply's beginning: `admit → dispatch → reply`. The file to read first.

use std::sync::Arc;

use http::{HeaderMap, Response};
use mcp_transport::json::Message;

use crate::caller::RequestParts;
use crate::completion::Completing;
use crate::context::{Context, Subject};
use crate::handler::Input;
use crate::ladder::{self, Call, Target};
use crate::rejection::{Reason, Rejection};
use crate::reply::{self, Answer, Body, Outbox, Plan, Respond};
use crate::server::Shared;
use crate::work::{Working, run_to_completion};

/// What an exchange comes to without waiting: a whole response, or one still to be made.
pub(crate) enum Begun {
    Done(Response<Body>),
    Working(Respond),
}

/// Starts the exchange of one message.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    message: Message<'_>,
    parts: RequestParts,
    plan: Plan,
) -> Begun {
    let begun = match message {
        Message::Request(request) => {
            let headers: Option<&HeaderMap> = plan.http.then_some(&parts.headers);
            ladder::climb(shared, headers, request).map(|call| dispatch(shared, call, parts, plan))
        }
        // None that a client sends over HTTP means anything in this revision.
        Message::Notification(_) => Ok(Begun::Done(reply::accepted())),
        Message::Response(_) => Err(Rejection::new(Reason::Response)),
    };
    begun.unwrap_or_else(|rejection| Begun::Done(rejection.into_response()))
}

/// Routes a call to what answers it.
fn dispatch(shared: &Arc<Shared>, call: Call<'_>, parts: RequestParts, plan: Plan) -> Begun {
    let Call { id, meta, target } = call;
    let context = |id, subject| {
        let limits = &shared.limits;
        let outbox = Outbox::new(plan.streams(), limits.queued_events, limits.write_stall);
        Context::new(id, meta, parts, outbox, subject, Arc::clone(shared))
    };
    let (context, work) = match target {
        Target::Encoded(result) => return Begun::Done(plan.reply(Answer::encoded(&id, result))),
        Target::CallTool { tool, arguments } => {
            let context = context(id, Subject::Tool(Arc::clone(&tool)));
            let work = Working::start(&*tool.handler, &context, Input::Json(arguments));
            let work = if tool.to_completion {
                run_to_completion(shared, &tool, &context, work)
            } else {
                work
            };
            (context, work)
        }
        Target::GetPrompt { prompt, arguments } => {
            let context = context(id, Subject::Prompt(Arc::clone(&prompt)));
            let work = Working::start(&*prompt.handler, &context, Input::Texts(&arguments));
            (context, work)
        }
        Target::ReadResource { uri, reader, variables } => {
            let context = context(id, Subject::Resource(uri, Arc::clone(&reader)));
            let work = Working::start(&*reader.handler, &context, Input::Texts(&variables));
            (context, work)
        }
        Target::Complete { completer, value, arguments } => {
            let context = context(id, Subject::Completion);
            let completing = Completing { value, arguments, context: context.clone() };
            let work = Working::complete(completer.as_deref(), completing);
            (context, work)
        }
    };
    Begun::Working(Respond::new(context, work, plan))
}
