//! Servers that ask their client, and what the client answers.

use serde_json::{Value, json};

use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::META_CAPABILITIES;

/// The answer that asks these requests, by their keys.
pub(super) fn asks(seen: &Seen, requests: Value) -> Answer {
    let result = json!({
        "resultType": "input_required", "inputRequests": requests, "requestState": "state-1",
    });
    Answer::result(seen, result)
}

/// A form with these fields, all of them required.
pub(super) fn form(properties: Value) -> Value {
    let required = properties.as_object().into_iter().flat_map(|all| all.keys());
    let required = required.cloned().collect::<Vec<_>>();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let params = json!({ "mode": "form", "message": "Please fill in", "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

/// A form with one box to be ticked.
pub(super) fn tick() -> Value {
    form(json!({ "confirmed": { "type": "boolean" } }))
}

/// A page to be visited.
pub(super) fn visit(url: &str) -> Value {
    let params = json!({ "mode": "url", "message": "Please visit this page", "url": url });
    json!({ "method": "elicitation/create", "params": params })
}

/// A message of a model, with these params or in place of those that are usual.
pub(super) fn sample(more: Value) -> Value {
    let mut params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "What is two and two?" } }],
        "maxTokens": 100,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    json!({ "method": "sampling/createMessage", "params": params })
}

/// The roots.
pub(super) fn roots() -> Value {
    json!({ "method": "roots/list" })
}

/// A tool for a model.
pub(super) fn weather() -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "name": "get_weather", "description": "Tells the weather", "inputSchema": schema })
}

/// A server whose tools ask: what stands under the tool's name, once, and then they are done.
pub(super) fn asker(questions: Value) -> impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static {
    move |seen| match seen.method() {
        "tools/list" => {
            let names = questions.as_object().into_iter().flat_map(|all| all.keys());
            let tools = names.map(|name| tool(name, json!({}))).collect::<Vec<_>>();
            Answer::result(seen, with(result_of(seen), json!({ "tools": tools })))
        }
        "tools/call" if !seen.is_retry() && !questions[seen.name()].is_null() => {
            asks(seen, questions[seen.name()].clone())
        }
        _ => good(seen),
    }
}

/// A tool with these properties in its schema.
pub(super) fn tool(name: &str, properties: Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "name": name, "description": "A tool", "inputSchema": schema })
}

/// A result with these members in place of its own; null takes one away.
pub(super) fn with(result: Option<Value>, members: Value) -> Value {
    let mut result = result.unwrap_or_else(|| json!({ "resultType": "complete" }));
    for (name, value) in members.as_object().into_iter().flatten() {
        match result.as_object_mut() {
            Some(all) if value.is_null() => drop(all.remove(name)),
            Some(all) => drop(all.insert(name.clone(), value.clone())),
            None => {}
        }
    }
    result
}

/// The step that calls a tool without arguments.
pub(super) fn call(tool: &str) -> Value {
    json!({ "do": "tools/call", "params": { "name": tool } })
}

/// Who answers a request of this kind declares `capability` in every request that it sends.
pub(super) async fn declared_everywhere(cx: &Cx, capability: &str, request: Value) -> Verdict {
    let steps = json!([{ "do": "tools/list" }, call("ask"), { "do": "tools/list" }]);
    let played = cx.play(steps, asker(json!({ "ask": { "it": request } }))).await?;
    if played.answer("it").is_none() {
        return Err(Stop::skip(format!("the client does not answer {}", at(&request, "/method"))));
    }
    played.ended_well()?;
    for seen in played.requests.iter().filter(|seen| !seen.id().is_null()) {
        let declared = seen.capability(&format!("/{capability}"));
        let expected = format!("{capability} in the capabilities of every request");
        expect(declared.is_object(), expected, shown(&seen.message))?;
    }
    Ok(())
}

impl Seen {
    /// The name of the tool or prompt that is asked for; empty if there is none.
    pub(super) fn name(&self) -> &str {
        self.param("name").as_str().unwrap_or_default()
    }

    /// Whether it comes back with answers.
    pub(super) fn is_retry(&self) -> bool {
        !self.param("inputResponses").is_null() || !self.param("requestState").is_null()
    }

    /// What the client declares under a path such as `/elicitation/url`; null if it does not.
    pub(super) fn capability(&self, path: &str) -> &Value {
        at(self.meta(META_CAPABILITIES), path)
    }
}

impl Played {
    /// All answers to the question of this key.
    pub(super) fn answers<'p>(&'p self, key: &'p str) -> impl Iterator<Item = &'p Value> {
        self.requests.iter().filter_map(move |seen| seen.param("inputResponses").get(key))
    }

    /// The first answer to the question of this key.
    pub(super) fn answer<'p>(&'p self, key: &str) -> Option<&'p Value> {
        self.requests.iter().find_map(|seen| seen.param("inputResponses").get(key))
    }

    /// The answer to a question that the client says it can answer.
    pub(super) fn answered<'p>(&'p self, key: &str) -> Verdict<&'p Value> {
        let told = self.told.iter().map(shown).collect::<Vec<_>>().join(" ");
        self.answer(key).ok_or_else(|| Stop::fail(format!("an answer to {key}"), told))
    }

    /// Goes on if the calls declare what stands under this path.
    pub(super) fn needs(&self, path: &str) -> Verdict {
        self.first("tools/call")?;
        if self.declares(path) {
            return Ok(());
        }
        Err(Stop::skip(format!("the client does not declare {}", path.trim_start_matches('/'))))
    }

    /// Whether the calls declare what stands under this path. Elicitation without modes stands for forms.
    pub(super) fn declares(&self, path: &str) -> bool {
        let Some(call) = self.of("tools/call").next() else { return false };
        let bare = call.capability("/elicitation").as_object().is_some_and(|it| it.is_empty());
        call.capability(path).is_object() || (path == "/elicitation/form" && bare)
    }
}
