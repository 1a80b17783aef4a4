//! What is asked of both servers.

use serde_json::json;

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Echo50,
    Echo64K,
    List1,
    List100,
    /// Ten events and a result, from a handler that never waits.
    Progress10,
    /// The same from a handler that lets others run after each event.
    Paced10,
}

impl Work {
    pub(crate) const ALL: [Self; 6] =
        [Self::Echo50, Self::Echo64K, Self::List1, Self::List100, Self::Progress10, Self::Paced10];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Echo50 => "echo-50",
            Self::Echo64K => "echo-64k",
            Self::List1 => "list-1",
            Self::List100 => "list-100",
            Self::Progress10 => "progress-10",
            Self::Paced10 => "paced-10",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|work| work.name() == name).expect("a name of Work::ALL")
    }

    /// How many requests make one round.
    pub(crate) const fn requests(self) -> usize {
        match self {
            Self::Echo64K => 8_000,
            _ => 40_000,
        }
    }

    /// How many tools are listed.
    pub(crate) const fn tools(self) -> usize {
        match self {
            Self::List100 => 100,
            _ => 1,
        }
    }

    /// The text to be echoed.
    pub(crate) fn text(self) -> String {
        "x".repeat(if self == Self::Echo64K { 64 * 1024 } else { 50 })
    }

    /// Fails unless `answer` is the right one: what fails is fast.
    pub(crate) fn check(self, answer: &[u8]) {
        let answer = std::str::from_utf8(answer).unwrap();
        let (needle, times) = match self {
            Self::Echo50 | Self::Echo64K => (self.text(), 1),
            Self::List1 | Self::List100 => ("\"inputSchema\"".to_owned(), self.tools()),
            Self::Progress10 | Self::Paced10 => ("notifications/progress".to_owned(), 10),
        };
        assert!(answer.matches(&needle).count() >= times, "{answer}");
        assert!(!answer.contains("\"isError\":true"), "{answer}");
    }

    /// One HTTP request, byte for byte.
    pub(crate) fn request(self) -> Vec<u8> {
        let (method, name) = match self {
            Self::Echo50 | Self::Echo64K => ("tools/call", Some("echo")),
            Self::List1 | Self::List100 => ("tools/list", None),
            Self::Progress10 => ("tools/call", Some("count")),
            Self::Paced10 => ("tools/call", Some("count-paced")),
        };
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1.0.0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if matches!(self, Self::Progress10 | Self::Paced10) {
            meta["progressToken"] = "token".into();
        }
        let mut params = json!({ "_meta": meta });
        let mut header = String::new();
        if let Some(name) = name {
            params["name"] = name.into();
            params["arguments"] = json!({ "text": self.text() });
            header = format!("mcp-name: {name}\r\n");
        }
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: {method}\r\n{header}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}
