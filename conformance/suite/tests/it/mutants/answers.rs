//! Servers over HTTP whose answers are wrong.

use serde_json::{Value, json};

use super::change::Change::{Said, Sends, Stays, Told, Wire};
use super::change::{method, name, put, replace, without};
use super::{Mutant, mutant};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Heads and bodies.
pub(super) const HEADS: &[Mutant] = &[
    mutant(
        "origin-400",
        "http-origin-403",
        "refuses a foreign origin by another status",
        Told(|_, told| {
            if told.status() == 403 {
                told.set_status(400);
            }
        }),
    ),
    mutant(
        "get-served",
        "http-get-delete-405",
        "opens a stream for a GET",
        Told(|_, told| {
            if told.status() == 405 {
                told.set_status(200);
                told.set("Content-Type", "text/event-stream");
            }
        }),
    ),
    mutant(
        "method-unknown-400",
        "http-method-unknown",
        "refuses a method it does not know by 400",
        Told(|_, told| {
            if told.status() == 404 {
                told.set_status(400);
            }
        }),
    ),
    mutant(
        "meta-missing-200",
        "base-meta-missing-status",
        "refuses a request without `_meta` by 200",
        Told(|_, told| {
            if told.message()["error"]["code"] == -32602 {
                told.set_status(200);
            }
        }),
    ),
    mutant(
        "capability-missing-200",
        "base-missing-capability-status",
        "names a missing capability under 200",
        Told(|_, told| {
            if told.message()["error"]["code"] == -32021 {
                told.set_status(200);
            }
        }),
    ),
    mutant(
        "notification-200",
        "http-notification-accepted",
        "takes a notification by 200 and a body",
        Told(|_, told| {
            if told.status() == 202 {
                told.set_status(200);
                told.set_message(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
            }
        }),
    ),
    mutant(
        "notification-answered",
        "base-notification-no-response",
        "answers a notification",
        Told(|_, told| {
            if told.status() == 202 {
                told.set("Content-Type", "application/json");
                told.set_message(
                    &json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete" } }),
                );
            }
        }),
    ),
    mutant(
        "json-as-text",
        "http-response-types",
        "calls a JSON body text/plain",
        Told(|_, told| {
            if !told.is_stream() {
                told.set("Content-Type", "text/plain");
            }
        }),
    ),
    mutant(
        "stream-buffered",
        "http-accel-buffering",
        "does not say that a stream is not to be buffered",
        Told(|_, told| {
            told.remove("X-Accel-Buffering");
        }),
    ),
    mutant(
        "session-minted",
        "http-session-ignored",
        "gives out sessions",
        Told(|_, told| told.add("Mcp-Session-Id", "1")),
    ),
    mutant(
        "session-demanded",
        "http-session-ignored",
        "refuses sessions that it does not know",
        Told(|asked, told| {
            if asked.get("Mcp-Session-Id").is_some() {
                told.set_status(404);
                told.set_message(&json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "no session" } }));
            }
        }),
    ),
    mutant("work-goes-on", "http-cancel-stops", "works on when nobody waits any more", Stays),
    mutant(
        "text-not-utf8",
        "transport-utf8",
        "writes text in Latin-1",
        Wire(|_, bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.chars().map(|it| u8::try_from(it).unwrap_or(b'?')).collect()
        }),
    ),
    mutant(
        "event-cut",
        "http-stream-related",
        "breaks a response off within its event",
        Wire(|_, bytes| {
            let half = bytes.len() / 2;
            let is_response = bytes.windows(8).any(|it| it == b"\"result\"");
            if is_response && bytes.starts_with(b"data:") {
                bytes.into_iter().take(half).collect()
            } else {
                bytes
            }
        }),
    ),
];

/// Responses and errors.
pub(super) const RESPONSES: &[Mutant] = &[
    mutant(
        "id-as-text",
        "base-result-id",
        "answers under the id as a text",
        Said(|_, said, _| {
            let id = said["id"].as_i64();
            id.into_iter().for_each(|id| replace(said, "/id", id.to_string()));
        }),
    ),
    mutant(
        "error-without-id",
        "base-error-id",
        "leaves the id out of its errors",
        Said(|_, said, _| {
            if said.get("error").is_some() {
                without(said, "", "id");
            }
        }),
    ),
    mutant(
        "error-id-null",
        "base-error-member",
        "puts a null id into its errors",
        Said(|_, said, _| {
            if said.get("error").is_some() {
                put(said, "", "id", Value::Null);
            }
        }),
    ),
    mutant(
        "error-code-text",
        "base-error-code-integer",
        "writes error codes as texts",
        Said(|_, said, _| {
            let code = said["error"]["code"].to_string();
            replace(said, "/error/code", code);
        }),
    ),
    mutant(
        "error-without-message",
        "base-error-member",
        "gives errors without a message",
        Said(|_, said, _| without(said, "/error", "message")),
    ),
    mutant(
        "error-code-unassigned",
        "base-error-reserved-range",
        "takes codes out of the range that MCP keeps",
        Said(|_, said, _| {
            replace(said, "/error/code", -32050);
        }),
    ),
    mutant(
        "version-without-supported",
        "version-unsupported-error",
        "does not say which versions it serves",
        Said(|_, said, _| {
            without(said, "/error/data", "supported");
        }),
    ),
    mutant(
        "version-code",
        "http-version-unsupported",
        "refuses an unknown version by -32602",
        Said(|_, said, _| {
            if said["error"]["code"] == -32022 {
                replace(said, "/error/code", -32602);
            }
        }),
    ),
    mutant(
        "capability-unnamed",
        "base-missing-capability-error",
        "does not say which capability is missing",
        Said(|_, said, _| {
            without(said, "/error/data", "requiredCapabilities");
        }),
    ),
    mutant(
        "result-without-type",
        "base-result-type",
        "leaves resultType out",
        Said(|_, said, _| without(said, "/result", "resultType")),
    ),
    mutant(
        "result-type-unknown",
        "base-result-type-set",
        "makes a resultType up",
        Said(|_, said, _| replace(said, "/result/resultType", "done")),
    ),
    mutant(
        "result-and-error",
        "base-result-member",
        "gives a result and an error at once",
        Said(|_, said, _| {
            if said.get("result").is_some() {
                put(said, "", "error", json!({ "code": -32603, "message": "both" }));
            }
        }),
    ),
    mutant(
        "discover-without-versions",
        "discover-implemented",
        "does not say which versions it serves when it is discovered",
        Said(|_, said, _| {
            without(said, "/result", "supportedVersions");
        }),
    ),
    mutant(
        "discover-without-info",
        "base-server-info",
        "does not say who it is when it is discovered",
        Said(|asked, said, _| {
            if method(asked) == "server/discover" {
                without(said, "/result/_meta", "io.modelcontextprotocol/serverInfo");
            }
        }),
    ),
    mutant(
        "info-missing",
        "base-server-info",
        "does not say who it is",
        Said(|_, said, _| {
            without(said, "/result/_meta", "io.modelcontextprotocol/serverInfo");
        }),
    ),
    mutant(
        "ttl-missing",
        "caching-hints-present",
        "leaves ttlMs out",
        Said(|_, said, _| without(said, "/result", "ttlMs")),
    ),
    mutant(
        "ttl-text",
        "schema-server-messages-fit",
        "writes ttlMs as a text",
        Said(|_, said, _| replace(said, "/result/ttlMs", "60000")),
    ),
    mutant(
        "ttl-negative",
        "caching-ttl-not-negative",
        "gives a negative ttlMs",
        Said(|_, said, _| replace(said, "/result/ttlMs", -1)),
    ),
    mutant(
        "scope-differs",
        "caching-scope-same-on-all-pages",
        "calls later pages private",
        Said(|asked, said, _| {
            if asked["params"]["cursor"].is_string() {
                replace(said, "/result/cacheScope", "private");
            }
        }),
    ),
];

/// What servers offer.
pub(super) const FEATURES: &[Mutant] = &[
    mutant(
        "tools-shuffled",
        "tools-list-order",
        "lists tools in an order that changes",
        Said(|asked, said, memory| {
            if method(asked) != "tools/list" {
                return;
            }
            if asked["params"]["cursor"].is_null() {
                memory.keep("lists", &Value::Null);
            }
            if let Some(Value::Array(tools)) = said.pointer_mut("/result/tools") {
                let distance = memory.kept("lists").len() % tools.len().max(1);
                tools.rotate_left(distance);
            }
        }),
    ),
    mutant(
        "tools-twice",
        "tools-name-unique",
        "lists a tool twice",
        Said(|_, said, _| {
            if let Some(Value::Array(tools)) = said.pointer_mut("/result/tools") {
                tools.extend(tools.first().cloned());
            }
        }),
    ),
    mutant(
        "tool-name-spaced",
        "tools-name-alphabet",
        "has a tool with a space in its name",
        Said(|_, said, _| {
            replace(said, "/result/tools/0/name", "a tool");
        }),
    ),
    mutant(
        "tool-schema-no-object",
        "tools-input-schema-valid",
        "has a tool that takes no object",
        Said(|_, said, _| {
            replace(said, "/result/tools/0/inputSchema/type", "string");
        }),
    ),
    mutant(
        "tool-header-on-number",
        "tools-header-on-primitives",
        "has a number mirrored in a header",
        Said(|_, said, _| {
            let schema = json!({ "type": "object", "properties": { "n": { "type": "number", "x-mcp-header": "N" } } });
            replace(said, "/result/tools/0/inputSchema", schema);
        }),
    ),
    mutant(
        "tool-unknown-served",
        "schema-unknown-tool-error",
        "runs a tool that it does not have",
        Said(|asked, said, _| {
            if name(asked).starts_with("no_such_tool") {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "resultType": "complete", "content": [] } });
            }
        }),
    ),
    mutant(
        "tool-error-as-error",
        "schema-tool-errors-in-result",
        "answers a failed tool by an error",
        Said(|asked, said, _| {
            if said["result"]["isError"] == true {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32603, "message": "failed" } });
            }
        }),
    ),
    mutant(
        "structured-wrong",
        "tools-output-conforms",
        "gives structured content that its schema excludes",
        Said(|_, said, _| {
            replace(said, "/result/structuredContent", json!({ "n": "one" }));
        }),
    ),
    mutant(
        "structured-alone",
        "tools-structured-also-as-text",
        "gives structured content and no text of it",
        Said(|_, said, _| {
            if said["result"]["structuredContent"].is_object() {
                replace(said, "/result/content", json!([]));
            }
        }),
    ),
    mutant(
        "resource-missing-empty",
        "resources-not-found-is-not-empty",
        "reads nothing of a resource that does not exist",
        Said(|asked, said, _| {
            if method(asked) == "resources/read" && said["error"]["code"] == -32602 {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private" } });
            }
        }),
    ),
    mutant(
        "resource-missing-old-code",
        "resources-not-found-error",
        "reports a missing resource by the code of earlier revisions",
        Said(|_, said, _| {
            if said["error"]["code"] == -32602 {
                replace(said, "/error/code", -32002);
            }
        }),
    ),
    mutant(
        "resource-blob-raw",
        "resources-binary-encoded",
        "gives bytes that are not Base64",
        Said(|_, said, _| {
            replace(said, "/result/contents/0/blob", "no base64!");
        }),
    ),
    mutant(
        "prompt-image-raw",
        "prompts-image-encoded",
        "gives an image that is not Base64",
        Said(|_, said, _| {
            for message in said
                .pointer_mut("/result/messages")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                replace(message, "/content/data", "no base64!");
            }
        }),
    ),
    mutant(
        "prompt-argument-optional",
        "prompts-missing-argument-error",
        "fills a prompt without an argument that it needs",
        Said(|asked, said, _| {
            if method(asked) == "prompts/get" && said["error"]["code"] == -32602 {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "resultType": "complete", "messages": [] } });
            }
        }),
    ),
    mutant(
        "completions-many",
        "schema-completions-limited",
        "completes to more than a hundred values",
        Said(|_, said, _| {
            replace(said, "/result/completion/values", vec!["x"; 150]);
        }),
    ),
    mutant(
        "completion-fault-unnamed",
        "completion-internal-error",
        "has a code of its own for a fault in a completion",
        Said(|asked, said, _| {
            if method(asked) == "completion/complete" && said["error"]["code"] == -32603 {
                replace(said, "/error/code", 7);
            }
        }),
    ),
    mutant(
        "form-without-message",
        "elicitation-request-has-message",
        "asks without saying what for",
        Said(|_, said, _| {
            for (_, request) in said
                .pointer_mut("/result/inputRequests")
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
            {
                without(request, "/params", "message");
            }
        }),
    ),
    mutant(
        "form-nested",
        "schema-requested-schema-flat",
        "asks for an object in a form",
        Said(|_, said, _| {
            for (_, request) in said
                .pointer_mut("/result/inputRequests")
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
            {
                put(
                    request,
                    "/params/requestedSchema/properties",
                    "more",
                    json!({ "type": "object", "properties": {} }),
                );
            }
        }),
    ),
    mutant(
        "input-neither",
        "mrtr-inputs-or-state",
        "asks for input without requests and state",
        Said(|_, said, _| {
            if said["result"]["resultType"] == "input_required" {
                without(said, "/result", "inputRequests");
                without(said, "/result", "requestState");
            }
        }),
    ),
    mutant(
        "input-of-its-own",
        "mrtr-request-kinds",
        "asks by a method of its own",
        Said(|_, said, _| {
            for (_, request) in said
                .pointer_mut("/result/inputRequests")
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
            {
                replace(request, "/method", "com.example/ask");
            }
        }),
    ),
    mutant(
        "input-extra-refused",
        "mrtr-extra-ignored",
        "refuses answers that it did not ask for",
        Said(|asked, said, _| {
            if asked["params"]["inputResponses"]["nobody-asked"].is_object() {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32602, "message": "nobody asked" } });
            }
        }),
    ),
    mutant(
        "input-missing-refused",
        "mrtr-missing-asked-again",
        "fails where an answer is still missing",
        Said(|asked, said, _| {
            if asked["params"]["inputResponses"].is_object()
                && said["result"]["resultType"] == "input_required"
            {
                *said = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32602, "message": "missing" } });
            }
        }),
    ),
];

/// Streams.
pub(super) const STREAMS: &[Mutant] = &[
    mutant(
        "request-on-stream",
        "pattern-no-server-requests",
        "sends a request of its own",
        Sends(|_, said| {
            let request =
                json!({ "jsonrpc": "2.0", "id": "mine", "method": "roots/list", "params": {} });
            if method(&said) == "notifications/progress" { vec![request, said] } else { vec![said] }
        }),
    ),
    mutant(
        "notification-with-id",
        "base-notification-no-id",
        "gives its notifications ids",
        Said(|_, said, _| {
            if method(said).starts_with("notifications/") {
                put(said, "", "id", 99);
            }
        }),
    ),
    mutant(
        "response-twice",
        "http-response-ends-stream",
        "sends its response twice",
        Sends(|asked, said| {
            let is_twice = name(asked) == "test_tool_with_progress" && said.get("result").is_some();
            if is_twice { vec![said.clone(), said] } else { vec![said] }
        }),
    ),
    mutant(
        "foreign-notification",
        "http-stream-related",
        "sends what does not belong to the request on its stream",
        Sends(|asked, said| {
            let foreign = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            if method(asked) == "tools/call" && said.get("id").is_none() {
                vec![foreign, said]
            } else {
                vec![said]
            }
        }),
    ),
    mutant(
        "progress-falls",
        "progress-increases",
        "reports progress that falls",
        Said(|_, said, _| {
            let progress = said["params"]["progress"].as_f64();
            progress
                .into_iter()
                .for_each(|progress| replace(said, "/params/progress", 1000.0 - progress));
        }),
    ),
    mutant(
        "progress-late",
        "progress-stops",
        "reports progress behind the response",
        Sends(|asked, said| {
            let late = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": "p", "progress": 1000 } });
            let has_token = asked["params"]["_meta"]["progressToken"] == "p";
            if has_token && said.get("result").is_some() { vec![said, late] } else { vec![said] }
        }),
    ),
    mutant(
        "progress-token-text",
        "progress-token-provided",
        "writes a token that is a number as a text",
        Said(|_, said, _| {
            let token = said["params"]["progressToken"].as_i64();
            token
                .into_iter()
                .for_each(|token| replace(said, "/params/progressToken", token.to_string()));
        }),
    ),
    mutant(
        "progress-unasked",
        "progress-token-provided",
        "reports progress that nobody asked for",
        Sends(|asked, said| {
            let report = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 0, "progress": 1 } });
            let is_asked = asked["params"]["_meta"]["progressToken"].is_null()
                && name(asked) == "test_tool_with_progress";
            if is_asked { vec![report, said] } else { vec![said] }
        }),
    ),
    mutant(
        "ack-untagged",
        "listen-acknowledged",
        "acknowledges without the id of the subscription",
        Said(|_, said, _| {
            if method(said) == "notifications/subscriptions/acknowledged" {
                without(said, "/params/_meta", SUBSCRIPTION);
            }
        }),
    ),
    mutant(
        "ack-late",
        "listen-nothing-before-ack",
        "notifies before it has acknowledged",
        Sends(|asked, said| {
            let early = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": { SUBSCRIPTION: asked["id"] } } });
            if method(&said) == "notifications/subscriptions/acknowledged" {
                vec![early, said]
            } else {
                vec![said]
            }
        }),
    ),
    mutant(
        "subscription-id-wrong",
        "base-subscription-id",
        "tags notifications with another id",
        Said(|_, said, _| {
            if method(said) == "notifications/tools/list_changed" {
                put(said, "/params/_meta", SUBSCRIPTION, "another");
            }
        }),
    ),
    mutant(
        "filter-ignored",
        "listen-only-requested",
        "notifies of more than was asked for",
        Sends(|asked, said| {
            let other = json!({ "jsonrpc": "2.0", "method": "notifications/prompts/list_changed", "params": { "_meta": { SUBSCRIPTION: asked["id"] } } });
            if method(&said) == "notifications/tools/list_changed" {
                vec![other, said]
            } else {
                vec![said]
            }
        }),
    ),
];
