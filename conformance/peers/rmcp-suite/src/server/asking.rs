//! The tools that ask the client.

use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, InputRequest,
    InputRequests, InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use serde_json::{Value, json};

use crate::{Suite, typed};

type Caller = RequestContext<RoleServer>;
type Asked = Result<CallToolResponse, ErrorData>;

#[tool_router(router = asking, vis = "pub(crate)")]
impl Suite {
    #[tool(name = "test_input_required_result_elicitation", description = "Asks for a name.")]
    async fn elicitation(&self, context: Caller, InputResponses(given): InputResponses) -> Asked {
        match answer(&given, "user_name") {
            Some(said) => text(format!("Hello, {}!", said["content"]["name"])),
            None => {
                ask(&context, [("user_name", form("What is your name?", "name", "string"))], None)
            }
        }
    }

    #[tool(name = "test_streaming_elicitation", description = "Asks for a name.")]
    async fn streaming(&self, context: Caller, given: InputResponses) -> Asked {
        self.elicitation(context, given).await
    }

    #[tool(name = "test_input_required_result_sampling", description = "Asks the model.")]
    async fn sampling(&self, context: Caller, InputResponses(given): InputResponses) -> Asked {
        match answer(&given, "capital_question") {
            Some(said) => text(said["content"]["text"].to_string()),
            None => ask(
                &context,
                [("capital_question", question("What is the capital of France?"))],
                None,
            ),
        }
    }

    #[tool(name = "test_input_required_result_list_roots", description = "Asks for the roots.")]
    async fn list_roots(&self, context: Caller, InputResponses(given): InputResponses) -> Asked {
        match answer(&given, "client_roots") {
            Some(found) => text(found["roots"].to_string()),
            None => ask(&context, [("client_roots", roots())], None),
        }
    }

    #[tool(name = "test_input_required_result_request_state", description = "Asks, with a state.")]
    async fn request_state(
        &self,
        context: Caller,
        state: RequestState,
        given: InputResponses,
    ) -> Asked {
        let state = self.opened(state)?;
        match answer(&given.0, "confirm") {
            Some(_) if state.is_some() => text("state-ok, confirmed".to_owned()),
            _ => ask(
                &context,
                [("confirm", form("Go on?", "ok", "boolean"))],
                Some(self.sealed(&json!("state-ok"))?),
            ),
        }
    }

    #[tool(name = "test_input_required_result_tampered_state", description = "Asks, with a state.")]
    async fn tampered_state(
        &self,
        context: Caller,
        state: RequestState,
        given: InputResponses,
    ) -> Asked {
        self.request_state(context, state, given).await
    }

    #[tool(
        name = "test_input_required_result_multiple_inputs",
        description = "Asks for three things."
    )]
    async fn multiple_inputs(
        &self,
        context: Caller,
        state: RequestState,
        InputResponses(given): InputResponses,
    ) -> Asked {
        self.opened(state)?;
        if ["user_name", "greeting", "client_roots"].iter().all(|key| answer(&given, key).is_some())
        {
            return text("state-ok".to_owned());
        }
        let requests = [
            ("user_name", form("What is your name?", "name", "string")),
            ("greeting", question("Greet somebody.")),
            ("client_roots", roots()),
        ];
        ask(&context, requests, Some(self.sealed(&json!("state-ok"))?))
    }

    #[tool(name = "test_input_required_result_multi_round", description = "Asks twice.")]
    async fn multi_round(
        &self,
        context: Caller,
        state: RequestState,
        InputResponses(given): InputResponses,
    ) -> Asked {
        let state = self.opened(state)?.unwrap_or_default();
        let said = answer(&given, "step1").map(|said| said["content"]["name"].clone());
        let Some(name) = state.get("name").cloned().or(said) else {
            return ask(
                &context,
                [("step1", form("First, your name?", "name", "string"))],
                Some(self.sealed(&json!({}))?),
            );
        };
        match answer(&given, "step2") {
            Some(said) => text(format!("{name} likes {}", said["content"]["color"])),
            None => {
                let state = self.sealed(&json!({ "name": name }))?;
                ask(
                    &context,
                    [("step2", form("And your favourite colour?", "color", "string"))],
                    Some(state),
                )
            }
        }
    }

    #[tool(
        name = "test_input_required_result_capabilities",
        description = "Asks in whichever way it can."
    )]
    async fn capabilities(&self, context: Caller, given: InputResponses) -> Asked {
        match declared(&context).elicitation {
            Some(_) => self.elicitation(context, given).await,
            None => self.sampling(context, given).await,
        }
    }

    #[tool(name = "test_url_elicitation", description = "Sends the user to a page.")]
    async fn visit(
        &self,
        context: Caller,
        state: RequestState,
        InputResponses(given): InputResponses,
    ) -> Asked {
        self.opened(state)?;
        match answer(&given, "visit") {
            Some(said) => text(
                if said["action"] == "accept" { "Visited." } else { "Not visited." }.to_owned(),
            ),
            None => {
                let url = "https://example.com/visit";
                let params =
                    json!({ "mode": "url", "message": "Please visit this page.", "url": url });
                let request = json!({ "method": "elicitation/create", "params": params });
                ask(&context, [("visit", request)], Some(self.sealed(&json!({}))?))
            }
        }
    }

    #[tool(name = "test_sampling_with_tools", description = "Has the model use a tool.")]
    async fn weather(
        &self,
        context: Caller,
        state: RequestState,
        InputResponses(given): InputResponses,
    ) -> Asked {
        let first = json!([{ "role": "user", "content": { "type": "text", "text": "How is the weather in Paris?" } }]);
        let mut messages = self.opened(state)?.unwrap_or(first);
        if let Some(said) = answer(&given, "weather") {
            let content = &said["content"];
            let blocks = content.as_array().cloned().unwrap_or_else(|| vec![content.clone()]);
            let rain = json!([{ "type": "text", "text": "Rain." }]);
            let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
            let results = uses.map(
                |used| json!({ "type": "tool_result", "toolUseId": used["id"], "content": rain }),
            );
            let results = results.collect::<Vec<_>>();
            let all = messages
                .as_array_mut()
                .ok_or_else(|| ErrorData::invalid_params("no state of this tool", None))?;
            if results.is_empty() || all.len() > TURNS {
                return text(
                    blocks.first().map(|block| block["text"].to_string()).unwrap_or_default(),
                );
            }
            all.push(json!({ "role": "assistant", "content": content }));
            all.push(json!({ "role": "user", "content": results }));
        }
        let city = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
        let tools = json!([{ "name": "get_weather", "inputSchema": city }]);
        let params = json!({ "messages": messages, "maxTokens": 1000, "tools": tools });
        let request = json!({ "method": "sampling/createMessage", "params": params });
        ask(&context, [("weather", request)], Some(self.sealed(&messages)?))
    }

    #[tool(name = "test_missing_capability", description = "Needs a client that can sample.")]
    async fn missing_capability(&self, context: Caller) -> Asked {
        if declared(&context).sampling.is_none() {
            let required = ClientCapabilities::builder().enable_sampling().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        text("This is a simple text response for testing.".to_owned())
    }
}

impl Suite {
    fn sealed(&self, state: &Value) -> Result<String, ErrorData> {
        self.states
            .seal_json(state)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    fn opened(&self, RequestState(state): RequestState) -> Result<Option<Value>, ErrorData> {
        let opened = state.map(|state| self.states.open_json::<Value>(&state)).transpose();
        opened.map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }
}

fn lacking(declared: &Value, request: &Value) -> Option<Value> {
    let params = &request["params"];
    let (needed, is_there) = match request["method"].as_str() {
        Some("roots/list") => (json!({ "roots": {} }), declared["roots"].is_object()),
        Some("elicitation/create") if params["mode"] == "url" => {
            (json!({ "elicitation": { "url": {} } }), declared["elicitation"]["url"].is_object())
        }
        Some("elicitation/create") => {
            let modes = &declared["elicitation"];
            // A client that names no mode has forms.
            let has_forms =
                modes["form"].is_object() || modes.is_object() && !modes["url"].is_object();
            (json!({ "elicitation": { "form": {} } }), has_forms)
        }
        _ if params["tools"].is_array() => {
            (json!({ "sampling": { "tools": {} } }), declared["sampling"]["tools"].is_object())
        }
        _ => (json!({ "sampling": {} }), declared["sampling"].is_object()),
    };
    (!is_there).then_some(needed)
}

pub(crate) fn declared(context: &Caller) -> ClientCapabilities {
    context.meta.client_capabilities().unwrap_or_default()
}

/// What is no answer to anything is asked for again.
pub(crate) fn answer(given: &Option<rmcp::model::InputResponses>, key: &str) -> Option<Value> {
    let given = serde_json::to_value(given.as_ref()?.get(key)?).unwrap_or_default();
    let is_one = given["action"].is_string()
        && (given["action"] != "accept" || given["content"].is_object() || key == "visit");
    (is_one || given["roots"].is_array() || given["role"].is_string()).then_some(given)
}

/// What is asked is not held against what the client declared by the SDK.
pub(crate) fn requests<const N: usize>(
    declared: &ClientCapabilities,
    requests: [(&str, Value); N],
) -> Result<InputRequests, ErrorData> {
    let declared = serde_json::to_value(declared).unwrap_or_default();
    if let Some(lacks) = requests.iter().find_map(|(_, request)| lacking(&declared, request)) {
        return Err(ErrorData::missing_required_client_capability(typed(lacks)?));
    }
    let requests = requests
        .into_iter()
        .map(|(key, request)| Ok((key.to_owned(), typed::<InputRequest>(request)?)));
    requests.collect()
}

fn ask<const N: usize>(
    context: &Caller,
    asked: [(&str, Value); N],
    state: Option<String>,
) -> Asked {
    Ok(InputRequiredResult::new(Some(requests(&declared(context), asked)?), state).into())
}

fn text(text: String) -> Asked {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
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
    json!({ "method": "roots/list" })
}

/// Two messages for each time that the model may use the tool.
const TURNS: usize = 8;
