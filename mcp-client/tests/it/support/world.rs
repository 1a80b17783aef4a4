//! A server that wants access tokens, and the authorization servers that give them, at one address.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_client::oauth::{AuthorizationUrl, OAuth, Redirect, RedirectHandler};
use mcp_client::{BoxError, BoxFuture, Client, ClientBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

use super::provider::params;
use super::{NO_TOOLS, OK, Request, result};

/// The server is at `/mcp`, its authorization server's issuer is `/as` or what [`Plan::issuer`] says. Tokens and codes
/// are numbered: `access-1-s3cret`, `refresh-1-s3cret`, `code-1-s3cret`.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) host: String,
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    plan: Mutex<Plan>,
    arrived: Notify,
}

/// What happens next.
pub(crate) enum Step {
    /// These bytes are answered.
    Raw(String),
    /// The connection is closed without an answer.
    Close,
    /// It goes on as if nothing were planned when there is a permit.
    Hold(Arc<Semaphore>),
}

impl Step {
    pub(crate) fn json(status: &str, body: &str) -> Self {
        Self::Raw(answer(status, "content-type: application/json\r\n", body))
    }

    /// A refusal by the server, with this challenge.
    pub(crate) fn challenge(status: &str, challenge: &str) -> Self {
        Self::Raw(answer(status, &format!("www-authenticate: {challenge}\r\n"), ""))
    }
}

/// How everybody behaves, and what came.
pub(crate) struct Plan {
    pub(crate) issuer: String,
    /// Of the metadata of the resource.
    pub(crate) scopes: Option<Vec<String>>,
    /// The scope of the challenge that a request without a good token gets.
    pub(crate) challenge: Option<String>,
    pub(crate) expires_in: Option<u64>,
    /// Whether a refresh gives another refresh token, and the old one is good for nothing any more.
    pub(crate) rotates: bool,
    pub(crate) gives_refresh_tokens: bool,
    /// What the results of lists say of their freshness.
    pub(crate) list: String,
    /// Whether the token is no good after the next call.
    pub(crate) expires_after_next: bool,
    /// What the next calls of tools are answered.
    answers: VecDeque<String>,
    next: usize,
    good: HashSet<String>,
    refresh: HashMap<String, String>,
    steps: HashMap<String, VecDeque<Step>>,
    requests: Vec<Request>,
}

impl World {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let plan = Plan {
            issuer: "/as".into(),
            scopes: None,
            challenge: None,
            expires_in: None,
            rotates: true,
            gives_refresh_tokens: true,
            list: NO_TOOLS.into(),
            expires_after_next: false,
            answers: VecDeque::new(),
            next: 0,
            good: HashSet::new(),
            refresh: HashMap::new(),
            steps: HashMap::new(),
            requests: Vec::new(),
        };
        let shared = Arc::new(Shared { plan: Mutex::new(plan), arrived: Notify::new() });
        let world = Self { url: format!("http://{host}/mcp"), host, shared };
        let serving = world.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().converse(stream));
            }
        });
        world
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, Plan> {
        self.shared.plan.lock().unwrap()
    }

    /// Has the next request to this place, such as `POST /as/token`, go this way.
    pub(crate) fn next(&self, place: &str, step: Step) {
        self.plan().steps.entry(place.into()).or_default().push_back(step);
    }

    /// Has the next request to this place wait for a permit.
    pub(crate) fn hold(&self, place: &str) -> Arc<Semaphore> {
        let permits = Arc::new(Semaphore::new(0));
        self.next(place, Step::Hold(Arc::clone(&permits)));
        permits
    }

    /// Access tokens are no good any more.
    pub(crate) fn expire_all(&self) {
        self.plan().good.clear();
    }

    /// Refresh tokens are no good any more.
    pub(crate) fn revoke_all(&self) {
        self.plan().refresh.clear();
    }

    /// The requests to a place, such as `POST /as/token`.
    pub(crate) fn at(&self, place: &str) -> Vec<Request> {
        let plan = self.plan();
        plan.requests.iter().filter(|request| self::place(request) == place).cloned().collect()
    }

    pub(crate) fn count(&self, place: &str) -> usize {
        self.at(place).len()
    }

    /// How often a token was refreshed.
    pub(crate) fn refreshes(&self) -> usize {
        let tokens = self.at("POST /as/token");
        tokens.iter().filter(|request| request.body.contains("grant_type=refresh_token")).count()
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        self.plan().requests.clone()
    }

    /// Waits until a place has had so many requests.
    pub(crate) async fn until(&self, place: &str, count: usize) {
        loop {
            let arrived = self.shared.arrived.notified();
            if self.count(place) >= count {
                return;
            }
            arrived.await;
        }
    }

    /// The tokens with which the server was called, in order.
    pub(crate) fn called_with(&self) -> Vec<Option<String>> {
        let token = |request: &Request| request.header("authorization").map(str::to_owned);
        self.at("POST /mcp").iter().map(token).collect()
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder(&self.url)
    }

    /// A client whose user signs in at once.
    pub(crate) fn client(&self) -> Client {
        self.builder().oauth(OAuth::sign_in(Robot)).build().unwrap()
    }

    async fn converse(self, mut stream: TcpStream) {
        let mut buffer = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut buffer).await {
            let place = place(&request);
            self.plan().requests.push(request.clone());
            self.shared.arrived.notify_waiters();
            let step = self.plan().steps.get_mut(&place).and_then(VecDeque::pop_front);
            let bytes = match step {
                Some(Step::Raw(bytes)) => bytes,
                Some(Step::Close) => return,
                Some(Step::Hold(permits)) => {
                    permits.acquire().await.unwrap().forget();
                    self.answer(&place, &request)
                }
                None => self.answer(&place, &request),
            };
            if stream.write_all(bytes.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, place: &str, request: &Request) -> String {
        let (host, mut plan) = (&self.host, self.plan());
        let issuer = format!("http://{host}{}", plan.issuer);
        let known = "/.well-known/oauth-";
        if place == "POST /mcp" {
            return plan.mcp(host, request);
        }
        let is = |expected: String| place == expected;
        let body = if is(format!("GET {known}protected-resource/mcp")) {
            let scopes = plan.scopes.as_ref().map(|it| serde_json::to_string(it).unwrap());
            let scopes =
                scopes.map_or_else(String::new, |it| format!(r#","scopes_supported":{it}"#));
            let url = &self.url;
            format!(r#"{{"resource":"{url}","authorization_servers":["{issuer}"]{scopes}}}"#)
        } else if is(format!("GET {known}authorization-server{}", plan.issuer)) {
            format!(
                r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/authorize",
                "token_endpoint":"{issuer}/token","registration_endpoint":"{issuer}/register",
                "code_challenge_methods_supported":["S256"],
                "authorization_response_iss_parameter_supported":true,
                "token_endpoint_auth_methods_supported":["client_secret_post","none"]}}"#
            )
        } else if is(format!("POST {}/register", plan.issuer)) {
            let n = plan.number();
            format!(r#"{{"client_id":"client-{n}","client_secret":"client-{n}-s3cret"}}"#)
        } else if is(format!("GET {}/authorize", plan.issuer)) {
            let n = plan.number();
            let param = |name: &str| param(target(request), name).unwrap();
            let (uri, state) = (param("redirect_uri"), param("state"));
            let location =
                format!("{uri}?code=code-{n}-s3cret&state={state}&iss={}", escape(&issuer));
            return answer("302 Found", &format!("location: {location}\r\n"), "");
        } else if is(format!("POST {}/token", plan.issuer)) {
            return plan.token(&request.body);
        } else {
            return answer("404 Not Found", "", "");
        };
        answer("200 OK", "content-type: application/json\r\n", &body)
    }
}

impl Plan {
    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn token(&mut self, form: &str) -> String {
        let json = "content-type: application/json\r\n";
        let param = |name: &str| param(form, name);
        let scope = match param("grant_type").as_deref() {
            Some("refresh_token") => {
                let token = param("refresh_token").unwrap();
                let found = self.refresh.get(&token).cloned();
                if self.rotates {
                    self.refresh.remove(&token);
                }
                let Some(scope) = found else {
                    let body = r#"{"error":"invalid_grant","error_description":"no more"}"#;
                    return answer("400 Bad Request", json, body);
                };
                scope
            }
            _ => param("scope").unwrap_or_default(),
        };
        let n = self.number();
        let access = format!("access-{n}-s3cret");
        let mut body = format!(r#"{{"access_token":"{access}","token_type":"Bearer""#);
        let is_refresh = form.contains("grant_type=refresh_token");
        if self.gives_refresh_tokens && (self.rotates || !is_refresh) {
            let refresh = format!("refresh-{n}-s3cret");
            body += &format!(r#","refresh_token":"{refresh}""#);
            self.refresh.insert(refresh, scope);
        }
        if let Some(seconds) = self.expires_in {
            body += &format!(r#","expires_in":{seconds}"#);
        }
        self.good.insert(access);
        answer("200 OK", json, &(body + "}"))
    }

    /// Has the next call of a tool answered in this way.
    pub(crate) fn asks(&mut self, answer: &str) {
        self.answers.push_back(answer.into());
    }

    pub(crate) fn forget_steps(&mut self) {
        self.steps.clear();
    }

    fn mcp(&mut self, host: &str, request: &Request) -> String {
        let token = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        if !token.is_some_and(|token| self.good.contains(token)) {
            let url = format!("http://{host}/.well-known/oauth-protected-resource/mcp");
            let mut challenge = format!(r#"Bearer resource_metadata="{url}""#);
            if let Some(scope) = &self.challenge {
                challenge += &format!(r#", scope="{scope}""#);
            }
            let header = format!("www-authenticate: {challenge}\r\n");
            return answer("401 Unauthorized", &header, "");
        }
        let json = request.json();
        let body = match json["method"].as_str().unwrap() {
            "tools/list" => result(&self.list),
            "subscriptions/listen" => {
                let id = json["id"].to_string();
                let message = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
                );
                let data = format!("data: {message}\n\n");
                return format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
                     {:x}\r\n{data}\r\n0\r\n\r\n",
                    data.len()
                );
            }
            _ => self.answers.pop_front().unwrap_or_else(|| result(OK)),
        };
        if std::mem::take(&mut self.expires_after_next) {
            self.good.clear();
        }
        let body = body.replace("{id}", &json["id"].to_string());
        answer("200 OK", "content-type: application/json\r\n", &body)
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    loop {
        let text = String::from_utf8_lossy(buffer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let request = Request { head: format!("{head}\r\n"), body: body.to_owned() };
            let length = request.header("content-length").map_or(0, |it| it.parse().unwrap());
            if body.len() >= length {
                buffer.clear();
                return Some(request);
            }
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

/// The method and the path of a request.
fn place(request: &Request) -> String {
    let method = request.head.split(' ').next().unwrap();
    format!("{method} {}", target(request).split('?').next().unwrap())
}

fn target(request: &Request) -> &str {
    request.head.split(' ').nth(1).unwrap()
}

/// A parameter of a form, or of the query of a URL.
pub(crate) fn param(text: &str, name: &str) -> Option<String> {
    let query = text.split_once('?').map_or(text, |(_, query)| query);
    params(query).into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A user who signs in at once, with a browser that follows no redirect.
#[derive(Clone, Copy)]
pub(crate) struct Robot;

impl RedirectHandler for Robot {
    fn prepare<'a>(
        &'a self,
        _registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn Redirect>) })
    }
}

impl Redirect for Robot {
    fn uri(&self) -> &str {
        "http://127.0.0.1:1/callback"
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move { visit(url.as_str()).await })
    }
}

/// Where a page redirects to.
pub(crate) async fn visit(url: &str) -> Result<String, BoxError> {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    let answer = String::from_utf8(answer)?;
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.map(str::to_owned).ok_or_else(|| "there is no redirect".into())
}
