//! Servers over HTTP that are wrong in what they say that they have, and in what they ask; clients that answer wrongly.

use serde_json::{Value, json};

use super::change::Change::{Asked, Said, Sends};
use super::change::{method, name, put, replace, without};
use super::{Mutant, mutant};

/// What servers have.
pub(super) const OFFERED: &[Mutant] = &[
    mutant(
        "tools-undeclared",
        "tools-declares-capability",
        "has tools and does not say so",
        Said(|_, said, _| without(said, "/result/capabilities", "tools")),
    ),
    mutant(
        "prompts-undeclared",
        "prompts-declares-capability",
        "has prompts and does not say so",
        Said(|_, said, _| without(said, "/result/capabilities", "prompts")),
    ),
    mutant(
        "resources-undeclared",
        "resources-declares-capability",
        "has resources and does not say so",
        Said(|_, said, _| without(said, "/result/capabilities", "resources")),
    ),
    mutant(
        "completions-undeclared",
        "completion-declares-capability",
        "completes and does not say so",
        Said(|_, said, _| without(said, "/result/capabilities", "completions")),
    ),
    mutant(
        "logging-undeclared",
        "logging-declares-capability",
        "logs and does not say so",
        Said(|_, said, _| without(said, "/result/capabilities", "logging")),
    ),
    mutant(
        "extension-bare",
        "version-extension-names",
        "names an extension without a prefix",
        Said(|_, said, _| {
            put(said, "/result/capabilities", "extensions", json!({ "bare": {} }));
        }),
    ),
    mutant(
        "tool-schema-untyped",
        "schema-input-schema-is-object",
        "has a tool whose schema names no type",
        Said(|_, said, _| {
            each(said, "/result/tools", |tool| without(tool, "/inputSchema", "type"))
        }),
    ),
    mutant(
        "tool-schema-invalid",
        "base-schema-valid",
        "has a tool whose schema is none",
        Said(|_, said, _| {
            each(said, "/result/tools", |tool| {
                put(tool, "/inputSchema", "properties", json!({ "a": { "required": true } }));
            });
        }),
    ),
    mutant(
        "tool-header-empty",
        "tools-header-not-empty",
        "mirrors a parameter into a header without a name",
        Said(|_, said, _| mirrored(said, "value", "x-mcp-header", &"".into())),
    ),
    mutant(
        "tool-header-spaced",
        "tools-header-is-token",
        "mirrors a parameter into a header with a space",
        Said(|_, said, _| mirrored(said, "value", "x-mcp-header", &"A B".into())),
    ),
    mutant(
        "tool-header-control",
        "tools-header-without-controls",
        "mirrors a parameter into a header with a line end",
        Said(|_, said, _| mirrored(said, "value", "x-mcp-header", &"A\r\nB".into())),
    ),
    mutant(
        "tool-header-twice",
        "tools-header-unique",
        "mirrors two parameters into one header",
        Said(|_, said, _| mirrored(said, "value", "x-mcp-header", &"COUNT".into())),
    ),
    mutant(
        "tool-header-in-list",
        "http-param-chain",
        "mirrors the entries of a list",
        Said(|_, said, _| {
            let entry = json!({ "type": "string", "x-mcp-header": "Entry" });
            mirrored(said, "value", "items", &entry);
        }),
    ),
    mutant(
        "prompt-resource-without-scheme",
        "prompts-embedded-uri",
        "embeds a resource whose URI is none",
        Said(|_, said, _| {
            each(said, "/result/messages", |it| replace(it, "/content/resource/uri", "no uri"));
        }),
    ),
    mutant(
        "prompt-resource-untyped",
        "prompts-embedded-mime-type",
        "embeds a resource without a media type",
        Said(|_, said, _| {
            each(said, "/result/messages", |it| without(it, "/content/resource", "mimeType"));
        }),
    ),
    mutant(
        "prompt-resource-empty",
        "prompts-embedded-content",
        "embeds a resource without its content",
        Said(|_, said, _| {
            each(said, "/result/messages", |it| without(it, "/content/resource", "text"));
        }),
    ),
    mutant(
        "prompt-sound-raw",
        "prompts-audio-encoded",
        "gives a sound that is not Base64",
        Said(|_, said, _| {
            each(said, "/result/messages", |it| {
                if it["content"]["type"] == "audio" {
                    replace(it, "/content/data", "no base64!");
                }
            });
        }),
    ),
    mutant(
        "prompt-evaluated",
        "prompts-injection-prevented-server",
        "works out what stands in an argument",
        Said(|_, said, _| {
            each(said, "/result/messages", |it| {
                let text = it["content"]["text"].as_str().map(|text| text.replace("7*7", "49"));
                text.into_iter().for_each(|text| replace(it, "/content/text", text));
            });
        }),
    ),
    mutant(
        "resource-uri-any",
        "resources-uris-validated",
        "reads something for what is no URI",
        Asked(|asked, _| {
            asked.bend(|message| {
                let uri = message["params"]["uri"].as_str().unwrap_or("test://");
                if !uri.contains("://") || uri.contains(' ') {
                    replace(message, "/params/uri", "test://static-text");
                }
            });
            let uri = asked.message()["params"]["uri"].as_str().map(str::to_owned);
            if let (Some(_), Some(uri)) = (asked.get("Mcp-Name"), uri) {
                asked.set("Mcp-Name", &uri);
            }
        }),
    ),
    mutant(
        "resource-path-open",
        "resources-paths-sanitized",
        "reads files outside of its folders",
        Said(|asked, said, _| {
            let uri = asked["params"]["uri"].as_str().unwrap_or_default();
            if uri.starts_with("file:") && uri.contains("..") {
                let contents = json!([{ "uri": uri, "text": "root:x:0:0:root:/root:/bin/sh" }]);
                let result = json!({ "resultType": "complete", "contents": contents, "ttlMs": 0, "cacheScope": "private" });
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            }
        }),
    ),
    mutant(
        "completion-input-coerced",
        "completion-inputs-validated",
        "completes a number",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["params"]["argument"]["value"].is_number() {
                    replace(message, "/params/argument/value", "5");
                }
            });
        }),
    ),
    mutant(
        "capabilities-remembered",
        "base-no-connection-context",
        "takes capabilities for declared that were declared before",
        Asked(|asked, memory| {
            asked.bend(|message| {
                let at = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
                match message.pointer(at) {
                    Some(Value::Object(now)) if !now.is_empty() => {
                        memory.keep("capabilities", &json!(now));
                    }
                    _ => {
                        let before = memory.kept("capabilities").into_iter().next();
                        before.into_iter().for_each(|before| replace(message, at, before));
                    }
                }
            });
        }),
    ),
    mutant(
        "code-for-something-else",
        "base-error-defined-meaning",
        "says of an unknown method that a capability is missing",
        Said(|_, said, _| {
            if said["error"]["code"] == -32601 {
                replace(said, "/error/code", -32021);
            }
        }),
    ),
    mutant(
        "code-retired",
        "base-error-retired-codes",
        "has a code that was retired",
        Said(|_, said, _| {
            if said["error"]["code"] == -32601 {
                replace(said, "/error/code", -32042);
            }
        }),
    ),
    mutant(
        "cancels-calls",
        "cancel-server-only-listen",
        "cancels a call of its client",
        Sends(|asked, said| {
            let params = json!({ "requestId": asked["id"] });
            let cancelled =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            let is_progress = method(&said) == "notifications/progress";
            if is_progress { vec![cancelled, said] } else { vec![said] }
        }),
    ),
    mutant(
        "trace-junk",
        "base-trace-format",
        "writes a trace that is none",
        Said(|_, said, _| put(said, "/result/_meta", "traceparent", "junk")),
    ),
    mutant(
        "meta-label-wrong",
        "base-meta-label",
        "begins a label in `_meta` with a digit",
        Said(|_, said, _| put(said, "/result/_meta", "1a.b/c", 1)),
    ),
    mutant(
        "meta-prefix-empty",
        "base-meta-prefix",
        "has an empty label in `_meta`",
        Said(|_, said, _| put(said, "/result/_meta", "a..b/c", 1)),
    ),
    mutant(
        "list-asks",
        "mrtr-supported-methods",
        "asks for input in answer to a list",
        Said(|asked, said, _| {
            if method(asked) == "prompts/list" {
                let result = json!({ "resultType": "input_required", "requestState": "s" });
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            }
        }),
    ),
    mutant(
        "form-without-schema",
        "elicitation-form-request-shape",
        "asks by a form without fields",
        Said(|_, said, _| {
            questions(said, |it| {
                if it["params"]["mode"] != "url" {
                    without(it, "/params", "requestedSchema");
                }
            });
        }),
    ),
    mutant(
        "visit-nowhere",
        "elicitation-url-request-shape",
        "asks for a visit and does not say where",
        Said(|_, said, _| questions(said, |it| without(it, "/params", "url"))),
    ),
    mutant(
        "visit-no-url",
        "elicitation-url-is-valid",
        "asks for a visit of what is no URL",
        Said(|_, said, _| questions(said, |it| replace(it, "/params/url", "over there"))),
    ),
    mutant(
        "refusal-breaks",
        "elicitation-refusal-handled",
        "breaks when a form is declined",
        Said(|asked, said, _| {
            let answers = asked["params"]["inputResponses"].to_string();
            if answers.contains("\"decline\"") || answers.contains("\"cancel\"") {
                let error = json!({ "code": -32603, "message": "broken" });
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
            }
        }),
    ),
    mutant(
        "sample-of-a-system",
        "sampling-request-messages-shape",
        "samples with a message of no known role",
        Said(|_, said, _| questions(said, |it| replace(it, "/params/messages/0/role", "system"))),
    ),
    mutant(
        "sample-tools-assumed",
        "sampling-tools-only-if-declared",
        "samples with tools where they were not declared",
        Said(|_, said, _| {
            questions(said, |it| {
                if method(it) == "sampling/createMessage" {
                    let schema = json!({ "type": "object" });
                    put(it, "/params", "tools", json!([{ "name": "a", "inputSchema": schema }]));
                }
            });
        }),
    ),
    mutant(
        "sample-results-mixed",
        "sampling-tool-results-alone",
        "puts a text beside the results of tools",
        Said(|_, said, _| {
            results(said, |content| content.push(json!({ "type": "text", "text": "Here." })));
        }),
    ),
    mutant(
        "sample-result-missing",
        "sampling-tool-uses-balanced",
        "leaves a use of a tool unanswered",
        Said(|_, said, _| results(said, |content| drop(content.pop()))),
    ),
    mutant(
        "sample-result-of-another",
        "sampling-tool-use-answered",
        "answers a use of a tool that there was not",
        Said(|_, said, _| {
            results(said, |content| {
                for result in content {
                    replace(result, "/toolUseId", "nobody's");
                }
            });
        }),
    ),
];

/// What clients answer, and what they say that they can.
pub(super) const ANSWERED: &[Mutant] = &[
    mutant(
        "client-progress-token-fraction",
        "progress-token-type",
        "asks for progress under a fraction",
        Asked(|asked, _| {
            asked.bend(|message| {
                let token = message["params"]["_meta"]["progressToken"].as_f64();
                replace(message, "/params/_meta/progressToken", token.unwrap_or_default() + 0.5);
            });
        }),
    ),
    mutant(
        "client-elicitation-declared-once",
        "elicitation-declared-on-each-request",
        "declares with calls alone that it elicits",
        Asked(|asked, _| asked.bend(|message| declares_with_calls(message, "elicitation"))),
    ),
    mutant(
        "client-sampling-declared-once",
        "sampling-declared-on-each-request",
        "declares with calls alone that it samples",
        Asked(|asked, _| asked.bend(|message| declares_with_calls(message, "sampling"))),
    ),
    mutant(
        "client-roots-declared-once",
        "roots-declared-on-each-request",
        "declares with calls alone that it lists roots",
        Asked(|asked, _| asked.bend(|message| declares_with_calls(message, "roots"))),
    ),
    mutant(
        "client-sample-of-a-system",
        "sampling-result-message-shape",
        "gives a sampled message a role of its own",
        Asked(|asked, _| {
            asked.bend(|message| answers(message, |it| replace(it, "/role", "system")))
        }),
    ),
    mutant(
        "client-sample-uses-nothing",
        "sampling-required-uses-a-tool",
        "uses no tool where it has to",
        Asked(|asked, _| asked.bend(|message| answers(message, says_nothing))),
    ),
    mutant(
        "client-sample-uses-something",
        "sampling-none-uses-no-tool",
        "uses a tool where it must not",
        Asked(|asked, _| {
            asked.bend(|message| {
                answers(message, |it| {
                    let used = json!({ "type": "tool_use", "id": "1", "name": "get_weather", "input": {} });
                    replace(it, "/content", json!([used]));
                });
            });
        }),
    ),
    mutant(
        "client-action-unknown",
        "elicitation-supports-a-mode",
        "answers forms as nobody may",
        Asked(|asked, _| {
            asked.bend(|message| answers(message, |it| replace(it, "/action", "maybe")))
        }),
    ),
    mutant(
        "client-argument-number",
        "schema-client-messages-fit",
        "has a number completed",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, "/params/argument/value", 5));
        }),
    ),
    mutant(
        "client-form-for-a-page",
        "elicitation-mode-omitted-is-form",
        "takes an elicitation without a mode for a visit",
        Said(|_, said, _| {
            questions(said, |it| {
                if it["params"].is_object() && it["params"]["mode"].is_null() {
                    put(it, "/params", "mode", "url");
                    put(it, "/params", "url", "https://example.com/");
                    without(it, "/params", "requestedSchema");
                }
            });
        }),
    ),
    mutant(
        "client-empty-cursor-the-end",
        "pagination-empty-cursor-is-no-end",
        "takes an empty cursor for the end",
        Said(|_, said, _| {
            if said["result"]["nextCursor"] == "" {
                without(said, "/result", "nextCursor");
            }
        }),
    ),
    mutant(
        "client-dialect-unknown-taken",
        "base-schema-unsupported-dialect",
        "takes what a schema in an unknown dialect excludes or not",
        Said(|_, said, _| {
            each(said, "/result/tools", |tool| {
                if tool["outputSchema"]["$schema"].is_string() {
                    without(tool, "", "outputSchema");
                }
            });
        }),
    ),
    mutant(
        "client-state-for-text",
        "mrtr-state-opaque",
        "gives an empty state back as none",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["params"]["requestState"] == "" {
                    without(message, "/params", "requestState");
                }
            });
        }),
    ),
    mutant(
        "client-param-null-mirrored",
        "http-param-null-omitted",
        "mirrors a null",
        Asked(|asked, _| {
            let message = asked.message();
            if name(&message) == "mirror"
                && message["params"]["arguments"].get("region") == Some(&Value::Null)
            {
                asked.set("Mcp-Param-Region", "");
            }
        }),
    ),
    mutant(
        "client-param-elsewhere",
        "http-call-param-paths",
        "mirrors what has the name of an annotated property elsewhere",
        Asked(|asked, _| {
            let message = asked.message();
            let region = message["params"]["arguments"]["other"]["region"].as_str();
            region.into_iter().for_each(|region| asked.set("Mcp-Param-Region", region));
        }),
    ),
    mutant(
        "client-sentinel-unwrapped",
        "http-sentinel-wrapped",
        "sends a text as it is that looks wrapped",
        Asked(|asked, _| {
            let message = asked.message();
            let text = message["params"]["arguments"]["v"].as_str();
            text.filter(|it| it.starts_with("=?base64?") && it.ends_with("?=") && it.len() > 12)
                .into_iter()
                .for_each(|text| asked.set("Mcp-Param-V", text));
        }),
    ),
];

/// Changes each entry of a list.
fn each(value: &mut Value, at: &str, change: impl Fn(&mut Value)) {
    value.pointer_mut(at).and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
}

/// Gives a property of the tool that has its arguments mirrored another member.
fn mirrored(said: &mut Value, property: &str, member: &str, new: &Value) {
    each(said, "/result/tools", |tool| {
        if tool["name"] == "test_custom_header" {
            put(tool, &format!("/inputSchema/properties/{property}"), member, new.clone());
        }
    });
}

/// Changes each input request of a result.
fn questions(said: &mut Value, change: impl Fn(&mut Value)) {
    let all = said.pointer_mut("/result/inputRequests").and_then(Value::as_object_mut);
    all.into_iter().flatten().for_each(|(_, request)| change(request));
}

/// Changes the messages that have the results of tools.
fn results(said: &mut Value, change: impl Fn(&mut Vec<Value>)) {
    questions(said, |it| {
        each(it, "/params/messages", |message| {
            let content = message.pointer_mut("/content").and_then(Value::as_array_mut);
            let content = content.filter(|all| all.iter().any(|it| it["type"] == "tool_result"));
            content.into_iter().for_each(&change);
        });
    });
}

/// Changes each answer of a client.
fn answers(message: &mut Value, change: impl Fn(&mut Value)) {
    let all = message.pointer_mut("/params/inputResponses").and_then(Value::as_object_mut);
    all.into_iter().flatten().for_each(|(_, answer)| change(answer));
}

fn says_nothing(answer: &mut Value) {
    if answer.get("role").is_some() {
        replace(answer, "/content", json!({ "type": "text", "text": "No." }));
    }
}

fn declares_with_calls(message: &mut Value, capability: &str) {
    if method(message) != "tools/call" {
        without(message, "/params/_meta/io.modelcontextprotocol~1clientCapabilities", capability);
    }
}
