//! Clients over HTTP: what they send is wrong, or they seem to take what they must not.

use serde_json::{Value, json};

use super::change::Change::{Asked, Said, Stays, Told};
use super::change::{method, name, put, replace, without};
use super::{Mutant, mutant};

/// What clients send.
pub(super) const SENT: &[Mutant] = &[
    mutant(
        "client-version-header-missing",
        "http-version-header",
        "sends no version in the header",
        Asked(|asked, _| asked.remove("MCP-Protocol-Version")),
    ),
    mutant(
        "client-version-header-wrong",
        "http-version-equals-meta",
        "sends another version in the header than in the body",
        Asked(|asked, _| asked.set("MCP-Protocol-Version", "2025-11-25")),
    ),
    mutant(
        "client-method-header-missing",
        "http-standard-headers",
        "sends no method in the header",
        Asked(|asked, _| asked.remove("Mcp-Method")),
    ),
    mutant(
        "client-name-header-wrong",
        "http-call-standard-headers",
        "sends another name in the header than in the body",
        Asked(|asked, _| {
            if asked.get("Mcp-Name").is_some() {
                asked.set("Mcp-Name", "another");
            }
        }),
    ),
    mutant(
        "client-name-raw",
        "http-name-encoded",
        "sends names as they are that a header cannot carry",
        Asked(|asked, _| {
            let message = asked.message();
            if asked.get("Mcp-Name").is_some_and(|it| it.starts_with("=?base64?")) {
                let raw = name(&message).bytes().map(char::from).collect::<String>();
                asked.set("Mcp-Name", &raw);
            }
        }),
    ),
    mutant(
        "client-accept-json",
        "http-accept",
        "accepts no streams",
        Asked(|asked, _| asked.set("Accept", "application/json")),
    ),
    mutant(
        "client-batch",
        "http-single-message-body",
        "posts a list of messages",
        Asked(|asked, _| {
            let message = asked.message();
            asked.set_message(&json!([message]));
        }),
    ),
    mutant(
        "client-put",
        "http-post",
        "sends requests by PUT",
        Asked(|asked, _| asked.first = asked.first.replacen("POST", "PUT", 1)),
    ),
    mutant(
        "client-params-unmirrored",
        "http-param-mirrored",
        "mirrors no parameters",
        Asked(|asked, _| asked.remove_all("Mcp-Param-")),
    ),
    mutant(
        "client-param-raw",
        "http-param-base64",
        "mirrors text as it is that a header cannot carry",
        Asked(|asked, _| {
            if asked.get("Mcp-Param-V").is_some_and(|it| it.starts_with("=?base64?")) {
                asked.set("Mcp-Param-V", "w\u{f6}rld");
            }
        }),
    ),
    mutant(
        "client-param-null",
        "http-param-absent-omitted",
        "mirrors parameters that are not there",
        Asked(|asked, _| {
            if name(&asked.message()) == "mirror" && asked.get("Mcp-Param-Region").is_none() {
                asked.set("Mcp-Param-Region", "null");
            }
        }),
    ),
    mutant(
        "client-capabilities-missing",
        "base-meta-required-fields",
        "does not say what it can do",
        Asked(|asked, _| {
            asked.bend(|message| {
                without(message, "/params/_meta", "io.modelcontextprotocol/clientCapabilities")
            });
        }),
    ),
    mutant(
        "client-info-missing",
        "base-meta-client-info",
        "does not say who it is",
        Asked(|asked, _| {
            asked.bend(|message| {
                without(message, "/params/_meta", "io.modelcontextprotocol/clientInfo")
            });
        }),
    ),
    mutant(
        "client-meta-key-wrong",
        "base-meta-name",
        "makes up a key of `_meta` that is none",
        Asked(|asked, _| {
            asked.bend(|message| put(message, "/params/_meta", "com..example/x_", 1));
        }),
    ),
    mutant(
        "client-id-reused",
        "base-request-id-unique",
        "gives all requests the same id",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, "/id", 1));
        }),
    ),
    mutant(
        "client-id-fraction",
        "base-request-id-type",
        "has an id with a fraction",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, "/id", 1.5));
        }),
    ),
    mutant(
        "client-id-null",
        "base-request-id-not-null",
        "has a null id",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, "/id", Value::Null));
        }),
    ),
    mutant(
        "client-notification-with-id",
        "base-notification-no-id",
        "sends a notification with an id",
        Asked(|asked, _| {
            asked.bend(|message| {
                if method(message) == "completion/complete" {
                    replace(message, "/method", "notifications/complete");
                }
            });
        }),
    ),
    mutant(
        "client-result-null",
        "base-jsonrpc",
        "has a null result in its requests",
        Asked(|asked, _| {
            asked.bend(|message| put(message, "", "result", Value::Null));
        }),
    ),
    mutant(
        "client-text-not-utf8",
        "transport-utf8",
        "writes text in Latin-1",
        Asked(|asked, _| {
            let text = String::from_utf8_lossy(&asked.body).into_owned();
            asked.body = text.chars().map(|it| u8::try_from(it).unwrap_or(b'\xff')).collect();
        }),
    ),
    mutant(
        "client-progress-token-reused",
        "progress-token-unique",
        "gives all calls the same token",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, "/params/_meta/progressToken", 7));
        }),
    ),
    mutant(
        "client-state-altered",
        "mrtr-state-echoed",
        "tidies a state up before it gives it back",
        Asked(|asked, _| {
            asked.bend(|message| {
                let state =
                    message["params"]["requestState"].as_str().map(|state| state.trim().to_owned());
                state.into_iter().for_each(|state| replace(message, "/params/requestState", state));
            });
        }),
    ),
    mutant(
        "client-state-invented",
        "mrtr-state-not-invented",
        "gives back a state that it did not get",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["params"]["inputResponses"].is_object()
                    && message["params"].get("requestState").is_none()
                {
                    put(message, "/params", "requestState", Value::Null);
                }
            });
        }),
    ),
    mutant(
        "client-retry-id",
        "mrtr-new-id",
        "retries under the id of the first request",
        Asked(|asked, memory| {
            asked.bend(|message| {
                let key = name(message).to_owned();
                match (
                    memory.kept(&format!("id of {key}")).last(),
                    message["params"]["inputResponses"].is_object(),
                ) {
                    (Some(first), true) => replace(message, "/id", first.clone()),
                    _ => memory.keep(&format!("id of {key}"), &message["id"]),
                }
            });
        }),
    ),
    mutant(
        "client-responses-everywhere",
        "mrtr-fields-not-shared",
        "sends its answers with other requests as well",
        Asked(|asked, _| {
            asked.bend(|message| {
                if method(message) == "tools/list" {
                    put(
                        message,
                        "/params",
                        "inputResponses",
                        json!({ "confirm": { "action": "accept" } }),
                    );
                }
            });
        }),
    ),
    mutant(
        "client-response-wrapped",
        "schema-input-responses-fit",
        "wraps its answers into results",
        Asked(|asked, _| {
            asked.bend(|message| {
                for (_, answer) in message
                    .pointer_mut("/params/inputResponses")
                    .and_then(Value::as_object_mut)
                    .into_iter()
                    .flatten()
                {
                    *answer = json!({ "result": answer.take() });
                }
            });
        }),
    ),
    mutant(
        "client-declined-content",
        "schema-content-only-of-accepted-forms",
        "sends content with a form that was declined",
        Asked(|asked, _| {
            asked.bend(|message| {
                for (_, answer) in message
                    .pointer_mut("/params/inputResponses")
                    .and_then(Value::as_object_mut)
                    .into_iter()
                    .flatten()
                {
                    if answer["action"] == "decline" {
                        put(answer, "", "content", json!({}));
                    }
                }
            });
        }),
    ),
    mutant(
        "client-roots-elsewhere",
        "roots-file-uris",
        "lists a root that is no file",
        Asked(|asked, _| {
            asked.bend(|message| {
                for (_, answer) in message
                    .pointer_mut("/params/inputResponses")
                    .and_then(Value::as_object_mut)
                    .into_iter()
                    .flatten()
                {
                    replace(answer, "/roots/0/uri", "https://example.com/");
                }
            });
        }),
    ),
    mutant(
        "client-cursor-trimmed",
        "pagination-cursor-not-modified",
        "trims cursors",
        Asked(|asked, _| {
            asked.bend(|message| {
                let cursor =
                    message["params"]["cursor"].as_str().map(|cursor| cursor.trim().to_owned());
                cursor.into_iter().for_each(|cursor| replace(message, "/params/cursor", cursor));
            });
        }),
    ),
    mutant(
        "client-integer-large",
        "tools-header-integer-range",
        "mirrors integers as it likes",
        Asked(|asked, _| {
            if asked.get("Mcp-Param-N").is_some() {
                asked.set("Mcp-Param-N", "9.007199254740991e15");
            }
        }),
    ),
    mutant(
        "client-stream-kept",
        "cancel-on-timeout",
        "keeps the stream of a call that it has given up",
        Stays,
    ),
];

/// What clients seem to take.
pub(super) const TAKEN: &[Mutant] = &[
    mutant(
        "client-type-unknown-taken",
        "base-result-type-unknown",
        "takes a result of a type that it does not know",
        Said(|_, said, _| {
            replace(said, "/result/resultType", "complete");
        }),
    ),
    mutant(
        "client-type-absent-refused",
        "base-result-type-absent",
        "refuses a result that names no type",
        Said(|_, said, _| {
            if said.get("result").is_some() && said["result"].get("resultType").is_none() {
                put(said, "/result", "resultType", "absent");
            }
        }),
    ),
    mutant(
        "client-wrong-header-taken",
        "tools-header-violations-rejected",
        "lists tools whose mirroring breaks a rule",
        Said(|_, said, _| {
            for tool in said
                .pointer_mut("/result/tools")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                replace(tool, "/inputSchema", json!({ "type": "object" }));
            }
        }),
    ),
    mutant(
        "client-output-unchecked",
        "tools-output-validated",
        "takes structured content that the schema excludes",
        Said(|_, said, _| {
            for tool in said
                .pointer_mut("/result/tools")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                without(tool, "", "outputSchema");
            }
        }),
    ),
    mutant(
        "client-stale-kept",
        "caching-ttl-zero-is-stale",
        "goes on with a list that was good for no time",
        Said(|_, said, _| {
            replace(said, "/result/ttlMs", 60_000);
        }),
    ),
    mutant(
        "client-fresh-dropped",
        "caching-ttl-positive-is-fresh",
        "asks again for a list that is still good",
        Said(|_, said, _| {
            replace(said, "/result/ttlMs", 0);
        }),
    ),
    mutant(
        "client-version-not-retried",
        "version-client-retries",
        "gives up where another version would be served",
        Said(|_, said, _| {
            if said["error"]["code"] == -32022 {
                replace(said, "/error/code", -32603);
            }
        }),
    ),
    mutant(
        "client-pages-lost",
        "pagination-both-flows",
        "reads the first page of a list alone",
        Said(|_, said, _| without(said, "/result", "nextCursor")),
    ),
    mutant(
        "client-result-unchecked",
        "tools-results-validated",
        "takes content that is none",
        Said(|_, said, _| {
            if said["result"].get("content").is_some_and(|it| !it.is_array()) {
                replace(said, "/result/content", json!([]));
            }
        }),
    ),
    mutant(
        "client-stream-refused",
        "transport-directions",
        "does not read streams",
        Told(|_, told| {
            if told.is_stream() {
                told.set("Content-Type", "text/plain");
            }
        }),
    ),
];
