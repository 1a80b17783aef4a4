//! The tools that ask the client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tower_mcp::mrtr::RequestStateCodec;
use tower_mcp::protocol::{ClientCapabilities, InputRequiredResult, RequestOutcome};
use tower_mcp::{BoxError, CallToolResult, Error, NoParams, RequestContext, Tool, ToolBuilder};

use crate::typed;

type Outcome = Result<RequestOutcome<CallToolResult>, Error>;
type States = Arc<RequestStateCodec>;

pub(crate) fn all() -> Result<Vec<Tool>, BoxError> {
    let states = Arc::new(RequestStateCodec::new([7; 32], Duration::from_secs(60))?);
    let sampling = typed::<ClientCapabilities>(json!({ "sampling": {} }))?;
    let plain = ToolBuilder::new("test_missing_capability")
        .description("Needs a client that can sample.")
        .no_params_handler(|| async {
            Ok(CallToolResult::text("This is a simple text response for testing."))
        })
        .build()
        .require_client_capabilities(sampling);
    let tool = |name: &str, handler: fn(&RequestContext, &RequestStateCodec) -> Outcome| {
        let states: States = Arc::clone(&states);
        let handler = move |context: RequestContext, _: NoParams| {
            let outcome = handler(&context, &states);
            async move { outcome }
        };
        ToolBuilder::new(name)
            .description("Asks the client before it answers.")
            .mrtr_handler(handler)
            .build()
    };
    Ok(vec![
        plain,
        tool("test_input_required_result_elicitation", elicitation),
        tool("test_streaming_elicitation", elicitation),
        tool("test_input_required_result_sampling", sample),
        tool("test_input_required_result_list_roots", list_roots),
        tool("test_input_required_result_request_state", request_state),
        tool("test_input_required_result_tampered_state", request_state),
        tool("test_input_required_result_multiple_inputs", multiple_inputs),
        tool("test_input_required_result_multi_round", multi_round),
        tool("test_input_required_result_capabilities", capabilities),
        tool("test_url_elicitation", visit),
        tool("test_sampling_with_tools", weather),
    ])
}

fn elicitation(context: &RequestContext, _: &RequestStateCodec) -> Outcome {
    match answer(context, "user_name") {
        Some(said) => text(format!("Hello, {}!", said["content"]["name"])),
        None => ask([("user_name", form("What is your name?", "name", "string"))], None),
    }
}

fn sample(context: &RequestContext, _: &RequestStateCodec) -> Outcome {
    match answer(context, "capital_question") {
        Some(said) => text(said["content"]["text"].to_string()),
        None => ask([("capital_question", question("What is the capital of France?"))], None),
    }
}

fn list_roots(context: &RequestContext, _: &RequestStateCodec) -> Outcome {
    match answer(context, "client_roots") {
        Some(found) => text(found["roots"].to_string()),
        None => ask([("client_roots", roots())], None),
    }
}

fn request_state(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    let state = opened(context, states)?;
    match answer(context, "confirm") {
        Some(_) if state.is_some() => text("state-ok, confirmed".to_owned()),
        _ => ask(
            [("confirm", form("Go on?", "ok", "boolean"))],
            Some(sealed(states, &json!("state-ok"))?),
        ),
    }
}

fn multiple_inputs(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    opened(context, states)?;
    if ["user_name", "greeting", "client_roots"].iter().all(|key| answer(context, key).is_some()) {
        return text("state-ok".to_owned());
    }
    let requests = [
        ("user_name", form("What is your name?", "name", "string")),
        ("greeting", question("Greet somebody.")),
        ("client_roots", roots()),
    ];
    ask(requests, Some(sealed(states, &json!("state-ok"))?))
}

fn multi_round(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    let state = opened(context, states)?.unwrap_or_default();
    let said = answer(context, "step1").map(|said| said["content"]["name"].clone());
    let Some(name) = state.get("name").cloned().or(said) else {
        let state = sealed(states, &json!({}))?;
        return ask([("step1", form("First, your name?", "name", "string"))], Some(state));
    };
    match answer(context, "step2") {
        Some(said) => text(format!("{name} likes {}", said["content"]["color"])),
        None => {
            let state = sealed(states, &json!({ "name": name }))?;
            ask([("step2", form("And your favourite colour?", "color", "string"))], Some(state))
        }
    }
}

fn capabilities(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    let declared = context.per_request_meta().and_then(|meta| meta.client_capabilities.clone());
    if declared.is_some_and(|declared| declared.elicitation.is_some()) {
        return elicitation(context, states);
    }
    sample(context, states)
}

fn visit(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    opened(context, states)?;
    match answer(context, "visit") {
        Some(said) => {
            text(if said["action"] == "accept" { "Visited." } else { "Not visited." }.to_owned())
        }
        None => {
            let url = "https://example.com/visit";
            // This revision has no `elicitationId`, but the SDK's type wants one.
            let params = json!({ "mode": "url", "message": "Please visit this page.", "url": url, "elicitationId": "visit" });
            let request = json!({ "method": "elicitation/create", "params": params });
            ask([("visit", request)], Some(sealed(states, &json!({}))?))
        }
    }
}

fn weather(context: &RequestContext, states: &RequestStateCodec) -> Outcome {
    let first = json!([{ "role": "user", "content": { "type": "text", "text": "How is the weather in Paris?" } }]);
    let mut messages = opened(context, states)?.unwrap_or(first);
    if let Some(said) = answer(context, "weather") {
        let content = &said["content"];
        let blocks = content.as_array().cloned().unwrap_or_else(|| vec![content.clone()]);
        let rain = json!([{ "type": "text", "text": "Rain." }]);
        let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
        let results = uses
            .map(|used| json!({ "type": "tool_result", "toolUseId": used["id"], "content": rain }));
        let results = results.collect::<Vec<_>>();
        let all = messages
            .as_array_mut()
            .ok_or_else(|| Error::invalid_params("no state of this tool"))?;
        if results.is_empty() || all.len() > TURNS {
            return text(blocks.first().map(|block| block["text"].to_string()).unwrap_or_default());
        }
        all.push(json!({ "role": "assistant", "content": content }));
        all.push(json!({ "role": "user", "content": results }));
    }
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let tools = json!([{ "name": "get_weather", "inputSchema": city }]);
    let params = json!({ "messages": messages, "maxTokens": 1000, "tools": tools });
    let request = json!({ "method": "sampling/createMessage", "params": params });
    ask([("weather", request)], Some(sealed(states, &messages)?))
}

fn sealed(states: &RequestStateCodec, state: &Value) -> Result<String, Error> {
    states.encode(state).map_err(|error| Error::internal(error.to_string()))
}

fn opened(context: &RequestContext, states: &RequestStateCodec) -> Result<Option<Value>, Error> {
    let opened = context.request_state().map(|state| states.decode::<Value>(state)).transpose();
    opened.map_err(|error| Error::invalid_params(error.to_string()))
}

pub(crate) fn answer(context: &RequestContext, key: &str) -> Option<Value> {
    let given = context.input_responses()?.get(key)?;
    serde_json::to_value(given).ok()
}

pub(crate) fn asked<const N: usize>(
    requests: [(&str, Value); N],
    state: Option<String>,
) -> Result<InputRequiredResult, Error> {
    let requests = requests.map(|(key, request)| (key.to_owned(), request));
    let mut result = json!({ "resultType": "input_required", "inputRequests": Value::Object(requests.into_iter().collect()) });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    typed(result)
}

fn ask<const N: usize>(requests: [(&str, Value); N], state: Option<String>) -> Outcome {
    Ok(RequestOutcome::input_required(asked(requests, state)?))
}

fn text(text: String) -> Outcome {
    Ok(RequestOutcome::Complete(CallToolResult::text(text)))
}

pub(crate) fn form(message: &str, name: &str, kind: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn question(text: &str) -> Value {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

/// Two messages for each time that the model may use the tool.
const TURNS: usize = 8;
