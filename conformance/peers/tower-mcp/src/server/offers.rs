//! Prompts, what their arguments are completed to, and resources.

use std::collections::HashMap;

use serde_json::{Value, json};
use tower_mcp::protocol::{CompleteParams, CompleteResult, CompletionReference, RequestOutcome};
use tower_mcp::{
    Error, GetPromptResult, McpRouter, Prompt, PromptBuilder, ReadResourceResult, RequestContext,
    Resource, ResourceBuilder, ResourceTemplateBuilder,
};

use crate::asking::{answer, asked, form};
use crate::typed;

pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNkAAAAAgABTXhnpwAAAABJRU5ErkJggg==";
pub(crate) const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA";
const FIRE: &str = "the disk is on fire";

type Arguments = HashMap<String, String>;

pub(crate) fn add_to(router: McpRouter) -> McpRouter {
    let text = "This is the content of the static text resource.";
    let template = ResourceTemplateBuilder::new("test://template/{id}/data")
        .name("template")
        .description("The data of an id.")
        .mime_type("application/json")
        .handler(|uri: String, variables: Arguments| async move {
            let id = variables.get("id").cloned().unwrap_or_default();
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            read(&uri, "application/json", "text", &data.to_string())
        });
    router
        .prompts(prompts())
        .resource(resource("test://static-text", "static-text", "text/plain", "text", Some(text)))
        .resource(resource("test://static-binary", "static-binary", "image/png", "blob", Some(PNG)))
        .resource(resource(
            "file:///everything/readme.txt",
            "readme.txt",
            "text/plain",
            "text",
            Some("Read me."),
        ))
        .resource(resource(
            "test://failing-resource",
            "failing-resource",
            "text/plain",
            "text",
            None,
        ))
        .resource_template(template)
        .completion_handler(|params: CompleteParams| async move { Ok(completed(&params)) })
}

fn prompts() -> Vec<Prompt> {
    vec![
        prompt("test_simple_prompt", &[], |_| Ok(text("This is a simple prompt for testing."))),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"], |given| {
            Ok(text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given["arg1"], given["arg2"]
            )))
        }),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"], |given| {
            Ok(embedded(&given["resourceUri"]))
        }),
        prompt("test_prompt_with_image", &[], |_| {
            Ok(json!({ "type": "image", "data": PNG, "mimeType": "image/png" }))
        }),
        prompt("test_prompt_with_audio", &[], |_| {
            Ok(json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" }))
        }),
        prompt("test_prompt_with_completions", &["item"], |given| {
            Ok(text(&format!("The item is {}.", given["item"])))
        }),
        prompt("test_failing_prompt", &[], |_| Err(Error::internal(FIRE))),
        PromptBuilder::new("test_input_required_result_prompt")
            .description("Asks what it is about.")
            .mrtr_handler(|context: RequestContext, _: Arguments| async move {
                let Some(said) = answer(&context, "user_context") else {
                    let asked = asked(
                        [("user_context", form("What is this about?", "context", "string"))],
                        None,
                    )?;
                    return Ok(RequestOutcome::input_required(asked));
                };
                let about = format!("Please say something about {}.", said["content"]["context"]);
                Ok(RequestOutcome::Complete(message(text(&about))?))
            })
            .build(),
    ]
}

fn prompt(
    name: &str,
    arguments: &[&str],
    content: fn(&Arguments) -> Result<Value, Error>,
) -> Prompt {
    let builder = PromptBuilder::new(name).description("A prompt.");
    let builder =
        arguments.iter().fold(builder, |builder, name| builder.required_arg(*name, "An argument."));
    builder.handler(move |given: Arguments| async move { message(content(&given)?) }).build()
}

fn message(content: Value) -> Result<GetPromptResult, Error> {
    typed(json!({ "messages": [{ "role": "user", "content": content }] }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn embedded(uri: &str) -> Value {
    let text = "This is an embedded resource content.";
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "text/plain", "text": text } })
}

fn completed(params: &CompleteParams) -> CompleteResult {
    let known = match &params.reference {
        CompletionReference::Prompt { name } if name == "test_prompt_with_completions" => {
            (1..=150).map(|number| format!("item-{number:03}")).collect()
        }
        CompletionReference::Prompt { name } if name == "test_prompt_with_arguments" => {
            ["testing", "testbed", "hello"].map(str::to_owned).to_vec()
        }
        _ => Vec::new(),
    };
    let all = known
        .into_iter()
        .filter(|value| value.starts_with(&params.argument.value))
        .collect::<Vec<_>>();
    let values = all.iter().take(100).cloned().collect();
    CompleteResult::with_pagination(
        values,
        u32::try_from(all.len()).unwrap_or_default(),
        all.len() > 100,
    )
}

fn resource(
    uri: &'static str,
    name: &str,
    kind: &'static str,
    member: &'static str,
    contents: Option<&'static str>,
) -> Resource {
    ResourceBuilder::new(uri)
        .name(name)
        .description("A resource.")
        .mime_type(kind)
        .handler(move || async move {
            let contents = contents.ok_or_else(|| Error::internal(FIRE))?;
            read(uri, kind, member, contents)
        })
        .build()
}

fn read(uri: &str, kind: &str, member: &str, contents: &str) -> Result<ReadResourceResult, Error> {
    typed(json!({ "contents": [{ "uri": uri, "mimeType": kind, member: contents }] }))
}
