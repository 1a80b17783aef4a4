//! A byte stream in memory with a server at its other end: lines out, lines in.

use mcp_server::{ServeError, ServeStream, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::io::{ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;

use super::{message, meta, within};

pub(crate) struct Lines {
    pub(crate) reader: BufReader<ReadHalf<DuplexStream>>,
    /// Until the end is written.
    writer: Option<WriteHalf<DuplexStream>>,
    pub(crate) task: JoinHandle<Result<(), ServeError>>,
}

impl Lines {
    pub(crate) fn serve(server: &Server) -> Self {
        Self::serve_with(server, 1 << 20, |serve| serve)
    }

    /// With more settings, and as many bytes of room in each direction.
    pub(crate) fn serve_with(
        server: &Server,
        room: usize,
        configure: impl FnOnce(ServeStream) -> ServeStream,
    ) -> Self {
        let (ours, theirs) = duplex(room);
        let (reader, writer) = split(theirs);
        let serve = configure(server.clone().serve_stream(reader, writer));
        Self::over(ours, tokio::spawn(serve.into_future()))
    }

    /// A stream whose other end is served in `task`.
    pub(crate) fn over(stream: DuplexStream, task: JoinHandle<Result<(), ServeError>>) -> Self {
        let (reader, writer) = split(stream);
        Self { reader: BufReader::new(reader), writer: Some(writer), task }
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let writer = self.writer.as_mut().unwrap();
        within(writer.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends a request; `id` is raw JSON.
    pub(crate) async fn send(&mut self, id: &str, method: &str, params: Value) {
        self.write(message(id, method, params) + "\n").await;
    }

    pub(crate) async fn call(&mut self, id: &str, tool: &str, arguments: Value) {
        self.send(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    }

    /// Calls a tool and asks for everything that it may say before its result, with its id as token.
    pub(crate) async fn call_listening(&mut self, id: &str, tool: &str) {
        let mut meta = meta();
        meta["progressToken"] = serde_json::from_str(id).unwrap();
        meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        self.send(id, "tools/call", json!({ "name": tool, "_meta": meta })).await;
    }

    /// `id` is raw JSON.
    pub(crate) async fn cancel(&mut self, id: &str) {
        self.write(format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        ))
        .await;
    }

    /// The next line with its end; `None` behind the last.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        within(self.reader.read_line(&mut line)).await.unwrap();
        (!line.is_empty()).then_some(line)
    }

    /// The next message, which has to be a line of JSON-RPC.
    pub(crate) async fn message(&mut self) -> Value {
        let line = self.line().await.expect("a message");
        let text = line.strip_suffix('\n').unwrap_or_else(|| panic!("{line:?}"));
        assert!(!text.contains(['\r', '\n']), "{text:?}");
        let message: Value = serde_json::from_str(text).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// Ends the input.
    pub(crate) async fn end(&mut self) {
        within(self.writer.take().unwrap().shutdown()).await.unwrap();
    }

    /// Lets go of both directions.
    pub(crate) fn close(&mut self) {
        let (gone, _) = split(duplex(1).0);
        self.reader = BufReader::new(gone);
        self.writer = None;
    }

    /// The messages that are left, up to the end.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.line().await {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// Waits until serving has ended.
    pub(crate) async fn ended(&mut self) -> Result<(), ServeError> {
        within(&mut self.task).await.unwrap()
    }

    /// Calls the tool `ok`, whose answer has to be the next message: nothing else was written before.
    pub(crate) async fn is_quiet(&mut self) {
        self.call("\"quiet\"", "ok", json!({})).await;
        let message = self.message().await;
        assert_eq!((&message["id"], text(&message)), (&json!("quiet"), "ok"), "{message}");
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The text of a tool's result.
pub(crate) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"))
}

/// The code and the id of an error.
pub(crate) fn error(message: &Value) -> (i64, Option<&Value>) {
    let code = message["error"]["code"].as_i64();
    (code.unwrap_or_else(|| panic!("{message}")), message.get("id"))
}
