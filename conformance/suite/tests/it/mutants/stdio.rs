//! Servers over standard input and output.

use serde_json::{Value, json};

use super::change::Change::{Asked, Said, Sends, Stays, Wire};
use super::change::{method, name, put, replace, without};
use super::{Mutant, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "lines-noise",
        "stdio-stdout-clean",
        "prints what is no message",
        Wire(|_, line| [&b"INFO served a request\n"[..], &line].concat()),
    ),
    mutant(
        "lines-broken",
        "stdio-no-embedded-newlines",
        "breaks messages over lines",
        Wire(|_, line| {
            let message = serde_json::from_slice::<Value>(&line).unwrap_or_default();
            format!("{message:#}\n").into_bytes()
        }),
    ),
    mutant(
        "lines-id-null",
        "base-result-id",
        "takes an empty id for none",
        Said(|asked, said, _| {
            if asked["id"] == "" {
                put(said, "", "id", Value::Null);
            }
        }),
    ),
    mutant(
        "lines-error-code-text",
        "base-error-code-integer",
        "writes error codes as texts",
        Said(|_, said, _| {
            let code = said["error"]["code"].to_string();
            replace(said, "/error/code", code);
        }),
    ),
    mutant(
        "lines-result-without-type",
        "base-result-type",
        "leaves resultType out",
        Said(|_, said, _| without(said, "/result", "resultType")),
    ),
    mutant(
        "lines-notification-answered",
        "base-notification-no-response",
        "answers a notification",
        Asked(|asked, _| {
            asked.bend(|message| {
                if message.get("id").is_none() && !method(message).is_empty() {
                    put(message, "", "id", "of a notification");
                }
            });
        }),
    ),
    mutant(
        "lines-version-any",
        "version-unsupported-error",
        "serves a version that it does not know",
        Asked(|asked, _| {
            asked.bend(|message| {
                replace(
                    message,
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    "2026-07-28",
                )
            });
        }),
    ),
    mutant(
        "lines-cancel-ignored",
        "stdio-cancel-silent",
        "answers what was cancelled",
        Asked(|asked, _| {
            if method(&asked.message()) == "notifications/cancelled" {
                asked.body.clear();
            }
        }),
    ),
    mutant(
        "lines-request",
        "stdio-no-server-requests",
        "sends a request of its own",
        Sends(|_, said| {
            let request =
                json!({ "jsonrpc": "2.0", "id": "mine", "method": "roots/list", "params": {} });
            if method(&said) == "notifications/progress" { vec![request, said] } else { vec![said] }
        }),
    ),
    mutant(
        "lines-ack-untagged",
        "listen-acknowledged",
        "acknowledges without the id of the subscription",
        Said(|_, said, _| {
            if method(said) == "notifications/subscriptions/acknowledged" {
                without(said, "/params/_meta", "io.modelcontextprotocol/subscriptionId");
            }
        }),
    ),
    mutant(
        "lines-progress-falls",
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
        "lines-state-tampered",
        "mrtr-state-refused",
        "takes state that somebody has changed",
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
    mutant("lines-end-ignored", "stdio-exits-on-eof", "goes on behind the end of its input", Stays),
];
