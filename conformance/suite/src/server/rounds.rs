//! Rounds: a server that needs input says so in its result, and gets the same request again with the answers.

use serde_json::{Map, Value, json};

use super::{Cx, Session};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Message, Reply};

/// The tools that ask, if a server has them.
const TOOLS: &[&str] = &[
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
    "test_url_elicitation",
    "test_sampling_with_tools",
];
const PROMPT: &str = "test_input_required_result_prompt";

/// Everything that a client can declare.
pub(crate) fn everything() -> Value {
    json!({
        "elicitation": { "form": {}, "url": {} },
        "sampling": { "tools": {}, "context": {} },
        "roots": {},
    })
}

/// A question of a server.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The tool or prompt that asks.
    pub(crate) by: String,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Question {
    /// Whether it is an elicitation of that mode.
    pub(crate) fn has_mode(&self, mode: &str) -> bool {
        self.method == "elicitation/create" && self.mode() == mode
    }

    /// The mode of an elicitation; a form where none is named.
    pub(crate) fn mode(&self) -> &str {
        at(&self.params, "/mode").as_str().unwrap_or("form")
    }
}

/// Calls all that asks, of a client with these capabilities, and gives the first reply of each.
///
/// # Errors
/// The check is skipped if the server has nothing of the kind.
pub(crate) async fn first_rounds(
    cx: &Cx,
    capabilities: &Value,
) -> Verdict<Vec<(&'static str, Reply)>> {
    let (mut session, mut replies) = (cx.session(), Vec::new());
    for name in TOOLS.iter().copied().filter(|name| cx.tool(name).is_ok()) {
        let call = cx.call(name, json!({})).capabilities(capabilities.clone());
        replies.push((name, session.ask(&call).await?));
    }
    if cx.offer().prompts.iter().any(|prompt| at(prompt, "/name") == PROMPT) {
        let get = cx.request("prompts/get").param("name", PROMPT);
        replies.push((PROMPT, session.ask(&get.capabilities(capabilities.clone())).await?));
    }
    if replies.is_empty() {
        return Err(Stop::skip("the server has no tool that asks, such as test_url_elicitation"));
    }
    Ok(replies)
}

/// The questions of all first rounds that use `method`.
///
/// # Errors
/// The check is skipped if there are none.
pub(crate) async fn questions(
    cx: &Cx,
    capabilities: &Value,
    method: &str,
) -> Verdict<Vec<Question>> {
    let replies = first_rounds(cx, capabilities).await?;
    let all = replies.iter().flat_map(|(by, reply)| questions_of(by, reply));
    let all = all.filter(|question| question.method == method).collect::<Vec<_>>();
    if all.is_empty() {
        return Err(Stop::skip(format!("nothing of the server asks by {method}")));
    }
    Ok(all)
}

/// The questions of one reply.
pub(crate) fn questions_of(by: &str, reply: &Reply) -> Vec<Question> {
    let requests = reply.response().ok().and_then(|it| it.pointer("/result/inputRequests"));
    let requests = requests.and_then(Value::as_object).into_iter().flatten();
    let questions = requests.map(|(_, request)| Question {
        by: by.to_owned(),
        method: at(request, "/method").as_str().unwrap_or_default().to_owned(),
        params: at(request, "/params").clone(),
    });
    questions.collect()
}

/// A round that ended with questions, and is to be answered.
pub(crate) struct Round {
    pub(crate) session: Session,
    /// The request.
    pub(crate) request: Message,
    /// The result, which asks.
    pub(crate) result: Value,
}

impl Round {
    /// Calls a tool that asks.
    pub(crate) async fn of_tool(cx: &Cx, tool: &str) -> Verdict<Self> {
        cx.tool(tool)?;
        let request = cx.call(tool, json!({})).capabilities(everything());
        Self { session: cx.session(), request, result: Value::Null }.anew(cx).await
    }

    /// Calls it as if it had never been called, on the same connection or process.
    pub(crate) async fn anew(mut self, cx: &Cx) -> Verdict<Self> {
        self.request = cx.again(&self.request);
        let reply = self.session.ask(&self.request).await?;
        self.result = asks(&reply)?.clone();
        Ok(self)
    }

    /// The keys of what is asked.
    pub(crate) fn keys(&self) -> Vec<String> {
        let requests = at(&self.result, "/inputRequests").as_object();
        requests.map(|requests| requests.keys().cloned().collect()).unwrap_or_default()
    }

    /// The request again, with the state as it came and these answers.
    pub(crate) fn retry(&self, cx: &Cx, responses: impl Into<Value>) -> Message {
        let retry = cx.again(&self.request).param("inputResponses", responses);
        match self.result.get("requestState") {
            Some(state) => retry.param("requestState", state.clone()),
            None => retry,
        }
    }

    /// The same response to every question.
    pub(crate) fn all(&self, response: &Value) -> Value {
        let responses = self.keys().into_iter().map(|key| (key, response.clone()));
        Value::Object(responses.collect::<Map<_, _>>())
    }

    /// Goes into the next round, if what comes asks again.
    pub(crate) async fn answer(&mut self, cx: &Cx, responses: impl Into<Value>) -> Verdict<Reply> {
        let retry = self.retry(cx, responses);
        let reply = self.session.ask(&retry).await?;
        if let Ok(result) = asks(&reply) {
            self.result = result.clone();
        }
        Ok(reply)
    }
}

/// The result asks for input.
pub(crate) fn asks(reply: &Reply) -> Verdict<&Value> {
    let result = reply.result()?;
    let is_round = at(result, "/resultType") == "input_required";
    expect(is_round, "a result of the type input_required", reply.told())?;
    Ok(result)
}

/// The result is whole, and does not say that something failed.
pub(crate) fn is_success(reply: &Reply) -> bool {
    reply.result().is_ok_and(|result| {
        at(result, "/resultType") == "complete" && at(result, "/isError") != true
    })
}

/// What came of answers that are no good: an error of the parameters, a tool that failed, or the questions again.
pub(crate) fn is_refusal(reply: &Reply) -> Verdict {
    let code = at(reply.response()?, "/error/code");
    let is_right = code == super::INVALID || (code.is_null() && !is_success(reply));
    expect(is_right, "error -32602, input_required or isError", reply.told())
}

/// The client lacks what the request needs: `capability` is a path such as `/elicitation`.
pub(crate) fn lacks(reply: &Reply, capability: &str) -> Verdict {
    let error = reply.is_refused(400, super::LACKING)?;
    let needed = at(error, &format!("/data/requiredCapabilities{capability}"));
    expect(needed.is_object(), format!("requiredCapabilities{capability}"), reply.told())
}
