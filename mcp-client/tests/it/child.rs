//! Servers that are processes, here of the shell.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mcp_client::{Client, ClientBuilder};
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
        echo "{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}"
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
            script.replace("read -r line;", "read -r line && test $n = 0;")
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
