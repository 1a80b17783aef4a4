//! The peer in between, over standard input and output.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::change::{Change, Memory};
use super::http::Http;

/// Starts a server for every connection, passes lines on, and breaks one rule.
pub(crate) struct Lines {
    change: Change,
    memory: Memory,
    server: PathBuf,
}

impl Lines {
    /// Serves from now on, until the runtime ends; the port.
    pub(crate) async fn start(change: Change, server: PathBuf) -> io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let lines = Arc::new(Self { change, memory: Memory::default(), server });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let lines = Arc::clone(&lines);
                tokio::spawn(async move { lines.serve(client).await });
            }
        });
        Ok(port)
    }

    async fn serve(&self, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let mut server = Command::new(&self.server)
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (mut input, output) = (server.stdin.take(), server.stdout.take());
        let (from, mut to) = client.into_split();
        // What was asked for under each id that the server got, and what it got.
        let asked = Mutex::new(HashMap::<String, (Value, Value)>::new());
        let up = async {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).await? > 0 {
                let request = Http::line(std::mem::take(&mut line));
                let sent = self.change.asked(&request, &self.memory);
                let (message, sent_on) = (request.message(), sent.message());
                let id = sent_on.get("id").map(Value::to_string).unwrap_or_default();
                asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, (message, sent_on));
                let mut body = sent.body;
                if !body.is_empty() && !body.ends_with(b"\n") {
                    body.push(b'\n');
                }
                if let Some(input) = &mut input {
                    input.write_all(&body).await?;
                }
            }
            if matches!(self.change, Change::Stays) {
                std::future::pending::<()>().await;
            }
            drop(input.take());
            io::Result::Ok(())
        };
        let down = async {
            let Some(output) = output else { return Ok(()) };
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).await? > 0 {
                let line = std::mem::take(&mut line);
                let said = serde_json::from_slice::<Value>(&line).unwrap_or_default();
                let id = said.get("id").map(Value::to_string).unwrap_or_default();
                let found = asked.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
                let (asked, sent) = found.unwrap_or_default();
                let said = match self.change.hears() {
                    true => self.change.said(&asked, &sent, said, &self.memory),
                    false => vec![line.strip_suffix(b"\n").unwrap_or(&line).to_vec()],
                };
                for mut line in said {
                    line.push(b'\n');
                    to.write_all(&self.change.wire(&asked, line)).await?;
                }
            }
            to.shutdown().await
        };
        let (up, down) = tokio::join!(up, down);
        up.and(down)
    }
}
