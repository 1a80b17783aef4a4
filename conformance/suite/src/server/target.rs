//! The server that is tested, and how a check speaks to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::endpoint::Endpoint;
use crate::verdict::{Stop, Verdict, Warnings};
use crate::wire::h2::{self, H2};
use crate::wire::http::Connection;
use crate::wire::json::at;
use crate::wire::line::Process;
use crate::wire::log::Secrets;
use crate::wire::{Log, Message, Open, Post, Record, Reply};

/// How the server is reached.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Http(Box<Endpoint>),
    /// By a shell command that starts it.
    Command(String),
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

/// Between two tries to find a server that may be starting.
const AGAIN: Duration = Duration::from_millis(100);
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
        let secrets = match &*target {
            Target::Http(endpoint) => endpoint.secrets(),
            Target::Command(_) => Secrets::default(),
        };
        Self {
            target,
            offer,
            log: Log::hiding(secrets),
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
            Target::Http(endpoint) if !endpoint.ways.other.is_empty() => {
                Ok(Self { is_other: true, ..self.clone() })
            }
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
        let endpoint = self.endpoint()?;
        let Endpoint { authority, path, .. } = endpoint;
        let headers = endpoint.headers(self.is_other);
        let post = Post::of(message, authority, path);
        Ok(headers.iter().fold(post, |post, (name, value)| post.set(name, value.as_bytes())))
    }

    /// Sends an HTTP request on a connection of its own, and reads the whole reply.
    pub(crate) async fn send(&self, post: &Post) -> Verdict<Reply> {
        self.open_post(post, &Value::Null).await?.finish().await
    }

    /// Sends an HTTP request on a connection of its own, and reads on as the check wants.
    pub(crate) async fn open_post(&self, post: &Post, id: &Value) -> Verdict<Open> {
        let open = if self.is_http2() {
            let scheme = self.endpoint()?.scheme();
            Open::http2(self.connect_h2().await?.send(post, scheme).await?, id.clone())
        } else {
            let mut connection = self.connect().await?;
            connection.send(&post.encode()).await?;
            let head = connection.final_head().await?;
            Open::http(connection, head, id.clone())
        };
        Ok(open.recorded("", &self.record))
    }

    /// A connection to the server, for bytes of HTTP/1.1 of any kind.
    pub(crate) async fn connect(&self) -> Verdict<Connection> {
        if self.is_http2() {
            return Err(Stop::skip("it is about the bytes of HTTP/1.1"));
        }
        let io = self.endpoint()?.connect(false, self.patience).await?;
        Ok(Connection::over(io, &self.log, self.patience))
    }

    /// A connection that speaks HTTP/2, whether or not the rest of the run does.
    pub(crate) async fn connect_h2(&self) -> Verdict<H2> {
        let io = self.endpoint()?.connect(true, self.patience).await?;
        H2::over(io, &self.log, self.patience).await
    }

    /// Where the server is, over HTTP.
    pub(crate) fn endpoint(&self) -> Verdict<&Endpoint> {
        match &*self.target {
            Target::Http(endpoint) => Ok(endpoint),
            Target::Command(_) => Err(Stop::skip("it is about HTTP")),
        }
    }

    /// The same for a server elsewhere.
    pub(crate) fn of_endpoint(&self, endpoint: Endpoint) -> Self {
        Self { target: Arc::new(Target::Http(Box::new(endpoint))), ..self.clone() }
    }

    /// Whether the run speaks HTTP/2 alone.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(&*self.target, Target::Http(endpoint) if endpoint.ways.http2)
    }

    /// Whether the HTTP that is spoken can carry this request as it is.
    pub(crate) fn carries(&self, post: &Post) -> bool {
        !self.is_http2() || h2::framed(post, "http").is_ok()
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

    /// The name of a tool that can be called without arguments and without harm.
    pub(crate) fn simple_tool(&self) -> Verdict<String> {
        let is_simple = |tool: &&Value| {
            at(tool, "/annotations/readOnlyHint") == true
                && at(tool, "/inputSchema/required").as_array().is_none_or(Vec::is_empty)
                && !tool.to_string().contains("x-mcp-header")
        };
        let tools = &self.offer.tools;
        let known = tools.iter().find(|tool| at(tool, "/name") == "test_simple_text");
        let found = known.or_else(|| tools.iter().find(is_simple));
        let name = found.and_then(|tool| at(tool, "/name").as_str());
        name.map(str::to_owned).ok_or_else(|| {
            Stop::skip(
                "the server has no test_simple_text, and no read-only tool that takes no arguments",
            )
        })
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

    /// Waits until the server answers at all, be it wrongly, and not much longer than this.
    ///
    /// # Errors
    /// Says what there is in place of an answer.
    pub(crate) async fn is_there(&self, wait: Duration) -> Result<(), String> {
        let end = Instant::now() + wait;
        loop {
            let why = match self.answers().await {
                Err(Stop::Fail { seen, .. }) => self.log.hide(&seen),
                Ok(()) | Err(Stop::Skip(_)) => return Ok(()),
            };
            // A command is started anew by every try, and says the same.
            if Instant::now() >= end || !self.is_http() {
                return Err(why);
            }
            sleep(AGAIN).await;
        }
    }

    /// There is a head of HTTP, or a line, in answer to a discover.
    async fn answers(&self) -> Verdict {
        let request = self.request("server/discover");
        if let Target::Http(endpoint) = &*self.target {
            let opened = self.open_post(&self.post(&request)?, request.id()).await;
            let url = format!("{}{}", endpoint.origin(), endpoint.path);
            return opened
                .map(drop)
                .map_err(|stop| stop.seen_at(format!("{url}, server/discover")));
        }
        let mut process = self.process()?;
        // It says more by its end, if it does not take this.
        let _ = process.send_line(&request.text()).await;
        match process.line().await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Stop::lost(process.obituary().await)),
            Err(stop) => Err(stop.seen_at("server/discover on standard input")),
        }
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
pub(super) fn made(schema: &Value) -> Value {
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
