//! Servers over HTTP that do not check what they have to: the fault is gone before ours sees it.

use serde_json::{Value, json};

use super::change::Change::{Asked, Said};
use super::change::{method, name, put, replace, without};
use super::http::Http;
use super::{Mutant, mutant};

const VERSION: &str = "MCP-Protocol-Version";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "version-header-ignored",
        "http-version-mismatch",
        "takes any version in the header",
        Asked(|asked, _| {
            let version =
                asked.message()["params"]["_meta"][META_VERSION].as_str().map(str::to_owned);
            version.into_iter().for_each(|version| asked.set(VERSION, &version));
        }),
    ),
    mutant(
        "version-header-optional",
        "http-version-missing",
        "needs no version in the header",
        Asked(|asked, _| {
            if asked.get(VERSION).is_none_or(str::is_empty) {
                asked.set(VERSION, "2026-07-28");
            }
        }),
    ),
    mutant(
        "method-header-ignored",
        "http-mismatch-400",
        "takes any method in the header",
        Asked(|asked, _| {
            let message = asked.message();
            if asked.get("Mcp-Method").is_some_and(|it| !it.is_empty()) {
                asked.set("Mcp-Method", method(&message));
            }
        }),
    ),
    mutant(
        "method-header-optional",
        "http-standard-headers",
        "needs no method in the header",
        Asked(|asked, _| {
            let message = asked.message();
            if asked.get("Mcp-Method").is_none_or(str::is_empty) {
                asked.set("Mcp-Method", method(&message));
            }
        }),
    ),
    mutant(
        "name-header-ignored",
        "http-mismatch-code",
        "takes any name in the header",
        Asked(|asked, _| {
            if asked.get("Mcp-Name").is_some_and(|it| !it.is_empty()) {
                right_name(asked);
            }
        }),
    ),
    mutant(
        "name-header-optional",
        "http-standard-headers",
        "needs no name in the header",
        Asked(|asked, _| {
            if asked.get("Mcp-Name").is_none_or(str::is_empty) {
                right_name(asked);
            }
        }),
    ),
    mutant(
        "name-header-not-decoded",
        "http-encoded-understood",
        "reads a name in Base64 as it is",
        Asked(|asked, _| {
            if asked.get("Mcp-Name").is_some_and(|it| it.starts_with("=?base64?")) {
                asked.set("Mcp-Name", "undecoded");
            }
        }),
    ),
    mutant(
        "headers-repeated",
        "http-mismatch-refused",
        "takes the first of two names in the headers",
        Asked(|asked, _| {
            if let Some(first) = asked.get("Mcp-Name").map(str::to_owned) {
                asked.set("Mcp-Name", &first);
            }
        }),
    ),
    mutant(
        "param-header-ignored",
        "http-param-validated",
        "does not compare a parameter with its header",
        Asked(|asked, _| {
            if asked.get("Mcp-Param-Value").is_some() {
                right_param(asked);
            }
        }),
    ),
    mutant(
        "param-header-optional",
        "http-param-missing-refused",
        "needs no header of a parameter",
        Asked(|asked, _| {
            if asked.get("Mcp-Param-Value").is_none() {
                right_param(asked);
            }
        }),
    ),
    mutant(
        "param-header-demanded",
        "http-param-absent-not-expected",
        "needs a header for a parameter that is not there",
        Asked(|asked, _| {
            let message = asked.message();
            if name(&message) == "test_custom_header"
                && message["params"]["arguments"]["value"].is_null()
            {
                asked.set("Mcp-Param-Value", "x");
            }
        }),
    ),
    mutant(
        "param-integer-as-text",
        "http-integer-numeric",
        "compares an integer with its header as a text",
        Asked(|asked, _| {
            let count = asked.message()["params"]["arguments"]["count"].to_string();
            if asked.get("Mcp-Param-Count").is_some_and(|it| *it != *count) {
                asked.set("Mcp-Param-Count", "0");
            }
        }),
    ),
    mutant(
        "keys-repeated",
        "http-mismatch-refused",
        "takes the last of two equal keys",
        Asked(|asked, _| {
            let message = asked.message();
            if message.is_object() {
                asked.set_message(&message);
                if asked.get("Mcp-Method").is_some_and(|it| it != method(&message)) {
                    asked.set("Mcp-Method", method(&message));
                }
            }
        }),
    ),
    mutant(
        "origin-ignored",
        "http-origin-validated",
        "takes requests of any origin",
        Asked(|asked, _| asked.remove("Origin")),
    ),
    mutant(
        "meta-optional",
        "base-meta-missing-code",
        "needs no version and no capabilities in `_meta`",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["params"]["_meta"][META_VERSION].is_null() {
                    put(message, "/params/_meta", META_VERSION, "2026-07-28");
                }
                if message["params"]["_meta"][META_CAPABILITIES].is_null() {
                    put(message, "/params/_meta", META_CAPABILITIES, json!({}));
                }
            });
        }),
    ),
    mutant(
        "version-any",
        "http-version-unsupported",
        "serves a version that it does not know",
        Asked(|asked, _| {
            if asked.get(VERSION).is_some_and(|it| !it.is_empty()) {
                asked.set(VERSION, "2026-07-28");
                asked.bend(|message| replace(message, &pointer(META_VERSION), "2026-07-28"));
            }
        }),
    ),
    mutant(
        "id-null",
        "base-request-id-not-null",
        "answers a request whose id is null",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message.get("id") == Some(&Value::Null) {
                    put(message, "", "id", 1);
                }
            });
        }),
    ),
    mutant(
        "id-fraction",
        "base-request-id-type",
        "answers a request whose id has a fraction",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["id"].as_f64().is_some_and(|id| id.fract() != 0.0) {
                    put(message, "", "id", 1);
                }
            });
        }),
    ),
    mutant(
        "state-tampered",
        "mrtr-state-refused",
        "takes state that somebody has changed",
        Asked(|asked, memory| {
            asked.bend(|message| {
                let kept = memory.kept(name(message));
                if let (Some(state), Some(latest)) =
                    (message.pointer_mut("/params/requestState"), kept.first())
                    && !kept.contains(state)
                {
                    *state = latest.clone();
                }
            });
        }),
    ),
    mutant(
        "state-of-another-request",
        "mrtr-state-request",
        "takes state that was given with another tool",
        Asked(|asked, memory| {
            asked.bend(|message| {
                let kept = memory.kept(name(message));
                if let (Some(state), Some(latest)) =
                    (message.pointer_mut("/params/requestState"), kept.first())
                {
                    *state = latest.clone();
                }
            });
        }),
    ),
    mutant(
        "responses-coerced",
        "mrtr-responses-validated",
        "takes a number for a text in an answer of the user",
        Asked(|asked, _| {
            asked.bend(|message| {
                replace_if(
                    message,
                    "/params/inputResponses/user_name/content/name",
                    Value::is_number,
                    "5",
                )
            });
        }),
    ),
    mutant(
        "capabilities-assumed",
        "mrtr-declared-only",
        "asks a client for what it did not declare",
        Asked(|asked, _| {
            asked.bend(|message| {
                replace(
                    message,
                    &pointer(META_CAPABILITIES),
                    json!({ "elicitation": {}, "sampling": {}, "roots": {} }),
                );
            });
        }),
    ),
    mutant(
        "url-assumed",
        "elicitation-only-declared-modes",
        "asks for a visit where only forms were declared",
        Asked(|asked, _| {
            asked.bend(|message| {
                let at = format!("{}/elicitation", pointer(META_CAPABILITIES));
                put(message, &at, "url", json!({}));
            });
        }),
    ),
    mutant(
        "log-unasked",
        "logging-only-on-request",
        "sends log messages that nobody asked for",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message["params"]["_meta"][META_LOG_LEVEL].is_null() {
                    put(message, "/params/_meta", META_LOG_LEVEL, "debug");
                }
            });
        }),
    ),
    mutant(
        "log-level-ignored",
        "logging-not-below-level",
        "sends log messages below the level",
        Asked(|asked, _| {
            asked.bend(|message| replace(message, &pointer(META_LOG_LEVEL), "debug"));
        }),
    ),
    mutant(
        "log-level-any",
        "logging-invalid-level-error",
        "takes a log level that does not exist",
        Asked(|asked, _| {
            const LEVELS: &[&str] =
                &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
            let is_wrong =
                |level: &Value| level.as_str().is_none_or(|level| !LEVELS.contains(&level));
            asked.bend(|message| replace_if(message, &pointer(META_LOG_LEVEL), is_wrong, "info"));
        }),
    ),
    mutant(
        "resources-watched-besides",
        "listen-only-requested",
        "tells of the changes of resources that nobody watches",
        Asked(|asked, _| {
            asked.bend(|message| {
                let more =
                    ["test://static-text", "test://static-binary", "test://failing-resource"];
                let more = more.into_iter().chain(["file:///everything/readme.txt"]);
                let watched = message.pointer_mut("/params/notifications/resourceSubscriptions");
                if let Some(watched) = watched.and_then(Value::as_array_mut) {
                    watched.extend(more.map(Value::from));
                }
            });
        }),
    ),
    mutant(
        "argument-optional",
        "completion-missing-argument-error",
        "completes what does not say which argument it is",
        Asked(|asked, _| {
            asked.bend(|message| {
                if method(message) == "completion/complete"
                    && message["params"]["argument"]["name"].is_null()
                {
                    put(message, "/params", "argument", json!({ "name": "item", "value": "" }));
                }
            });
        }),
    ),
    mutant(
        "cursor-any",
        "pagination-invalid-cursor-error",
        "starts over with a cursor that it never gave",
        Asked(|asked, memory| {
            asked.bend(|message| {
                let is_known = memory.kept(method(message)).contains(&message["params"]["cursor"]);
                if message["params"]["cursor"].is_string() && !is_known {
                    without(message, "/params", "cursor");
                }
            });
        }),
    ),
    mutant(
        "arguments-unchecked",
        "tools-inputs-validated",
        "runs a tool with arguments that its schema excludes",
        Said(|_, said, _| {
            without(said, "/result", "isError");
        }),
    ),
];

fn pointer(key: &str) -> String {
    format!("/params/_meta/{}", key.replace('/', "~1"))
}

fn replace_if(value: &mut Value, at: &str, is_wrong: impl Fn(&Value) -> bool, new: &str) {
    if value.pointer(at).is_some_and(is_wrong) {
        replace(value, at, new);
    }
}

/// Makes `Mcp-Name` say what the body says.
fn right_name(asked: &mut Http) {
    let message = asked.message();
    let right = ["name", "uri"].into_iter().find_map(|member| message["params"][member].as_str());
    if let (Some(right), "tools/call" | "prompts/get" | "resources/read") =
        (right, method(&message))
    {
        asked.set("Mcp-Name", right);
    }
}

/// Makes the header of the fixture's parameter say what the body says, as far as a header can.
fn right_param(asked: &mut Http) {
    let message = asked.message();
    if let Some(value) = message["params"]["arguments"]["value"].as_str()
        && name(&message) == "test_custom_header"
        && value.bytes().all(|byte| byte.is_ascii_graphic())
    {
        asked.set("Mcp-Param-Value", value);
    }
}
