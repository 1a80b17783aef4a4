//! The extension for tasks.

mod access;
mod create;
mod input;
mod notify;
mod status;
mod undeclared;

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::{Cx, Session};
use crate::check::{Check, server_check};
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-tasks-undeclared", Both, undeclared::tools),
    server_check!("server-tasks-required", Both, undeclared::required),
    server_check!("server-tasks-create-shape", Both, create::shape),
    server_check!("server-tasks-result-types", Both, create::result_types).last(),
    server_check!("server-tasks-immediate-get", Both, create::immediate_get),
    server_check!("server-tasks-get-working", Both, status::working),
    server_check!("server-tasks-get-completed", Both, status::completed),
    server_check!("server-tasks-tool-error", Both, status::tool_error),
    server_check!("server-tasks-get-failed", Both, status::failed),
    server_check!("server-tasks-failed-message", Both, status::failed_message),
    server_check!("server-tasks-get-cancelled", Both, status::cancelled),
    server_check!("server-tasks-cancel-ack", Both, status::cancel_ack),
    server_check!("server-tasks-cancel-unknown", Both, access::cancel_unknown),
    server_check!("server-tasks-get-unknown", Both, access::get_unknown),
    server_check!("server-tasks-update-unknown", Both, access::update_unknown),
    server_check!("server-tasks-get-input-required", Both, input::get),
    server_check!("server-tasks-update-ack", Both, input::update_ack),
    server_check!("server-tasks-update-other-keys", Both, input::other_keys),
    server_check!("server-tasks-partial-input", Both, input::partial),
    server_check!("server-tasks-input-keys", Both, input::keys),
    server_check!("server-tasks-input-first", Both, input::first),
    server_check!("server-tasks-methods-undeclared", Both, undeclared::methods),
    server_check!("server-tasks-listen-undeclared", Both, undeclared::listening),
    server_check!("server-tasks-notifications", Both, notify::whole),
    server_check!("server-tasks-id-entropy", Both, access::ids),
    server_check!("server-tasks-other-user", Http, access::other_user),
];

/// A task, and the connection or process on which it was created.
struct Task {
    session: Session,
    id: String,
    /// What it was created as.
    created: Value,
}

impl Task {
    /// Calls a tool of a client that can be given a task.
    ///
    /// # Errors
    /// The check is skipped if the server has no such tool, or answers at once.
    async fn create(cx: &Cx, tool: &str, arguments: Value) -> Verdict<Self> {
        let mut session = cx.session();
        let created = created(cx, &mut session, tool, arguments).await?;
        Ok(Self { session, id: id_of(&created)?, created })
    }

    /// A task that takes that long.
    async fn slow(cx: &Cx, seconds: u64) -> Verdict<Self> {
        Self::create(cx, SLOW, json!({ "seconds": seconds, "label": "a" })).await
    }

    fn request(&self, cx: &Cx, method: &str) -> Message {
        able(cx.request(method).param("taskId", &*self.id))
    }

    /// What `tasks/get` says.
    async fn get(&mut self, cx: &Cx) -> Verdict<Value> {
        let reply = self.session.ask(&self.request(cx, "tasks/get")).await?;
        let task = reply.result()?.clone();
        expect(*at(&task, "/resultType") == "complete", "resultType complete", reply.told())?;
        has_shape(&task, "tasks/get").map_err(|stop| stop.of(shown(&task)))?;
        expect(*at(&task, "/taskId") == *self.id, "the task that was asked for", reply.told())?;
        Ok(task)
    }

    /// Asks until the task has one of these statuses.
    async fn until(&mut self, cx: &Cx, statuses: &[&str], time: Duration) -> Verdict<Value> {
        let end = Instant::now() + time;
        loop {
            let task = self.get(cx).await?;
            if at(&task, "/status").as_str().is_some_and(|status| statuses.contains(&status)) {
                return Ok(task);
            }
            if Instant::now() > end {
                return Err(Stop::fail(format!("the status {statuses:?}"), shown(&task)));
            }
            let interval = at(&task, "/pollIntervalMs").as_u64().unwrap_or(50);
            sleep(Duration::from_millis(interval.clamp(20, 1000))).await;
        }
    }

    /// Asks until the task has ended, and how.
    async fn ended(&mut self, cx: &Cx) -> Verdict<Value> {
        self.until(cx, &["completed", "failed", "cancelled"], PATIENCE).await
    }

    async fn update(&mut self, cx: &Cx, responses: Value) -> Verdict<Reply> {
        let update = self.request(cx, "tasks/update").param("inputResponses", responses);
        self.session.ask(&update).await
    }
}

/// The result that creates a task.
async fn created(cx: &Cx, session: &mut Session, tool: &str, arguments: Value) -> Verdict<Value> {
    needed(cx)?;
    cx.tool(tool)?;
    let reply = session.ask(&able(cx.call(tool, arguments))).await?;
    let result = reply.result()?;
    if *at(result, "/resultType") != "task" {
        return Err(Stop::skip(format!("{tool} creates no task")));
    }
    Ok(result.clone())
}

fn id_of(created: &Value) -> Verdict<String> {
    let id = at(created, "/taskId").as_str();
    id.map(str::to_owned).ok_or_else(|| Stop::fail("a taskId", shown(created)))
}

/// Goes on if the server has the extension.
fn needed(cx: &Cx) -> Verdict {
    cx.needs("/extensions/io.modelcontextprotocol~1tasks")
}

/// The message of a client that has the extension, and can be asked.
fn able(message: Message) -> Message {
    let mut capabilities = super::rounds::everything();
    if let Some(members) = capabilities.as_object_mut() {
        members.insert(
            "extensions".into(),
            Value::Object(Map::from_iter([(ID.to_owned(), json!({}))])),
        );
    }
    message.capabilities(capabilities)
}

/// The task says nothing of what it does not have in this status.
fn lacks(task: &Value, members: &[&str]) -> Verdict {
    let extra = members.iter().find(|member| task.get(**member).is_some());
    expect(extra.is_none(), format!("none of {members:?}"), shown(task))
}

/// An acknowledgement, and nothing but that.
fn is_ack(reply: &Reply) -> Verdict {
    let result = reply.result()?;
    expect(*at(result, "/resultType") == "complete", "resultType complete", reply.told())?;
    let members = result.as_object().into_iter().flatten().map(|(member, _)| &**member);
    let more = members.filter(|member| !matches!(*member, "resultType" | "_meta")).count();
    expect(more == 0, "nothing but resultType and _meta", reply.told())
}

/// The client lacks the extension.
fn lacks_extension(reply: &Reply) -> Verdict {
    super::rounds::lacks(reply, "/extensions/io.modelcontextprotocol~1tasks")
}

const ID: &str = "io.modelcontextprotocol/tasks";
const SLOW: &str = "slow_compute";
/// What no server has given a task.
const NO_TASK: &str = "no-such-task-7f3a";
/// Until a task is given up: much more than the tools take.
const PATIENCE: Duration = Duration::from_secs(30);
