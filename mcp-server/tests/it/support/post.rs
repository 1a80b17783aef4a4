//! Requests, byte by byte: right by default, and wrong wherever a test wants them so.

use serde_json::{Value, json};

pub(crate) const VERSION: &str = "2026-07-28";

/// The `_meta` of a client that can do nothing.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The `_meta` of a client that declares `capabilities`.
pub(crate) fn capable(capabilities: Value) -> Value {
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    meta
}

/// The params of a call, with [`meta`].
pub(crate) fn call_params(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": meta() })
}

/// The text of a request; `id` is raw JSON. Params without a `_meta` get [`meta`], and a null one is
/// taken out.
pub(crate) fn message(id: &str, method: &str, mut params: Value) -> String {
    let object = params.as_object_mut().unwrap();
    match object.get("_meta") {
        None => {
            object.insert("_meta".into(), meta());
        }
        Some(Value::Null) => {
            object.remove("_meta");
        }
        Some(_) => {}
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, json!(method))
}

/// One HTTP/1.1 request.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    line: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Post {
    /// A request with id 1 whose headers say what its body says.
    pub(crate) fn rpc(method: &str, params: Value) -> Self {
        Self::with_id("1", method, params)
    }

    /// `tools/call`.
    pub(crate) fn call(tool: &str, arguments: Value) -> Self {
        Self::rpc("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// A call that asks for everything a handler may say before its result.
    pub(crate) fn listening(tool: &str) -> Self {
        Self::listening_for(tool, json!(7), Some("debug"))
    }

    /// A call that asks for progress with `token` and for logs from `level`; null and none for nothing.
    pub(crate) fn listening_for(tool: &str, token: Value, level: Option<&str>) -> Self {
        let mut meta = meta();
        if !token.is_null() {
            meta["progressToken"] = token;
        }
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        Self::rpc("tools/call", json!({ "name": tool, "_meta": meta }))
    }

    /// The same with any `id`, as raw JSON.
    pub(crate) fn with_id(id: &str, method: &str, params: Value) -> Self {
        let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
        let post = Self::bare(message(id, method, params.clone()))
            .set("MCP-Protocol-Version", VERSION)
            .set("Mcp-Method", method);
        match name {
            Some(name) => post.set("Mcp-Name", name),
            None => post,
        }
    }

    /// A request without the headers of MCP.
    pub(crate) fn bare(body: impl Into<Vec<u8>>) -> Self {
        let fields = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        Self {
            line: "POST /mcp HTTP/1.1".to_owned(),
            fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            body: body.into(),
        }
    }

    pub(crate) fn line(mut self, line: &str) -> Self {
        self.line = line.to_owned();
        self
    }

    /// Replaces every field of this name.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.remove(name).add(name, value)
    }

    pub(crate) fn add(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn remove(mut self, name: &str) -> Self {
        self.fields.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The head, with a `Content-Length` unless a test has framed the body itself.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        let framed = |(name, _): &(String, String)| {
            name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding")
        };
        if !self.fields.iter().any(framed) {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        (head + "\r\n").into_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }

    /// The same with its body in chunks of `size`.
    pub(crate) fn chunked(&self, size: usize) -> Vec<u8> {
        let mut bytes = self.clone().set("Transfer-Encoding", "chunked").head();
        for chunk in self.body.chunks(size) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.body
    }
}
