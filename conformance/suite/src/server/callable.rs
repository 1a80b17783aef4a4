//! Tools that may be called without asking anybody.

use serde_json::{Value, json};

use super::Cx;
use crate::shape::conforms;
use crate::verdict::{Stop, Verdict};
use crate::wire::Message;
use crate::wire::json::at;

impl Cx {
    /// The tools that may be called, with arguments that they take: those that were made to be, and others that say
    /// that they destroy nothing. Tools whose arguments are repeated in headers are none.
    pub(crate) fn callable(&self) -> Vec<(&Value, Value)> {
        let tools = self.offer().tools.iter().filter(|tool| is_harmless(tool));
        let tools = tools.map(|tool| (tool, Self::arguments_of(tool)));
        tools
            .filter(|(tool, arguments)| {
                let schema = at(tool, "/inputSchema");
                !schema.to_string().contains("\"x-mcp-header\"")
                    && conforms(arguments, schema).is_ok()
            })
            .collect()
    }

    /// Calls of all these tools.
    pub(crate) fn calls(&self) -> Vec<Message> {
        let tools = self.callable().into_iter();
        let tools = tools.filter(|(tool, _)| !has_effect(tool));
        tools.map(|(tool, arguments)| self.call(name(tool), arguments)).collect()
    }

    /// The prompts that can be got without arguments, and those that were made to be tested.
    pub(crate) fn gets(&self) -> Vec<Message> {
        let prompts = self.offer().prompts.iter().filter_map(|prompt| {
            let arguments = at(prompt, "/arguments").as_array().map(Vec::as_slice);
            let required = arguments.unwrap_or_default().iter();
            let required = required.filter(|argument| at(argument, "/required") == true);
            let names = required.filter_map(|argument| at(argument, "/name").as_str());
            let given = names.map(|name| {
                let value = if name == "resourceUri" { "test://example" } else { "test" };
                (name.to_owned(), Value::from(value))
            });
            let given = given.collect::<serde_json::Map<_, _>>();
            let name = name(prompt);
            let get = self.request("prompts/get").param("name", name);
            match given.is_empty() {
                true => Some(get),
                false => name.starts_with("test_").then(|| get.param("arguments", given)),
            }
        });
        prompts.collect()
    }

    /// The name of a tool that was made to be called, or may be, and the arguments that it takes.
    ///
    /// # Errors
    /// The check is skipped if there is none.
    pub(crate) fn any_call(&self) -> Verdict<Message> {
        if self.tool("test_simple_text").is_ok() {
            return Ok(self.call("test_simple_text", json!({})));
        }
        let first = self.calls().into_iter().next();
        first.ok_or_else(|| Stop::skip("the server has no tool that may be called by anybody"))
    }
}

/// The name of a tool or a prompt.
pub(crate) fn name(entry: &Value) -> &str {
    at(entry, "/name").as_str().unwrap_or_default()
}

fn is_harmless(tool: &Value) -> bool {
    name(tool).starts_with("test_")
        || FIXTURES.contains(&name(tool))
        || at(tool, "/annotations/readOnlyHint") == true
        || at(tool, "/annotations/destructiveHint") == false
}

/// Whether other checks could see that it was called, or have to wait for it.
fn has_effect(tool: &Value) -> bool {
    name(tool).starts_with("test_trigger_") || name(tool).starts_with("slow")
}

/// Tools to be tested with that do not say so in their names.
const FIXTURES: &[&str] = &[
    "json_schema_2020_12_tool",
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
];
