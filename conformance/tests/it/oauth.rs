//! Signing in: an authorization server in a process of its own, servers of ours that take its tokens, and who signs in.
//! The tests are in `oauth_*.rs`; `peers/README.md` says what the authorization server does.

use std::future::Future;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use conformance::client::Robot;
use conformance::server;
use mcp_client::oauth::{Credentials, MemoryStore, OAuth, TokenStore};
use mcp_client::{Client, Error};
use mcp_server::Notify;
use mcp_server::auth::{Introspection, ResourceServer, TokenVerifier};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::interop::TYPESCRIPT;
use crate::steps::runtime;
use crate::support::{Serving, alone, is_installed};

/// Runs a test that needs the authorization server, within a time that none takes.
pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    if !is_installed("node_modules/oidc-provider/package.json") {
        return;
    }
    let _alone = alone();
    let in_time = async { tokio::time::timeout(LIMIT, test()).await };
    runtime().block_on(in_time).expect("the test ends by itself");
}

/// The authorization server.
pub(crate) struct Issuer {
    pub(crate) name: String,
    origin: String,
    _program: Serving,
}

/// What it was asked.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) endpoint: String,
    pub(crate) path: String,
    params: Value,
    /// How the client said who it is, if by a header.
    pub(crate) scheme: Option<String>,
    /// Whether it proved that it has a key.
    pub(crate) dpop: bool,
    pub(crate) client: Option<String>,
    pub(crate) status: u16,
    pub(crate) error: Option<String>,
}

impl Asked {
    /// A parameter; empty where there is none.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.params[name].as_str().unwrap_or_default()
    }

    /// What it has of several.
    pub(crate) fn params(&self) -> &Value {
        &self.params
    }
}

impl Issuer {
    /// Starts it with these options.
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = TYPESCRIPT.command("js/authorization-server.mjs");
        let program = Serving::start(command.args(options));
        let origin = program.url.trim_end_matches("/mcp").to_owned();
        let path = options.iter().skip_while(|option| **option != "--path").nth(1);
        let name = format!("{origin}{}", path.unwrap_or(&""));
        Self { name, origin, _program: program }
    }

    /// What it was asked, in order.
    pub(crate) async fn log(&self) -> Vec<Asked> {
        let (status, body) = exchange("GET", &format!("{}/test/log", self.origin), "", "").await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// What one of its endpoints was asked.
    pub(crate) async fn asked(&self, endpoint: &str) -> Vec<Asked> {
        let mut log = self.log().await;
        log.retain(|asked| asked.endpoint == endpoint);
        log
    }

    /// What it was asked for tokens by this grant.
    pub(crate) async fn grants(&self, grant_type: &str) -> Vec<Asked> {
        let mut asked = self.asked("token").await;
        asked.retain(|asked| asked.param("grant_type") == grant_type);
        asked
    }

    /// Changes what it does.
    pub(crate) async fn change(&self, options: &Value) {
        self.test("options", &options.to_string()).await;
    }

    /// Makes requests that no client makes: `rotate`, `rotate?drop`, `revoke`, `forget-clients`.
    pub(crate) async fn test(&self, what: &str, body: &str) {
        let url = format!("{}/test/{what}", self.origin);
        let (status, body) = exchange("POST", &url, "application/json", body).await;
        assert_eq!(status, 200, "{body}");
    }

    /// Posts a form below the issuer, as whoever has got hold of what is in it.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        // None of what is sent has characters to be escaped but for URLs, which are safe where they are.
        let form: Vec<_> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let url = format!("{}{path}", self.name);
        let kind = "application/x-www-form-urlencoded";
        let (status, body) = exchange("POST", &url, kind, &form.join("&")).await;
        (status, serde_json::from_str(&body).unwrap_or_default())
    }
}

/// A verifier that asks `issuer` about each token.
pub(crate) fn introspection(issuer: &Issuer) -> Introspection {
    let endpoint = format!("{}/token/introspection", issuer.name);
    Introspection::new(&*issuer.name, endpoint)
        .credentials("resource-server", "resource-server-secret")
}

/// A server of ours that wants tokens, on a thread of its own, which ends with this.
pub(crate) struct Protected {
    pub(crate) url: String,
    pub(crate) clock: Clock,
    pub(crate) notify: Notify,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Protected {
    /// One that takes the tokens of `issuer` that `verifier` takes.
    pub(crate) fn start(issuer: &Issuer, verifier: impl TokenVerifier) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let clock = Clock::default();
        let told = clock.clone();
        let auth = ResourceServer::new(&*url)
            .authorization_server(&*issuer.name)
            .verifier(verifier)
            .clock(move || told.now());
        let server = server::protected(auth).unwrap();
        let notify = server.notify();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let serving = server.serve_with(listener).drain_time(Duration::ZERO);
                serving.shutdown_on(async { drop(stopped.await) }).await.unwrap();
            });
        });
        Self { url, clock, notify, stop: Some(stop), thread: Some(thread) }
    }

    /// Lets all tokens that there are expire here, and has the issuer make tokens that have not.
    pub(crate) async fn expire_tokens(&self, issuer: &Issuer) {
        let ahead = self.clock.go_on(Duration::from_secs(10_000));
        issuer.change(&json!({ "ttl": ahead.as_secs() + 3600 })).await;
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        drop(self.stop.take());
        // What failed there failed a request here.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// The time at a server.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<Mutex<Time>>);

enum Time {
    Ahead(Duration),
    Stopped(SystemTime),
}

impl Default for Time {
    fn default() -> Self {
        Self::Ahead(Duration::ZERO)
    }
}

impl Clock {
    fn now(&self) -> SystemTime {
        match *self.0.lock().unwrap() {
            Time::Ahead(by) => SystemTime::now() + by,
            Time::Stopped(at) => at,
        }
    }

    /// Lets time pass, and says how far it is ahead.
    pub(crate) fn go_on(&self, by: Duration) -> Duration {
        let mut time = self.0.lock().unwrap();
        let Time::Ahead(ahead) = &mut *time else { panic!("it is stopped") };
        *ahead += by;
        *ahead
    }

    /// Has it be `at` all the time.
    pub(crate) fn stop(&self, at: SystemTime) {
        *self.0.lock().unwrap() = Time::Stopped(at);
    }
}

/// A client whose user signs in, and what it keeps.
pub(crate) struct SignsIn {
    pub(crate) client: Client,
    pub(crate) store: Arc<MemoryStore>,
    url: String,
}

impl SignsIn {
    pub(crate) fn to(url: &str) -> Self {
        Self::with(url, |oauth| oauth)
    }

    pub(crate) fn with(url: &str, more: impl FnOnce(OAuth) -> OAuth) -> Self {
        Self::by(url, OAuth::sign_in(Robot::default()), more)
    }

    pub(crate) fn by(url: &str, oauth: OAuth, more: impl FnOnce(OAuth) -> OAuth) -> Self {
        let store = Arc::new(MemoryStore::new());
        let oauth = more(oauth.client_name("ours").store(Arc::clone(&store)));
        let client = Client::builder(url).oauth(oauth).build().unwrap();
        Self { client, store, url: url.to_owned() }
    }

    pub(crate) async fn call(&self, tool: &str) -> String {
        text(&self.client, tool).await.unwrap()
    }

    pub(crate) async fn stored(&self) -> Credentials {
        self.store.load(&self.url).await.unwrap().expect("there is something")
    }

    /// The access token that is stored.
    pub(crate) async fn access_token(&self) -> String {
        self.stored().await.granted.unwrap().tokens.access_token.expose().to_owned()
    }

    pub(crate) async fn refresh_token(&self) -> String {
        let tokens = self.stored().await.granted.unwrap().tokens;
        tokens.refresh_token.expect("there is one").expose().to_owned()
    }

    /// Has whoever reads the store next find that the token is about to expire, which for stored ones is half a minute.
    pub(crate) async fn nearly_expire(&self) {
        let mut stored = self.stored().await;
        let soon = SystemTime::now() + Duration::from_secs(20);
        stored.granted.as_mut().unwrap().tokens.expires_at = Some(soon);
        self.store.save(&self.url, &stored).await.unwrap();
    }

    /// Another client of the same user, with the same store.
    pub(crate) fn another(&self) -> Client {
        let oauth = OAuth::sign_in(Robot::default()).store(Arc::clone(&self.store));
        Client::builder(&self.url).oauth(oauth).build().unwrap()
    }

    /// What the client calls itself.
    pub(crate) async fn client_id(&self) -> String {
        let stored = self.stored().await;
        stored.registrations.last().expect("it is registered").client.id().to_owned()
    }
}

/// What a tool without arguments answers.
pub(crate) async fn text(client: &Client, tool: &str) -> Result<String, Error> {
    let result = client.call_tool(tool, ()).await?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

/// Calls `whoami` with this header, and nothing else: what a thief, or a client that does not care, would do.
pub(crate) async fn whoami_with(url: &str, authorization: &str) -> Result<String, Error> {
    let client = Client::http(url).unwrap();
    let result = client.call_tool("whoami", ()).header("authorization", authorization).await?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

pub(crate) async fn tools(client: &Client) -> Vec<String> {
    let listed = client.list_tools().await.unwrap();
    listed.tools.into_iter().map(|tool| tool.name).collect()
}

/// One request, answered with a status and a body.
pub(crate) async fn exchange(method: &str, url: &str, kind: &str, body: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// For a whole test: far more than it takes.
const LIMIT: Duration = Duration::from_mins(1);
