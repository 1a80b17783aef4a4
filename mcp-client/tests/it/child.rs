//! Servers that are processes, here of the shell.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, Change, Client, ClientBuilder, Restart, Retry};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::support::call;

/// Answers every request, whose ids are 1, 2 and so on, after a banner.
const SERVE: &str = r#"
    echo 'ready to serve'
    n=0
    while read -r line; do
        n=$((n + 1))
        echo "{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}"
    done
"#;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A folder of this test's own, which it removes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-client-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Tells when nothing holds the write end of a FIFO any more: the processes that did are gone.
struct Alive {
    reader: BufReader<Receiver>,
    path: PathBuf,
}

impl Alive {
    fn new(folder: &Folder) -> Self {
        let path = PathBuf::from(folder.file("fifo"));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Before there is a writer: the last one to go is noticed only by readers that were there.
        let reader = BufReader::new(OpenOptions::new().open_receiver(&path).unwrap());
        Self { reader, path }
    }

    async fn all_gone(self) {
        let mut lines = self.reader.lines();
        let end = async { while lines.next_line().await.unwrap().is_some() {} };
        tokio::time::timeout(Duration::from_secs(20), end).await.expect("a process is left");
    }
}

// D4
#[tokio::test]
async fn a_process_is_called() {
    let (lines, mut logged) = mpsc::unbounded_channel();
    let client = ClientBuilder::spawn(shell(&format!("echo log 1 >&2; echo log 2 >&2; {SERVE}")))
        .on_stderr(move |line| lines.send(line.to_owned()).unwrap())
        .build()
        .unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(logged.recv().await.unwrap(), "log 1");
    assert_eq!(logged.recv().await.unwrap(), "log 2");
    client.close().await;
    let error = call(&client).await.unwrap_err();
    assert!(error.is_transport(), "{error:?}");
    client.close().await;
}

// D3: the end of its input is what a process ends by, and it has time to.
#[tokio::test]
async fn closing_lets_a_process_finish() {
    let folder = Folder::new("finish");
    let file = folder.file("flushed");
    let client = Client::spawn(shell(&format!("{SERVE} sleep 0.2; echo done > '{file}'"))).unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    client.close().await;
    assert_eq!(fs::read_to_string(file).unwrap(), "done\n");
}

// D3: one that ignores the end of its input is told to end, one that ignores that is killed.
#[tokio::test]
async fn closing_is_bounded() {
    let folder = Folder::new("bounded");
    let file = folder.file("told");
    for (trap, told) in [
        (format!("trap 'echo told > {file}; exit' TERM"), true),
        ("trap '' TERM".to_owned(), false),
    ] {
        let script = format!("{trap}; {SERVE} while true; do sleep 0.05; done");
        let builder =
            ClientBuilder::spawn(shell(&script)).shutdown_grace(Duration::from_millis(300));
        let client = builder.build().unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
        client.close().await;
        assert_eq!(fs::read_to_string(&file).is_ok_and(|text| text == "told\n"), told);
        let _ = fs::remove_file(&file);
    }
}

// D1: processes that the server has started go with it, however it goes.
#[tokio::test]
async fn grandchildren_go_too() {
    for way in ["drop", "close", "exit"] {
        let folder = Folder::new(way);
        let alive = Alive::new(&folder);
        // Opened for reading as well, so that opening it waits for nobody.
        let script = format!("exec 9<>'{}'; sleep 999 & {SERVE} exit", alive.path.display());
        let script = if way == "exit" {
            script.replace("read -r line;", "read -r line && test $n != 2;")
        } else {
            script
        };
        let client = Client::spawn(shell(&script)).unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
        match way {
            "drop" => drop(client),
            "close" => client.close().await,
            _ => assert!(call(&client).await.unwrap_err().is_transport()),
        }
        alive.all_gone().await;
    }
}

// C10
#[tokio::test]
async fn a_process_that_ends_ends_its_calls() {
    let client = Client::spawn(shell("read -r line; exit 3")).unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_transport() && !error.is_connect(), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let error = Client::spawn(Command::new("/no/such/program")).unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}

/// Notes in `$0` that it was started and in `$0.asked` that it was asked what it speaks, answers every request, and ends when the tool `die` is called: with an answer if
/// its argument says so.
const MORTAL: &str = r#"
    echo started >> "$0"
    while read -r line; do
        rest=${line#*\"id\":}; id=${rest%%,*}
        case "$line" in
            *'"method":"subscriptions/listen"'*)
                echo '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":'$id'}}}'
                continue;;
            *'"method":"server/discover"'*) echo asked >> "$0.asked";;
            *'"name":"die"'*) exit;;
        esac
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"content":[{"type":"text","text":"ok"}],"prompts":[]}}'
    done
"#;

fn mortal(script: &str, file: &str) -> ClientBuilder {
    let mut command = shell(script);
    command.arg(file);
    ClientBuilder::spawn(command)
}

fn starts(file: &str) -> usize {
    fs::read_to_string(file).unwrap().lines().count()
}

/// Restarts without pauses. No process here runs for long enough to be healthy.
fn quickly(times: u32) -> Restart {
    let backoff = Backoff::new().first(Duration::ZERO).most(Duration::from_secs(600));
    Restart::new().times(times).backoff(backoff)
}

#[tokio::test]
async fn a_process_that_died_is_started_again() {
    let folder = Folder::new("restart");
    let file = folder.file("starts");
    let client = mortal(MORTAL, &file).restart(quickly(5)).build().unwrap();
    for round in 1..=3 {
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(starts(&file), round);
        // Both were under way, so both fail: nobody knows what was done.
        let die = || client.call_tool("die", ()).into_future();
        let (one, other) = tokio::join!(die(), die());
        for error in [one.unwrap_err(), other.unwrap_err()] {
            assert!(error.is_transport() && !error.is_connect(), "{error:?}");
            assert_eq!(error.to_string(), "the server's process has ended");
        }
    }
    // However many wait for it, it is started once.
    let (one, other) = tokio::join!(call(&client), call(&client));
    assert_eq!((one.unwrap(), other.unwrap(), starts(&file)), ("ok".into(), "ok".into(), 4));
    client.close().await;
    assert!(call(&client).await.unwrap_err().is_transport());
    assert_eq!(starts(&file), 4);
}

// What is known of a server is known of its process.
#[tokio::test]
async fn the_next_process_is_asked_what_it_speaks() {
    let folder = Folder::new("asked");
    let file = folder.file("starts");
    let client = mortal(MORTAL, &file).restart(quickly(5)).build().unwrap();
    for round in 1..=3 {
        call(&client).await.unwrap();
        call(&client).await.unwrap();
        assert_eq!(starts(&format!("{file}.asked")), round);
        client.call_tool("die", ()).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_process_that_keeps_dying_is_given_up() {
    let folder = Folder::new("given-up");
    let file = folder.file("starts");
    let client = mortal(r#"echo started >> "$0""#, &file).restart(quickly(2)).build().unwrap();
    let mut errors = Vec::new();
    for _ in 0..6 {
        errors.push(call(&client).await.unwrap_err());
    }
    assert!(errors.iter().all(mcp_client::Error::is_transport), "{errors:?}");
    let last = errors.last().unwrap();
    assert_eq!(last.to_string(), "the connection to the server has ended");
    let why = std::error::Error::source(last).unwrap().to_string();
    assert_eq!(why, "it was started 2 times in a row");
    assert_eq!(starts(&file), 3);
}

// What only reads is called again, by a policy, at the process that takes the place.
#[tokio::test]
async fn calls_are_made_again_at_the_next_process() {
    let folder = Folder::new("again");
    let file = folder.file("starts");
    // The first one dies of its first request.
    let script =
        format!(r#"test -e "$0" || {{ echo started > "$0"; read -r line; exit; }} {MORTAL}"#);
    let retry = Retry::new().backoff(Backoff::new().first(Duration::ZERO));
    let client = mortal(&script, &file).restart(quickly(5)).retry(retry).build().unwrap();
    client.list_prompts().await.unwrap();
    assert_eq!(starts(&file), 2);
}

#[tokio::test]
async fn a_subscription_goes_on_at_the_next_process() {
    let folder = Folder::new("relisten");
    let file = folder.file("starts");
    let client = mortal(MORTAL, &file).restart(quickly(5)).build().unwrap();
    let backoff = Backoff::new().first(Duration::ZERO);
    let listen = client.listen(SubscriptionFilter::new().tools()).relisten(backoff);
    let mut changes = listen.await.unwrap();
    client.call_tool("die", ()).await.unwrap_err();
    assert_eq!(changes.next().await, Some(Change::Stale));
    assert_eq!(starts(&file), 2);
    // Closing ends it, for good.
    client.close().await;
    assert!(changes.next().await.is_none());
    assert_eq!(starts(&file), 2);
}

#[tokio::test]
async fn waiting_for_a_restart_ends_with_the_time_and_with_the_client() {
    let folder = Folder::new("waiting");
    let file = folder.file("starts");
    let hour = Duration::from_secs(3600);
    let restart = Restart::new().backoff(Backoff::new().first(2 * hour).most(2 * hour));
    let client = mortal(MORTAL, &file).restart(restart).build().unwrap();
    client.call_tool("die", ()).await.unwrap_err();
    let brief = client.call_tool("t", ()).timeout(Duration::from_millis(50));
    assert!(brief.await.unwrap_err().is_timeout());
    let waiting = tokio::spawn(client.call_tool("t", ()).timeout(hour).into_future());
    tokio::task::yield_now().await;
    client.close().await;
    assert!(waiting.await.unwrap().unwrap_err().is_transport());
    assert_eq!(starts(&file), 1);
}

// D1: a process that closes its output alone is not left running beside the next.
#[tokio::test]
async fn a_process_that_only_falls_silent_is_replaced() {
    let folder = Folder::new("silent");
    let (file, alive) = (folder.file("starts"), Alive::new(&folder));
    let fifo = alive.path.display();
    let script = format!(
        r#"test -e "$0" || {{ echo started > "$0"; exec 9<>'{fifo}' >&-; sleep 999; }} {MORTAL}"#
    );
    let client = mortal(&script, &file).restart(quickly(5)).build().unwrap();
    while call(&client).await.is_err() {}
    assert_eq!(starts(&file), 2);
    alive.all_gone().await;
}

// What a callback does with a line is no affair of the process, nor of its calls.
#[tokio::test]
async fn a_callback_that_panics_harms_nobody() {
    let (lines, mut heard) = mpsc::unbounded_channel();
    let chatty = SERVE.replace("n=$((n + 1))", "n=$((n + 1)); echo $n >&2 || exit");
    let client = ClientBuilder::spawn(shell(&chatty))
        .on_stderr(move |line| {
            lines.send(line.to_owned()).unwrap();
            panic!("{line}");
        })
        .build()
        .unwrap();
    for nth in 1..=3 {
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(heard.recv().await.unwrap(), nth.to_string());
    }
}

// A process may leave others behind that its group does not reach, with its standard output in their hands.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_is_gone_whoever_holds_its_output() {
    // It ends with the folder of the test.
    let holder = r#"setsid sh -c 'while test -e "$0"; do sleep 0.1; done' "$0" &"#;
    for restarts in [false, true] {
        let folder = Folder::new(&format!("held-{restarts}"));
        let file = folder.file("starts");
        let builder = mortal(&format!("echo >> $0; {holder} {MORTAL}"), &file);
        let builder = if restarts { builder.restart(quickly(5)) } else { builder };
        let client = builder.timeout(Duration::from_secs(20)).build().unwrap();
        assert_eq!(call(&client).await.unwrap(), "ok");
        let error = client.call_tool("die", ()).await.unwrap_err();
        assert!(error.is_transport(), "{error:?}");
        assert_eq!(call(&client).await.is_ok(), restarts);
        client.close().await;
    }
}
