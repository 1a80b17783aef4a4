//! One play: a server with a part, a client that was told what to do, and what was seen of it.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::answer::Answer;
use super::serve;
use crate::verdict::{Stop, Verdict, Warnings, expect};
use crate::wire::http::WHOLE;
use crate::wire::line::said_last;
use crate::wire::{Gathered, Group, Head, Log, Noted, Record};

/// What a check of a client works with. A check gets one of its own.
#[derive(Clone)]
pub(crate) struct Cx {
    command: Arc<str>,
    is_http: bool,
    /// How the process behaves that a client starts as its server; see `bridge.rs`.
    bridge: &'static str,
    pub(crate) log: Log,
    /// What all checks have seen so far; over HTTP the heads are those of requests.
    pub(crate) record: Record,
    pub(crate) warnings: Warnings,
    pub(crate) patience: Duration,
}

/// A request that reached the playing server.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The head, over HTTP.
    pub(crate) head: Option<Head>,
    /// The body, or the line.
    pub(crate) body: Vec<u8>,
    /// The same, decoded; null if it is no JSON.
    pub(crate) message: Value,
    /// The number of the connection that it came over, from 0; of lines each belongs to a process of its own.
    pub(crate) connection: usize,
    /// Its number among all requests, from 0.
    pub(crate) number: usize,
    /// Its number among those of the same method, from 0.
    pub(crate) turn: usize,
    pub(crate) at: Instant,
    /// The address at which the server listens, over HTTP, such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
}

impl Seen {
    /// The JSON-RPC method; empty if there is none.
    pub(crate) fn method(&self) -> &str {
        self.message.get("method").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        self.message.get("id").unwrap_or(&Value::Null)
    }

    /// A member of the params; null if there is none.
    pub(crate) fn param(&self, name: &str) -> &Value {
        let params = self.message.get("params");
        params.and_then(|params| params.get(name)).unwrap_or(&Value::Null)
    }

    /// A member of `_meta`; null if there is none.
    pub(crate) fn meta(&self, name: &str) -> &Value {
        self.param("_meta").get(name).unwrap_or(&Value::Null)
    }

    /// A header; nothing over other transports.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.as_ref()?.get(name)
    }

    /// The path and query of the target; empty over other transports.
    pub(crate) fn target(&self) -> &str {
        let line = self.head.as_ref().map_or("", |head| &head.line);
        line.split(' ').nth(1).unwrap_or_default()
    }

    /// Whether the client means the server by it, and neither the bridge nor those who give tokens.
    fn is_for_server(&self) -> bool {
        let path = self.target().split('?').next().unwrap_or_default();
        matches!(path, "" | "/mcp") && self.method() != super::bridge::BYE
    }

    /// The HTTP method; empty over other transports.
    pub(crate) fn http_method(&self) -> &str {
        let line = self.head.as_ref().map_or("", |head| &head.line);
        line.split(' ').next().unwrap_or_default()
    }
}

/// What was seen of a client.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// All requests, in the order in which they arrived.
    pub(crate) requests: Vec<Seen>,
    /// The cases whose answers the client left while another answer waited for that.
    pub(crate) left: Vec<&'static str>,
    /// What the client said of its steps, a line each.
    pub(crate) told: Vec<Value>,
    /// All that it printed, wherever.
    pub(crate) said: String,
    /// Its exit code; nothing if it had to be killed, or ended by a signal.
    pub(crate) exit: Option<i32>,
    /// It had to be killed.
    pub(crate) is_overdue: bool,
    /// How many of the processes that it started as servers were running long after its end.
    pub(crate) survivors: usize,
    /// The part of the playing server is at fault, not the client.
    has_panicked: bool,
}

impl Played {
    /// The requests of a method.
    pub(crate) fn of<'p>(&'p self, method: &'p str) -> impl Iterator<Item = &'p Seen> {
        self.requests.iter().filter(move |seen| seen.method() == method)
    }

    /// The first request of a method, which the client has to send.
    pub(crate) fn first(&self, method: &str) -> Verdict<&Seen> {
        let first = self.requests.iter().find(|seen| seen.method() == method);
        first.ok_or_else(|| Stop::fail(format!("a request {method}"), "none"))
    }

    /// What the client said of a step, counted from 0.
    pub(crate) fn step(&self, step: usize) -> Verdict<&Value> {
        let told = self.told.iter().find(|told| told.get("step") == Some(&json!(step)));
        told.ok_or_else(|| Stop::fail(format!("a line of output about step {step}"), "none"))
    }

    /// The step gave a result.
    pub(crate) fn result(&self, step: usize) -> Verdict<&Value> {
        let told = self.step(step)?;
        let seen = || crate::wire::json::shown(told);
        told.get("result").ok_or_else(|| Stop::fail("a result for the caller", seen()))
    }

    /// The step gave an error.
    pub(crate) fn error(&self, step: usize) -> Verdict<&Value> {
        let told = self.step(step)?;
        let seen = || crate::wire::json::shown(told);
        told.get("error").ok_or_else(|| Stop::fail("an error for the caller", seen()))
    }

    /// The client went through all its steps.
    pub(crate) fn ended_well(&self) -> Verdict {
        expect(self.exit == Some(0), "the client ends with exit code 0", format!("{:?}", self.exit))
    }
}

/// What is known while a play goes on.
#[derive(Default)]
pub(crate) struct Witness {
    played: Mutex<Played>,
    /// How many processes of a server are running.
    running: watch::Sender<usize>,
    /// The numbers of the requests whose client left before the answer was over.
    gone: watch::Sender<Vec<usize>>,
    /// The client did not leave an answer while another waited for that.
    stays: AtomicBool,
}

impl Witness {
    /// Adds a request, and numbers it.
    pub(crate) fn add(&self, mut seen: Seen) -> Seen {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        seen.number = played.requests.len();
        seen.turn = played.of(seen.method()).count();
        played.requests.push(seen.clone());
        seen
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    pub(crate) fn left(&self, number: usize) {
        self.gone.send_modify(|gone| gone.push(number));
    }

    /// Waits until the client has left an answer of this case; not for a client that was waited for in vain before. What
    /// it asked and left may arrive behind what it asked then, on another connection.
    pub(crate) async fn until_left(&self, case: &'static str, patience: Duration) {
        if self.stays.load(Ordering::SeqCst) {
            return;
        }
        let played = || self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |number: &usize| {
            let played = played();
            played.requests.get(*number).is_some_and(|seen| seen.case() == case)
        };
        let mut gone = self.gone.subscribe();
        let leaving = gone.wait_for(|gone| gone.iter().any(is_it));
        match timeout(patience, leaving).await {
            Ok(_) => played().left.push(case),
            Err(_) => self.stays.store(true, Ordering::SeqCst),
        }
    }

    /// The part itself has failed.
    pub(crate) fn panicked(&self) {
        self.played.lock().unwrap_or_else(PoisonError::into_inner).has_panicked = true;
    }

    pub(crate) fn opened(&self) {
        self.running.send_modify(|running| *running += 1);
    }

    pub(crate) fn closed(&self) {
        self.running.send_modify(|running| *running -= 1);
    }

    /// How many processes are left after a while, if it takes that long.
    async fn survivors(&self) -> usize {
        let mut running = self.running.subscribe();
        let _ = timeout(GRACE, running.wait_for(|running| *running == 0)).await;
        *running.borrow()
    }
}

/// The part of a server.
pub(crate) type Part = Arc<dyn Fn(&Seen) -> Answer + Send + Sync>;

impl Cx {
    pub(crate) fn new(
        command: Arc<str>,
        is_http: bool,
        record: Record,
        patience: Duration,
    ) -> Self {
        Self {
            command,
            is_http,
            bridge: "",
            log: Log::default(),
            record,
            warnings: Warnings::default(),
            patience,
        }
    }

    /// Whether the client is to speak HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.is_http
    }

    /// The same with a server whose process behaves as these options say.
    pub(crate) fn bridged(&self, options: &'static str) -> Self {
        Self { bridge: options, ..self.clone() }
    }

    /// Has the client go through `steps` with a server that answers as `part` says, and waits for it to end.
    pub(crate) async fn play(
        &self,
        steps: Value,
        part: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Verdict<Played> {
        self.play_with(json!({ "steps": steps }), part).await
    }

    /// The same with other things that the client is told; `{origin}` in them stands for the server's address.
    pub(crate) async fn play_with(
        &self,
        context: Value,
        part: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Verdict<Played> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener =
            listener.map_err(|error| Stop::skip(format!("no socket to listen on: {error}")))?;
        let address = listener.local_addr().map_err(|error| Stop::skip(error.to_string()))?;
        let witness = Arc::new(Witness::default());
        let serving = serve::Serving {
            part: Arc::new(part),
            witness: Arc::clone(&witness),
            log: self.log.clone(),
            origin: format!("http://{address}"),
            patience: self.patience,
        };
        let is_http = self.is_http;
        // It ends with the play, even if that is given up.
        let mut server = JoinSet::new();
        server.spawn(async move { serving.accept(listener, is_http).await });
        let ran = self.run_client(&address.to_string(), &context).await;
        let survivors = witness.survivors().await;
        server.abort_all();
        let Ended { exit, is_overdue, output, complaints, .. } = ran?;
        let mut played =
            std::mem::take(&mut *witness.played.lock().unwrap_or_else(PoisonError::into_inner));
        if played.has_panicked {
            return Err(Stop::fail("a part that makes no mistake itself", "a panic"));
        }
        for seen in played.requests.iter().filter(|seen| seen.is_for_server()) {
            let (method, head) = (seen.method().to_owned(), seen.head.clone());
            self.record.add(Noted { method, head, message: seen.message.clone() });
        }
        played.exit = exit;
        played.is_overdue = is_overdue;
        played.survivors = survivors;
        played.told = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for line in output.lines() {
            self.log.note(&format!("the client says {line}"));
        }
        played.said = format!("{output}{complaints}");
        Ok(played)
    }

    /// Tries whether the client does anything that it is told, be it wrongly.
    ///
    /// # Errors
    /// Says what it does instead.
    pub(crate) async fn is_there(&self) -> Result<(), String> {
        let played = match self.play(json!([{ "do": "tools/list" }]), super::good).await {
            Ok(played) => played,
            Err(Stop::Fail { seen: why, .. } | Stop::Skip(why)) => return Err(why),
        };
        if played.is_overdue {
            let limit = self.patience * CLIENT_TIMES;
            let end = format!("it has not ended {limit:?} after it was told to list tools");
            return Err(said_last(&end, &played.said));
        }
        if played.requests.is_empty() && played.told.is_empty() {
            let code = played
                .exit
                .map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let end = format!(
                "told to list tools, it sends no request and prints no line of JSON; it ends with {code}"
            );
            return Err(said_last(&end, &played.said));
        }
        Ok(())
    }

    /// How long the client may run: a right one may take the whole time of each step that has one.
    fn limit(&self, context: &Value) -> Duration {
        let steps = context.get("steps").and_then(Value::as_array).into_iter().flatten();
        let times = steps.filter_map(|step| step.get("timeout_ms")?.as_u64());
        let times = times.map(Duration::from_millis).sum::<Duration>();
        self.patience * CLIENT_TIMES + times.min(self.patience * STEP_TIMES)
    }

    /// Runs the client to its end, or kills it when that takes too long.
    async fn run_client(&self, address: &str, context: &Value) -> Verdict<Ended> {
        let transport = if self.is_http { "http" } else { "stdio" };
        let target = if self.is_http {
            format!("http://{address}/mcp")
        } else {
            let program = std::env::current_exe().map_err(|error| Stop::skip(error.to_string()))?;
            super::bridge::target(&program, address, self.bridge)
        };
        let limit = self.limit(context);
        let context = context.to_string().replace("{origin}", &format!("http://{address}"));
        let mut shell = Group::shell(&format!("{} {target}", self.command));
        shell
            .env("MCP_CONFORMANCE_SCENARIO", "steps")
            .env("MCP_CONFORMANCE_PROTOCOL_VERSION", crate::wire::message::VERSION)
            .env("MCP_CONFORMANCE_TRANSPORT", transport)
            .env("MCP_CONFORMANCE_CONTEXT", context)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Group::start(shell);
        let (mut child, group) =
            started.map_err(|error| Stop::lost(format!("the client does not start: {error}")))?;
        let output = Gathered::from(child.stdout.take(), WHOLE);
        let complaints = Gathered::from(child.stderr.take(), WHOLE);
        let ended = timeout(limit, child.wait()).await;
        // What it has left behind is counted before it ends.
        let is_overdue = ended.is_err();
        let left = (!is_overdue).then_some(group);
        // A server that lives on may have inherited the streams.
        let _ = timeout(GRACE, async { tokio::join!(output.end(), complaints.end()) }).await;
        let complaints = complaints.text();
        self.log.note(&complaints);
        let exit = ended.ok().and_then(Result::ok).and_then(|status| status.code());
        Ok(Ended { exit, is_overdue, output: output.text(), complaints, left })
    }
}

/// A client that has ended, or had to be.
struct Ended {
    exit: Option<i32>,
    /// It had to be killed.
    is_overdue: bool,
    output: String,
    complaints: String,
    /// What it has started and not ended; that is killed with this.
    #[expect(dead_code, reason = "held until the play is over")]
    left: Option<Group>,
}

/// What is waited for once the client has ended: the rest of its output, and the end of its servers. Both come at once,
/// but on a machine that has much else to do.
const GRACE: Duration = Duration::from_secs(20);
/// A client has that many times the patience beside the times of its steps.
const CLIENT_TIMES: u32 = 4;
/// Those count up to that many times the patience.
const STEP_TIMES: u32 = 8;
