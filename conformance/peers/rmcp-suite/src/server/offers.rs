//! Prompts, what their arguments are completed to, and resources.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, CompleteRequestParams, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequiredResult, ReadResourceResponse, ReadResourceResult,
};
use serde_json::{Value, json};

use crate::asking::{answer, form, requests};
use crate::typed;

pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNkAAAAAgABTXhnpwAAAABJRU5ErkJggg==";
pub(crate) const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA";
const FIRE: &str = "the disk is on fire";

pub(crate) fn prompts() -> Value {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments
            .iter()
            .map(|name| json!({ "name": name, "required": true }))
            .collect::<Vec<_>>();
        json!({ "name": name, "description": "A prompt.", "arguments": arguments })
    };
    json!([
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_prompt_with_audio", &[]),
        prompt("test_prompt_with_completions", &["item"]),
        prompt("test_failing_prompt", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ])
}

pub(crate) fn prompt(
    request: &GetPromptRequestParams,
    declared: &ClientCapabilities,
) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let given = request
            .arguments
            .as_ref()
            .and_then(|given| given.get(name)?.as_str().map(str::to_owned));
        given.ok_or_else(|| ErrorData::invalid_params(format!("{name} is missing"), None))
    };
    let content = match request.name.as_ref() {
        "test_simple_prompt" => text("This is a simple prompt for testing."),
        "test_prompt_with_arguments" => {
            let (arg1, arg2) = (argument("arg1")?, argument("arg2")?);
            text(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))
        }
        "test_prompt_with_embedded_resource" => embedded(&argument("resourceUri")?),
        "test_prompt_with_image" => {
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
        }
        "test_prompt_with_audio" => {
            json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })
        }
        "test_prompt_with_completions" => text(&format!("The item is {}.", argument("item")?)),
        "test_failing_prompt" => return Err(ErrorData::internal_error(FIRE, None)),
        "test_input_required_result_prompt" => {
            match answer(&request.input_responses, "user_context") {
                Some(said) => {
                    text(&format!("Please say something about {}.", said["content"]["context"]))
                }
                None => {
                    let asked = requests(
                        declared,
                        [("user_context", form("What is this about?", "context", "string"))],
                    )?;
                    return Ok(InputRequiredResult::new(Some(asked), None).into());
                }
            }
        }
        other => {
            return Err(ErrorData::invalid_params(format!("there is no prompt {other}"), None));
        }
    };
    let messages = json!([{ "role": "user", "content": content }]);
    Ok(GetPromptResult::new(typed(messages)?).into())
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn embedded(uri: &str) -> Value {
    let text = "This is an embedded resource content.";
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "text/plain", "text": text } })
}

pub(crate) fn completed(request: &CompleteRequestParams) -> Value {
    let asked = serde_json::to_value(&request.r#ref).unwrap_or_default();
    let known = match asked["name"].as_str() {
        Some("test_prompt_with_completions") => {
            (1..=150).map(|number| format!("item-{number:03}")).collect()
        }
        Some("test_prompt_with_arguments") => {
            ["testing", "testbed", "hello"].map(str::to_owned).to_vec()
        }
        _ => Vec::new(),
    };
    let all = known
        .into_iter()
        .filter(|value| value.starts_with(&request.argument.value))
        .collect::<Vec<_>>();
    let values = all.iter().take(100).collect::<Vec<_>>();
    json!({ "values": values, "total": all.len(), "hasMore": all.len() > 100 })
}

pub(crate) fn resources() -> Value {
    let resource =
        |uri: &str, name: &str, kind: &str| json!({ "uri": uri, "name": name, "mimeType": kind });
    json!([
        resource("test://static-text", "static-text", "text/plain"),
        resource("test://static-binary", "static-binary", "image/png"),
        resource("file:///everything/readme.txt", "readme.txt", "text/plain"),
        resource("test://failing-resource", "failing-resource", "text/plain"),
    ])
}

pub(crate) fn templates() -> Value {
    let uri = "test://template/{id}/data";
    json!([{ "uriTemplate": uri, "name": "template", "mimeType": "application/json" }])
}

pub(crate) fn resource(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let template = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let (kind, member, contents) = match (uri, template) {
        ("test://static-text", _) => {
            ("text/plain", "text", "This is the content of the static text resource.".to_owned())
        }
        ("test://static-binary", _) => ("image/png", "blob", PNG.to_owned()),
        ("file:///everything/readme.txt", _) => ("text/plain", "text", "Read me.".to_owned()),
        ("test://failing-resource", _) => return Err(ErrorData::internal_error(FIRE, None)),
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ("application/json", "text", data.to_string())
        }
        _ => {
            return Err(ErrorData::resource_not_found(
                format!("there is no resource {uri}"),
                Some(json!({ "uri": uri })),
            ));
        }
    };
    let contents = json!([{ "uri": uri, "mimeType": kind, member: contents }]);
    Ok(ReadResourceResult::new(typed(contents)?).into())
}
