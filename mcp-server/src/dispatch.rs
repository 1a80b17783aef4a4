//! From a message to the reply's beginning: `admit → dispatch → reply`. The file to read first.

use std::sync::Arc;

use http::{HeaderMap, Response};
use mcp_transport::json::Message;

use crate::caller::RequestParts;
use crate::context::Context;
use crate::ladder::{self, Call, Target};
use crate::registry::Entry;
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
            ladder::climb(shared, headers, request)
                .and_then(|call| dispatch(shared, call, parts, plan))
        }
        // None that a client sends over HTTP means anything in this revision.
        Message::Notification(_) => Ok(Begun::Done(reply::accepted())),
        Message::Response(_) => Err(Rejection::new(Reason::Response)),
    };
    begun.unwrap_or_else(|rejection| Begun::Done(rejection.into_response()))
}

/// Routes a call to what answers it.
fn dispatch(
    shared: &Arc<Shared>,
    call: Call<'_>,
    parts: RequestParts,
    plan: Plan,
) -> Result<Begun, Rejection> {
    let Call { id, meta, target } = call;
    match target {
        Target::Discover => Ok(Begun::Done(plan.reply(Answer::encoded(&id, &shared.discover)))),
        Target::ListTools { cursor } => match shared.registry.page(cursor.as_deref()) {
            Some(page) => Ok(Begun::Done(plan.reply(Answer::encoded(&id, page)))),
            None => {
                Err(Rejection::of(id, "", Reason::Params("the cursor is not one of this list")))
            }
        },
        Target::CallTool { tool, arguments } => {
            let limits = &shared.limits;
            let outbox = Outbox::new(plan.streams(), limits.queued_events, limits.write_stall);
            let context = Context::new(id, meta, parts, outbox, Arc::clone(shared));
            let work = call_tool(shared, &tool, &context, arguments);
            Ok(Begun::Working(Respond::new(context, work, plan)))
        }
    }
}

fn call_tool(
    shared: &Arc<Shared>,
    tool: &Arc<Entry>,
    context: &Context,
    arguments: &str,
) -> Working {
    let work = Working::start(&*tool.handler, context, arguments);
    if tool.to_completion {
        return run_to_completion(shared, tool, context, work);
    }
    work
}
