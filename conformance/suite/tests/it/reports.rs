//! Reports of what a server sent to spoil them.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::fake::{Fake, answer, discovered};
use super::support::{SUITE, complaint, outcomes, suite};

/// Bytes that mean something to a terminal, to XML, JSON or Markdown, or that are no text.
const HOSTILE: &[u8] =
    b"\x00\x1b[31m]]>&<b>\"'|`x`\\| \xff\xed\xa0\x80 \xef\xbf\xbf\xef\xbf\xbe \xc2\x9b \xf0\x9f\x98\x80\r\n\t<!--";

const FORMS: [&str; 4] = ["terminal", "json", "junit", "markdown"];

fn reported(fake: &Fake, more: &[&str]) -> Output {
    let args =
        ["server", "--url", &fake.url, "--only", "server-discover", "--only", "server-version"];
    suite(&[&args, more].concat())
}

#[test]
fn what_servers_send_spoils_no_report() {
    let messages = [r"\u0000\u001b[31m ]]> <b> | `x` \u009b \ud83d\ude00", r"\ud800"];
    let errors = messages.map(|message| {
        let error = format!(r#"{{"code":1,"message":"{message}"}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#).into_bytes()
    });
    for body in errors.into_iter().chain([HOSTILE.to_vec()]) {
        let fake = Fake::start(move |stream, _| answer(stream, "400 Bad Request", &body));
        for form in FORMS {
            let ran = reported(&fake, &["--report", form, "--verbose"]);
            assert_eq!(ran.status.code(), Some(1), "{form}");
            let text = String::from_utf8(ran.stdout).unwrap();
            let is_bad =
                |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
            assert!(!text.contains(is_bad), "{form}: {text:?}");
            match form {
                "json" => drop(serde_json::from_str::<Value>(&text).unwrap()),
                "junit" => well_formed(&text),
                "markdown" => {
                    let rows = text.lines().filter(|line| line.starts_with('|'));
                    assert!(rows.clone().count() > 3);
                    for row in rows {
                        assert_eq!(row.matches('|').count(), 5, "{row}");
                    }
                }
                _ => {}
            }
        }
    }
}

/// Tags are closed in their order, and nothing else looks like one or like an entity.
fn well_formed(xml: &str) {
    let mut open = Vec::new();
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains("]]>") && !text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for entity in piece.split('&').skip(1) {
            let (name, _) = entity.split_once(';').unwrap();
            assert!(["amp", "lt", "gt", "quot", "#10"].contains(&name), "{name}");
        }
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (_, false) => open.push(name),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The server sends back what it was sent, as servers do that are helpful with errors.
#[test]
fn secrets_stand_in_no_report() {
    const TOKEN: &str = "ey0123456789.abcdefghij";
    const KEY: &str = "key-9876543210";
    let fake = Fake::start(|stream, request| {
        let told =
            serde_json::json!({ "jsonrpc": "2.0", "error": { "code": 1, "message": request } });
        answer(stream, "400 Bad Request", told.to_string().as_bytes());
    });
    let file = std::env::temp_dir().join(format!("mcp-headers-{}", std::process::id()));
    std::fs::write(&file, format!("X-Key: {KEY}\n")).unwrap();
    let header = format!("@{}", file.display());
    for form in FORMS {
        let ran = Command::new(SUITE)
            .env("MCP_CONFORMANCE_TOKEN", TOKEN)
            .args([
                "server",
                "--url",
                &fake.url,
                "--header",
                &header,
                "--report",
                form,
                "--verbose",
            ])
            .args(["--only", "server-discover", "--only", "server-meta", "--only", "server-auth"])
            .output()
            .unwrap();
        let text = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        assert!(!text.contains(TOKEN) && !text.contains(KEY), "{form}: {text}");
        assert!(form == "markdown" || text.contains("X-Key: [secret]"), "{form}: {text}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn the_order_is_that_of_the_list_whatever_runs_first() {
    let fake = Fake::start(discovered);
    let of = |jobs: &str| {
        let args = ["server", "--url", &fake.url, "--section", "server", "--report", "json"];
        let ran = suite(&[&args, ["--jobs", jobs].as_slice()].concat());
        outcomes(&ran).into_iter().map(|(id, outcome, _)| (id, outcome)).collect::<Vec<_>>()
    };
    let one = of("1");
    assert!(one.len() > 20);
    assert_eq!(one, of("64"));
}

/// A reader that has enough, such as `head`, changes nothing of what was found.
#[test]
fn a_closed_pipe_is_no_error() {
    let fake = Fake::start(discovered);
    for (only, code) in [("server-discover-implemented", 0), ("server-meta-missing", 1)] {
        let mut run = Command::new(SUITE)
            .args(["server", "--url", &fake.url, "--only", only])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(run.stdout.take());
        let ran = run.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{only}");
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    }
}

#[test]
fn files_of_expected_findings() {
    let fake = Fake::start(discovered);
    let file = std::env::temp_dir().join(format!("mcp-expected-{}", std::process::id()));
    let path = file.to_str().unwrap();
    let only = ["--only", "server-meta-missing", "--only", "server-discover-implemented"];
    let only = [&only, ["--only", "server-listen-teardown"].as_slice()].concat();
    let ran = |text: &[u8]| {
        std::fs::write(&file, text).unwrap();
        let args = ["server", "--url", &fake.url, "--expected", path];
        suite(&[&args, only.as_slice()].concat())
    };
    let good: [&[u8]; 4] = [
        b"server-meta-missing # why\n",
        b"\xef\xbb\xbf# all\r\n\r\nserver-meta-missing # why\r\n",
        // What is skipped, or about the other side, is not found out.
        b"server-meta-missing # why\nserver-listen-teardown # why\nclient-roots-uris # why",
        b"server-meta-missing # \x1b[31m why",
    ];
    for text in good {
        let ran = ran(text);
        let told = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.code(), Some(0), "{text:?}: {told}");
        assert!(told.contains("why") && !told.contains('\x1b'), "{told}");
    }
    let stale = ran(b"server-meta-missing # why\nserver-discover-implemented # why\n");
    assert_eq!(stale.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&stale.stdout).contains("STALE"));
    let bad: [(&[u8], &str); 5] = [
        (b"server-meta-missing", "line 1"),
        (b"\nserver-meta-missing #  \n", "line 2"),
        (b"server-meta-missing # a\nserver-meta-missing # b", "twice"),
        (b"sever-meta-missing # a", "no such check"),
        (b"server-meta-missing # \xff", "UTF-8"),
    ];
    for (text, said) in bad {
        let told = complaint(&ran(text));
        assert!(told.contains(said) && told.contains(path), "{told}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn reports_in_files() {
    let fake = Fake::start(discovered);
    let file = std::env::temp_dir().join(format!("mcp-report-{}", std::process::id()));
    // A longer one was there before.
    std::fs::write(&file, "x".repeat(1 << 20)).unwrap();
    let ran = reported(&fake, &["--report", "json", "--output", file.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(report["broken"], Value::Null);
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(told.contains(&format!("{} passed", report["passed"])), "{told}");
}
