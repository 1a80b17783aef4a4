//! Commands that start nothing, say too much or do not end; nothing that they started survives the run.
#![cfg(unix)]

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::support::{SUITE, complaint, example, outcomes, suite, suite_within};

#[test]
fn commands_that_do_nothing() {
    let commands = [
        ("no-such-command-of-ours", "127"),
        ("exit 3", "3"),
        ("echo 'it says why' >&2; exit 1", "it says why"),
        ("true", "0"),
        ("'unbalanced", "2"),
        ("kill -9 $$", "signal"),
    ];
    for (command, said) in commands {
        for side in ["server", "client"] {
            // What is added to a client's command is its argument, and nothing else.
            let command =
                if side == "client" { format!("{command} #") } else { command.to_owned() };
            let told = complaint(&suite(&[side, "--command", &command]));
            assert!(told.starts_with(&format!("the {side} cannot be tested: ")), "{told}");
            assert!(told.contains(said), "{side}, {command}: {told}");
        }
    }
}

#[test]
fn processes_that_say_nothing() {
    for side in ["server", "client"] {
        let args = [side, "--patience", "0.2", "--command", "trap '' TERM; sleep 1000 #"];
        complaint(&suite(&args));
    }
}

/// Whatever is poured into either stream is read, and not kept.
#[test]
fn floods() {
    const MEMORY_KIB: u64 = 3 << 20;
    let server = format!("'{}' --stdio", example("our-server").display());
    let loud = format!("yes >&2 & {server}; kill $!");
    let only = ["--only", "server-discover-implemented", "--report", "json"];
    let ran =
        suite_within(MEMORY_KIB, &[&["server", "--command", &loud], only.as_slice()].concat());
    assert_eq!(outcomes(&ran)[0].1, "pass", "{}", String::from_utf8_lossy(&ran.stderr));
    for command in ["tr '\\0' x </dev/zero", "yes", "yes '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'"]
    {
        let args = [&["server", "--command", command], only.as_slice()].concat();
        let ran = suite_within(MEMORY_KIB, &args);
        assert_ne!(ran.status.code(), Some(0), "{command}");
        assert_ne!(ran.status.code(), None, "{command}");
        for stream in ["", ">&2"] {
            let command = format!("{command} {stream} #");
            let args = ["client", "--patience", "0.2", "--command", &command];
            complaint(&suite_within(MEMORY_KIB, &args));
        }
    }
}

/// A command that tells that it is started, and leaves somebody behind that no polite signal ends.
fn leaving(command: &str) -> String {
    format!("echo >&9; (trap '' TERM INT HUP; exec sleep 1000) >/dev/null 2>&1 & {command}")
}

/// Runs the suite, does something to it once it has started a command, and waits for all that it has started to end: each
/// holds a pipe open, as the descriptor 9.
fn ends(args: &[&str], then: impl Fn(u32)) -> Option<i32> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 9>&1 >/dev/null 2>&1; exec \"$0\" \"$@\"", SUITE]).args(args);
    let mut run = shell.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = run.stdout.take().unwrap();
    let (told, heard) = mpsc::channel();
    thread::spawn(move || {
        let _ = told.send(pipe.read(&mut [0]).unwrap());
        let _ = told.send(pipe.read_to_end(&mut Vec::new()).unwrap());
    });
    assert_eq!(heard.recv_timeout(LONG), Ok(1), "{args:?}: the command is started");
    then(run.id());
    let code = run.wait().unwrap().code();
    assert!(heard.recv_timeout(LONG).is_ok(), "{args:?}: something survives");
    code
}

/// Longer than anything takes that does not hang.
const LONG: Duration = Duration::from_secs(120);

fn signal(name: &str, process: u32) {
    let script = format!("kill -s {name} {process}");
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

#[test]
fn nothing_survives_a_signal() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        for side in ["server", "client"] {
            let command = leaving("trap '' TERM INT HUP; sleep 1000 #");
            let args = [side, "--patience", "600", "--command", &command];
            let ended = ends(&args, |run| signal(name, run));
            assert_eq!(ended, Some(code), "{side}, {name}");
        }
    }
}

#[test]
fn nothing_survives_the_end() {
    let quoted = |name: &str| format!("'{}'", example(name).display());
    let server = format!("{} --stdio", quoted("our-server"));
    for (side, command, only) in [
        ("server", server, "server-discover-implemented"),
        ("client", quoted("our-client"), "client-jsonrpc-id-unique"),
    ] {
        let args = [side, "--only", only, "--command", &leaving(&command)];
        assert_eq!(ends(&args, |_| ()), Some(0), "{side}");
    }
}

/// Wherever it is installed: a client is given a command that starts it.
#[test]
fn a_folder_of_any_name() {
    let folder = std::env::temp_dir().join(format!("mcp it's \"$HOME\" {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join(Path::new(SUITE).file_name().unwrap());
    std::fs::copy(SUITE, &program).unwrap();
    let client = format!("'{}'", example("our-client").display());
    let args = ["client", "--stdio", "--only", "client-stdio-framing", "--command", &client];
    let ran = Command::new(&program).args(args).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}
