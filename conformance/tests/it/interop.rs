//! The clients and servers of other SDKs: each of their clients on our server, our client on each of
//! their servers. All go through the steps that `peers/README.md` lays down.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::steps;
use crate::support::{Program, Serving, alone, is_installed, peers};

#[test]
fn the_typescript_client_on_our_server() {
    client_on_our_server(&TYPESCRIPT);
}

#[test]
fn the_python_client_on_our_server() {
    client_on_our_server(&PYTHON);
}

#[test]
fn our_client_on_our_server() {
    let _alone = alone();
    let server = Serving::ours();
    let report = steps::run(&server.url);
    check(&report, &OURS, server);
}

#[test]
fn our_client_on_the_typescript_server() {
    our_client_on_server(&TYPESCRIPT);
}

#[test]
fn our_client_on_the_python_server() {
    our_client_on_server(&PYTHON);
}

/// Another SDK: what has to be there for it, and its programs.
pub(crate) struct Sdk {
    pub(crate) installed: &'static str,
    /// The first comes with the packages, on some platforms only.
    interpreters: [&'static str; 2],
    pub(crate) client: &'static str,
    pub(crate) server: &'static str,
    /// The client that signs in, and the server that wants it to.
    pub(crate) signing_in: &'static str,
    pub(crate) protected: &'static str,
    pub(crate) serves: Serves,
}

/// In what servers may differ.
pub(crate) struct Serves {
    name: &'static str,
    capabilities: &'static [&'static str],
    unknown: fn() -> Value,
    /// What it prints when a client gives up a call and then closes a subscription: over HTTP, over stdio.
    pub(crate) tells_of: [&'static [&'static str]; 2],
}

pub(crate) const OURS: Serves = Serves {
    name: "everything-server",
    capabilities: &["completions", "logging", "prompts", "resources", "tools"],
    unknown: || json!({ "error": { "code": -32602, "message": "Unknown tool: no_such_tool" } }),
    // A subscription has no handler that would notice.
    tells_of: [&["cancelled"]; 2],
};

pub(crate) const TYPESCRIPT: Sdk = Sdk {
    installed: "node_modules/@modelcontextprotocol/client/package.json",
    interpreters: ["node_modules/.bin/node", "node"],
    client: "js/client.mjs",
    server: "js/server.mjs",
    signing_in: "js/signing-in-client.mjs",
    protected: "js/protected-server.mjs",
    serves: Serves {
        name: "typescript-peer",
        capabilities: &["completions", "prompts", "resources", "tools"],
        unknown: || json!({ "error": { "code": -32602, "message": "Tool no_such_tool not found" } }),
        // Over stdio nothing of the SDK is told of a subscription that ends.
        tells_of: [&["cancelled", "closed"], &["cancelled"]],
    },
};

pub(crate) const PYTHON: Sdk = Sdk {
    installed: "py/.venv/.installed",
    interpreters: ["py/.venv/bin/python", "python3"],
    client: "py/client.py",
    server: "py/server.py",
    signing_in: "py/signing_in_client.py",
    protected: "py/protected_server.py",
    serves: Serves {
        name: "python-peer",
        capabilities: &["completions", "prompts", "resources", "tools"],
        unknown: || json!({ "isError": true, "text": "Unknown tool: no_such_tool" }),
        tells_of: [&["cancelled", "closed"]; 2],
    },
};

impl Sdk {
    pub(crate) fn command(&self, script: &str) -> Command {
        let [own, any] = self.interpreters;
        let own = peers().join(own);
        let mut command = Command::new(if own.exists() { own } else { PathBuf::from(any) });
        command.arg(peers().join(script));
        command
    }
}

fn client_on_our_server(sdk: &Sdk) {
    if !is_installed(sdk.installed) {
        return;
    }
    let _alone = alone();
    let server = Serving::ours();
    let client = Program::start(sdk.command(sdk.client).arg(&server.url));
    let report = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(client.end(), [""; 0]);
    check(&report, &OURS, server);
}

fn our_client_on_server(sdk: &Sdk) {
    if !is_installed(sdk.installed) {
        return;
    }
    let _alone = alone();
    let server = Serving::start(&mut sdk.command(sdk.server));
    let report = steps::run(&server.url);
    check(&report, &sdk.serves, server);
}

/// Looks at what a client saw of a server, and then at what the server saw.
fn check(report: &Value, serves: &Serves, server: Serving) {
    check_report(report, serves);
    // What the client gave up the server gave up as well, and nothing else.
    for told in serves.tells_of[0] {
        assert_eq!(server.program.line(), *told);
    }
    assert_eq!(server.program.end(), [""; 0]);
}

/// Looks at what a client saw.
pub(crate) fn check_report(report: &Value, serves: &Serves) {
    let discover = json!({
        "protocolVersion": "2026-07-28",
        "supportedVersions": ["2026-07-28"],
        "capabilities": serves.capabilities,
        "server": serves.name,
    });
    let granted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["peer://note"] });
    for (step, saw) in [
        ("discover", discover),
        ("echo", json!({ "isError": false, "text": steps::TEXT })),
        ("fail", json!({ "isError": true, "text": "failed on purpose" })),
        ("unknown", (serves.unknown)()),
        ("progress", json!({ "values": [1, 2, 3, 4, 5], "isError": false, "text": "done" })),
        ("after", json!({ "isError": false, "text": "still here" })),
        ("ask", json!({ "isError": false, "text": "Ada likes green", "asked": QUESTIONS })),
        ("sample", json!({ "isError": false, "text": "four" })),
        ("roots", json!({ "isError": false, "text": "file:///work" })),
        ("prompt", json!(["Hello, Ada!"])),
        ("resource", json!(["a note"])),
        ("complete", json!(["Ada", "Alan"])),
        ("listen", json!({ "granted": granted, "heard": ["peer://note", "tools"] })),
        ("end", json!("graceful")),
    ] {
        assert_eq!(report[step], saw, "{step}");
    }
    let listed = report["list"].as_array().unwrap();
    assert!(listed.ends_with(&TOOLS.map(Value::from)), "{listed:?}");
    assert_eq!(report["cancel"]["cancelled"], true);
}

const TOOLS: [&str; 9] =
    ["echo", "fail", "progress", "slow", "ask", "sample", "roots", "change", "end"];

/// What `ask` asks, each in a round of its own.
const QUESTIONS: [&str; 2] = ["Who are you?", "Which colour?"];
