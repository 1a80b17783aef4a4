//! Servers that are started by their clients: ours by each client, and ours as a process of its own, byte by byte.

use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Change, Client, End};
use serde_json::{Value, json};

use crate::interop::{OURS, PYTHON, Sdk, TYPESCRIPT, check_report};
use crate::steps;
use crate::support::{Program, alone, is_installed, lines};

const SERVER: &str = env!("CARGO_BIN_EXE_everything-server");

fn ours() -> Command {
    let mut command = Command::new(SERVER);
    command.arg("--stdio");
    command
}

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
    let (report, logged) = steps::run_with(ours());
    check_report(&report, &OURS);
    assert_eq!(logged, ["cancelled"]);
}

#[test]
fn our_client_on_the_typescript_server() {
    our_client_on_server(&TYPESCRIPT);
}

#[test]
fn our_client_on_the_python_server() {
    our_client_on_server(&PYTHON);
}

/// What the handlers of our server print is found where the client's own errors are, and not among the messages.
fn client_on_our_server(sdk: &Sdk) {
    if !is_installed(sdk.installed) {
        return;
    }
    let _alone = alone();
    let mut command = sdk.command(sdk.client);
    let (client, errors) = Program::start_heard(command.args(["--stdio", SERVER, "--stdio"]));
    let mut report: Value = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(client.end(), [""; 0]);
    assert_eq!(rest(&errors), ["cancelled"]);
    // The TypeScript client loses progress that it reads together with the answer.
    let values = report["progress"]["values"].take();
    let whole = [1, 2, 3, 4, 5].map(Value::from);
    assert!(whole.starts_with(values.as_array().unwrap()), "{values}");
    report["progress"]["values"] = json!(whole);
    check_report(&report, &OURS);
    let restart = json!({ "died": true, "isError": false, "text": "still here" });
    assert_eq!(report["restart"], restart);
}

fn our_client_on_server(sdk: &Sdk) {
    if !is_installed(sdk.installed) {
        return;
    }
    let _alone = alone();
    let mut server = sdk.command(sdk.server);
    server.arg("--stdio");
    let (report, logged) = steps::run_with(server);
    check_report(&report, &sdk.serves);
    // What else is there is the SDK's own log.
    let told: Vec<_> =
        logged.iter().filter(|line| ["cancelled", "closed"].contains(&&***line)).collect();
    assert_eq!(told, sdk.serves.tells_of[1], "{logged:?}");
}

fn rest(lines: &Receiver<String>) -> Vec<String> {
    lines.iter().collect()
}

fn call(id: u32, tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn answer(line: &str) -> (u64, String) {
    let message: Value = serde_json::from_str(line).unwrap();
    let text = message["result"]["content"][0]["text"].as_str();
    (message["id"].as_u64().unwrap(), text.unwrap_or_else(|| panic!("{line}")).to_owned())
}

/// What a handler prints goes to standard error: `slow` prints when it is cancelled.
#[test]
fn standard_output_has_nothing_but_messages() {
    let (mut server, errors) = Program::start_heard(&mut ours());
    server.write(&call(1, "slow", &json!({ "ms": 10_000 })));
    server.write(&call(2, "echo", &json!({ "text": "ü" })));
    assert_eq!(answer(&server.line()), (2, "ü".to_owned()));
    let cancel = json!({ "requestId": 1 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel });
    server.write(&cancel.to_string());
    assert_eq!(errors.recv().unwrap(), "cancelled");
    server.write("not a message");
    let refused: Value = serde_json::from_str(&server.line()).unwrap();
    assert_eq!(refused["error"]["code"], -32700);
    server.write(&call(3, "echo", &json!({ "text": "x".repeat(1 << 20) })));
    assert_eq!(answer(&server.line()).1.len(), 1 << 20);
    assert_eq!(server.end(), [""; 0]);
    assert_eq!(rest(&errors), [""; 0]);
}

/// D5: nor do the processes that a handler starts.
#[cfg(unix)]
#[test]
fn children_have_no_part_in_the_stream() {
    let (mut server, errors) = Program::start_heard(&mut ours());
    server.write(&call(1, "child", &json!({})));
    server.write(&call(2, "echo", &json!({ "text": "mine" })));
    assert_eq!(answer(&server.line()), (1, "exit status: 0".to_owned()));
    assert_eq!(answer(&server.line()), (2, "mine".to_owned()));
    assert_eq!(server.end(), [""; 0]);
    assert_eq!(rest(&errors), ["stray"]);
}

/// D9: the end of the input lets calls in flight end, and then ends the process at once.
#[test]
fn calls_are_answered_before_the_process_ends() {
    let (mut server, _errors) = Program::start_heard(&mut ours());
    server.write(&call(1, "slow", &json!({ "ms": 300 })));
    server.write(&call(2, "echo", &json!({ "text": "now" })));
    let mut answers: Vec<_> = server.end().iter().map(|line| answer(line)).collect();
    answers.sort();
    assert_eq!(answers, [(1, "slept".to_owned()), (2, "now".to_owned())]);
}

/// The thread that reads standard input, which stays open, holds up nothing.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_process() {
    let (mut server, _errors) = Program::start_heard(&mut ours());
    server.write(&call(1, "echo", &json!({ "text": "here" })));
    assert_eq!(answer(&server.line()), (1, "here".to_owned()));
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    server.ended();
}

/// D8: nobody reads any more, which is the end and no fault.
#[cfg(unix)]
#[test]
fn a_broken_pipe_ends_the_process() {
    use std::io::Write;

    let mut command = ours();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let errors = lines(server.stderr.take().unwrap());
    drop(server.stdout.take());
    let mut stdin = server.stdin.take().unwrap();
    writeln!(stdin, "{}", call(1, "echo", &json!({ "text": "anybody?" }))).unwrap();
    // It ends by itself: its input is open, and so is its standard error until then.
    assert_eq!(rest(&errors), [""; 0]);
    assert!(server.wait().unwrap().success());
}

#[tokio::test]
async fn our_client_hears_of_changes() {
    let client = Client::spawn(ours()).unwrap();
    let filter = SubscriptionFilter::new().tools();
    let mut first = client.listen(filter.clone()).await.unwrap();
    let mut second = client.listen(filter.prompts()).await.unwrap();
    client.call_tool("test_trigger_tool_change", json!({})).await.unwrap();
    assert_eq!(first.next().await, Some(Change::Tools));
    assert_eq!(second.next().await, Some(Change::Tools));
    first.close();
    client.call_tool("test_trigger_prompt_change", json!({})).await.unwrap();
    assert_eq!(second.next().await, Some(Change::Prompts));
    // Whoever closes its input is told that its subscriptions have ended.
    client.close().await;
    assert_eq!(second.next().await, None);
    assert!(matches!(second.end(), Some(End::Graceful)), "{:?}", second.end());
}

/// Specification: stdio, Unexpected Termination.
#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_killed_can_be_started_again() {
    for _ in 0..2 {
        let client = Client::spawn(ours()).unwrap();
        let pid = client.call_tool("pid", json!({})).await.unwrap();
        let pid = pid.content[0].as_text().unwrap();
        assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
        let error = client.call_tool("slow", json!({ "ms": 10_000 })).await.unwrap_err();
        assert!(error.is_transport(), "{error:?}");
    }
}
