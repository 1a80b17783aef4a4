//! The server that is tested, and how a check speaks to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::verdict::{Stop, Verdict, Warnings};
use crate::wire::http::Connection;
use crate::wire::json::at;
use crate::wire::line::Process;
use crate::wire::{Log, Message, Open, Post, Record, Reply};

/// How the server is reached.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Over HTTP.
    Http {
        /// Host and port, as the requests name them.
        authority: String,
        /// Host and port, as they are connected to.
        address: String,
        /// Path and query.
        path: String,
        /// Headers for every request, such as credentials.
        headers: Vec<(String, String)>,
        /// The same of another user, if there is one.
        other: Option<Vec<(String, String)>>,
    },
    /// By a shell command that starts it.
    Command(String),
}

impl Target {
    /// The target of a URL.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn url(url: &str, headers: Vec<(String, String)>) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("only http:// URLs can be tested")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.is_empty() {
            return Err("the URL has no host".to_owned());
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let address = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self::Http { authority: authority.to_owned(), address, path, headers, other: None })
    }

    /// The target with headers of another user, which stand in place of those of the same names.
    pub(crate) fn with_other(mut self, more: &[(String, String)]) -> Self {
        if let Self::Http { headers, other, .. } = &mut self
            && !more.is_empty()
        {
            let is_kept = |name: &str| more.iter().all(|(it, _)| !it.eq_ignore_ascii_case(name));
            let kept = headers.iter().filter(|(name, _)| is_kept(name)).cloned();
            *other = Some(kept.chain(more.iter().cloned()).collect());
        }
        self
    }
}

/// What a server says of itself, found out once before all checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// The result of `server/discover`, or null.
    pub(crate) discover: Value,
    pub(crate) tools: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
}

/// What a check of a server works with. A check gets one of its own.
#[derive(Clone)]
pub(crate) struct Cx {
    target: Arc<Target>,
    offer: Arc<Offer>,
    pub(crate) log: Log,
    /// What all checks have seen so far.
    pub(crate) record: Record,
    pub(crate) warnings: Warnings,
    pub(crate) patience: Duration,
    last_id: Arc<AtomicI64>,
    is_other: bool,
}

/// Pages of a list that are read to find out what a server offers.
const PAGES: usize = 20;

impl Cx {
    pub(crate) fn new(
        target: Arc<Target>,
        offer: Arc<Offer>,
        record: Record,
        patience: Duration,
    ) -> Self {
        let last_id = Arc::new(AtomicI64::new(0));
        Self {
            target,
            offer,
            log: Log::default(),
            record,
            warnings: Warnings::default(),
            patience,
            last_id,
            is_other: false,
        }
    }

    /// The same for another user.
    ///
    /// # Errors
    /// The check is skipped if there is none.
    pub(crate) fn as_other(&self) -> Verdict<Self> {
        match &*self.target {
            Target::Http { other: Some(_), .. } => Ok(Self { is_other: true, ..self.clone() }),
            _ => Err(Stop::skip("there is no other user; --other-header names one")),
        }
    }

    /// Whether the server is spoken to over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        matches!(*self.target, Target::Http { .. })
    }

    pub(crate) fn offer(&self) -> &Offer {
        &self.offer
    }

    /// A request with an id that was not used before.
    pub(crate) fn request(&self, method: &str) -> Message {
        Message::request(self.last_id.fetch_add(1, Ordering::Relaxed) + 1, method)
    }

    /// A call of a tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Message {
        self.request("tools/call").param("name", tool).param("arguments", arguments)
    }

    /// Sends a message as it has to be sent, and reads the whole reply.
    pub(crate) async fn ask(&self, message: &Message) -> Verdict<Reply> {
        self.open(message).await?.finish().await
    }

    /// Sends a message as it has to be sent, and reads on as the check wants.
    pub(crate) async fn open(&self, message: &Message) -> Verdict<Open> {
        let open = match &*self.target {
            Target::Http { .. } => self.open_post(&self.post(message)?, message.id()).await?,
            Target::Command(_) => {
                let mut process = self.process()?;
                process.send_line(&message.text()).await?;
                Open::lines(process, message.id().clone())
            }
        };
        Ok(open.recorded(message.method(), &self.record))
    }

    /// The HTTP request that carries a message, right in every way.
    ///
    /// # Errors
    /// The check is skipped over other transports.
    pub(crate) fn post(&self, message: &Message) -> Verdict<Post> {
        let Target::Http { authority, path, headers, other, .. } = &*self.target else {
            return Err(Stop::skip("it is about HTTP"));
        };
        let headers = other.as_ref().filter(|_| self.is_other).unwrap_or(headers);
        let post = Post::of(message, authority, path);
        Ok(headers.iter().fold(post, |post, (name, value)| post.set(name, value.as_bytes())))
    }

    /// Sends an HTTP request on a connection of its own, and reads the whole reply.
    pub(crate) async fn send(&self, post: &Post) -> Verdict<Reply> {
        self.open_post(post, &Value::Null).await?.finish().await
    }

    /// Sends an HTTP request on a connection of its own, and reads on as the check wants.
    pub(crate) async fn open_post(&self, post: &Post, id: &Value) -> Verdict<Open> {
        let mut connection = self.connect().await?;
        connection.send(&post.encode()).await?;
        let head = connection.head().await?;
        Ok(Open::http(connection, head, id.clone()).recorded("", &self.record))
    }

    /// A connection to the server, for bytes of any kind.
    pub(crate) async fn connect(&self) -> Verdict<Connection> {
        let Target::Http { address, .. } = &*self.target else {
            return Err(Stop::skip("it is about HTTP"));
        };
        Connection::open(address, &self.log, self.patience).await
    }

    /// The server as a process, for lines of any kind.
    pub(crate) fn process(&self) -> Verdict<Process> {
        let Target::Command(command) = &*self.target else {
            return Err(Stop::skip("it is about stdio"));
        };
        Process::start(command, &self.log, self.patience)
    }

    /// The tool of that name, which the server has to have.
    pub(crate) fn tool(&self, name: &str) -> Verdict<&Value> {
        let found = self.offer.tools.iter().find(|tool| at(tool, "/name") == name);
        found.ok_or_else(|| Stop::skip(format!("the server has no tool {name:?}")))
    }

    /// Arguments that the schema of a tool takes, as far as its keywords tell.
    pub(crate) fn arguments_of(tool: &Value) -> Value {
        made(at(tool, "/inputSchema"))
    }

    /// The name of a tool that can be called without arguments.
    pub(crate) fn simple_tool(&self) -> Verdict<String> {
        let is_simple =
            |tool: &&Value| at(tool, "/inputSchema/required").as_array().is_none_or(Vec::is_empty);
        let tools = &self.offer.tools;
        let known = tools.iter().find(|tool| at(tool, "/name") == "test_simple_text");
        let found = known.or_else(|| tools.iter().find(is_simple));
        let name = found.and_then(|tool| at(tool, "/name").as_str());
        name.map(str::to_owned)
            .ok_or_else(|| Stop::skip("the server has no tool that takes no arguments"))
    }

    /// Goes on if the server declares this capability, as a path such as `/tools/listChanged`.
    pub(crate) fn needs(&self, capability: &str) -> Verdict {
        let declared = at(&self.offer.discover, &format!("/capabilities{capability}"));
        if declared.is_null() || *declared == false {
            return Err(Stop::skip(format!(
                "the server does not declare {}",
                capability.trim_start_matches('/')
            )));
        }
        Ok(())
    }

    /// Finds out what the server offers. What does not answer is not offered.
    pub(crate) async fn find_out(&self) -> Offer {
        let discover = self.ask(&self.request("server/discover")).await;
        let discover = discover.and_then(|reply| reply.result().cloned()).unwrap_or_default();
        let has =
            |capability: &str| discover.pointer(&format!("/capabilities/{capability}")).is_some();
        let mut offer = Offer::default();
        if has("tools") {
            offer.tools = self.list("tools/list", "tools").await;
        }
        if has("prompts") {
            offer.prompts = self.list("prompts/list", "prompts").await;
        }
        if has("resources") {
            offer.resources = self.list("resources/list", "resources").await;
            offer.templates = self.list("resources/templates/list", "resourceTemplates").await;
        }
        Offer { discover, ..offer }
    }

    async fn list(&self, method: &str, member: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let request = match cursor {
                Some(cursor) => self.request(method).param("cursor", json!(cursor)),
                None => self.request(method),
            };
            let Ok(reply) = self.ask(&request).await else { break };
            let Ok(result) = reply.result() else { break };
            all.extend(at(result, &format!("/{member}")).as_array().cloned().unwrap_or_default());
            cursor = at(result, "/nextCursor").as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        all
    }
}

/// A value that a schema takes: its default, its first choice, or the least of its type.
fn made(schema: &Value) -> Value {
    let given = schema.get("default").or_else(|| schema.get("const"));
    if let Some(value) = given.or_else(|| schema.get("enum")?.get(0)) {
        return value.clone();
    }
    let kind = at(schema, "/type");
    match kind.as_str().or_else(|| kind.get(0)?.as_str()) {
        Some("string") => "test".into(),
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("boolean") => true.into(),
        Some("array") => json!([]),
        Some("null") => Value::Null,
        _ => {
            let required = at(schema, "/required").as_array().cloned().unwrap_or_default();
            let names = required.iter().filter_map(Value::as_str);
            let members = names
                .map(|name| (name.to_owned(), made(at(schema, &format!("/properties/{name}")))));
            Value::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let table = [
            ("http://h", "h", "h:80", "/"),
            ("http://h:8080/mcp?t=1", "h:8080", "h:8080", "/mcp?t=1"),
            ("http://[::1]/x", "[::1]", "[::1]:80", "/x"),
            ("http://[::1]:9?q", "[::1]:9", "[::1]:9", "/?q"),
        ];
        for (url, authority, address, path) in table {
            let Target::Http { authority: a, address: b, path: c, .. } =
                Target::url(url, Vec::new()).unwrap()
            else {
                panic!("{url} is HTTP");
            };
            assert_eq!((&*a, &*b, &*c), (authority, address, path), "{url}");
        }
        for url in ["", "h", "ftp://h", "http://", "http:///x"] {
            assert!(Target::url(url, Vec::new()).is_err(), "{url}");
        }
    }
}
