//! An MCP server and its authorization server in one, of raw bytes: routes with scripted answers, and a record of
//! what was asked, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use mcp_client::oauth::{Fetcher, Policy};
use mcp_client::{Client, ClientBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{OK, result};

pub(crate) const PRM: &str = "GET /.well-known/oauth-protected-resource/mcp";
pub(crate) const PRM_ROOT: &str = "GET /.well-known/oauth-protected-resource";
pub(crate) const AS: &str = "GET /.well-known/oauth-authorization-server";
pub(crate) const OIDC: &str = "GET /.well-known/openid-configuration";
pub(crate) const REGISTER: &str = "POST /register";
pub(crate) const TOKEN: &str = "POST /token";
pub(crate) const MCP: &str = "POST /mcp";

/// What was asked, on one line: method, path and query.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// The value of a header line, by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The parameters of the form, in order.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        params(&self.body)
    }

    pub(crate) fn param(&self, name: &str) -> Option<String> {
        let mut form = self.form().into_iter();
        form.find(|(found, _)| found == name).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The parameters of a form or a query, decoded here by other code than the client's.
pub(crate) fn params(text: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let mut out = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                    u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            });
        }
        String::from_utf8(out).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// What is answered: the status with further header lines, and the body.
type Answer = (String, String);

pub(crate) struct Provider {
    /// Scheme, host and port.
    pub(crate) origin: String,
    state: Arc<State>,
}

#[derive(Default)]
struct Route {
    once: VecDeque<Answer>,
    /// What is answered behind those.
    always: Option<Answer>,
}

#[derive(Default)]
struct State {
    origin: String,
    routes: Mutex<HashMap<String, Route>>,
    asked: Mutex<Vec<Asked>>,
}

impl Provider {
    /// It knows nothing: whatever is asked is answered with 404.
    pub(crate) async fn bare() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State { origin: origin.clone(), ..State::default() });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        Self { origin, state }
    }

    /// The same at a Unix socket.
    #[cfg(unix)]
    pub(crate) fn bare_unix(path: &std::path::Path) -> Self {
        let listener = tokio::net::UnixListener::bind(path).unwrap();
        let origin = "http://localhost".to_owned();
        let state = Arc::new(State { origin: origin.clone(), ..State::default() });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        Self { origin, state }
    }

    /// The same under TLS, as `localhost`.
    #[cfg(feature = "tls")]
    pub(crate) async fn bare_tls(config: rustls::ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let state = Arc::new(State { origin: origin.clone(), ..State::default() });
        let shared = Arc::clone(&state);
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, shared).await;
                    }
                });
            }
        });
        Self { origin, state }
    }

    /// All that it takes to sign in, at the places that are asked first.
    pub(crate) async fn start() -> Self {
        let provider = Self::bare().await;
        provider.describe();
        provider
    }

    /// Answers to all that it takes to sign in.
    pub(crate) fn describe(&self) {
        self.on(PRM, "200 OK", &self.resource(&json!({})));
        self.on(AS, "200 OK", &self.metadata(&json!({})));
        self.on(REGISTER, "201 Created", &json!({ "client_id": "dynamic" }));
        self.on(TOKEN, "200 OK", &json!({
            "access_token": "access-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-1",
        }));
    }

    /// Refuses the next call with these challenges, if there are any, one header line each, and lets all others in.
    pub(crate) fn guard(&self, challenges: &[&str]) {
        if !challenges.is_empty() {
            self.refuse("401 Unauthorized", challenges);
        }
        self.on_text(MCP, "200 OK\r\ncontent-type: application/json", &result(OK));
    }

    /// Refuses the next call.
    pub(crate) fn refuse(&self, status: &str, challenges: &[&str]) {
        let lines = challenges.iter().map(|it| format!("\r\nwww-authenticate: {it}"));
        self.once(MCP, &format!("{status}{}", lines.collect::<String>()), &json!({}));
    }

    /// The metadata of the resource with some members changed; null takes one away.
    pub(crate) fn resource(&self, changes: &Value) -> Value {
        changed(
            json!({ "resource": format!("{}/mcp", self.origin), "authorization_servers": [self.origin] }),
            changes,
        )
    }

    /// The metadata of the issuer, likewise.
    pub(crate) fn metadata(&self, changes: &Value) -> Value {
        let at = |path: &str| format!("{}{path}", self.origin);
        let metadata = json!({
            "issuer": self.origin,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        });
        changed(metadata, changes)
    }

    /// Answers a route, such as `GET /path`, always in this way. `status` may have further header lines behind it.
    pub(crate) fn on(&self, route: &str, status: &str, body: &Value) {
        self.on_text(route, status, &body.to_string());
    }

    pub(crate) fn on_text(&self, route: &str, status: &str, body: &str) {
        let mut routes = self.state.routes.lock().unwrap();
        let answer = (status.to_owned(), body.to_owned());
        routes.entry(route.to_owned()).or_default().always = Some(answer);
    }

    /// Answers it once in this way, before all others.
    pub(crate) fn once(&self, route: &str, status: &str, body: &Value) {
        let mut routes = self.state.routes.lock().unwrap();
        let answer = (status.to_owned(), body.to_string());
        routes.entry(route.to_owned()).or_default().once.push_back(answer);
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder(self.url())
    }

    pub(crate) fn fetcher(&self) -> Fetcher {
        self.builder().build_fetcher(Policy::new()).unwrap()
    }

    /// What was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// The requests of a route, in order.
    pub(crate) fn at(&self, route: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.line == route).collect()
    }

    /// The last request of a route.
    pub(crate) fn last(&self, route: &str) -> Asked {
        self.asked().into_iter().rfind(|asked| asked.line == route).unwrap()
    }
}

fn changed(mut value: Value, changes: &Value) -> Value {
    let members = value.as_object_mut().unwrap();
    for (name, change) in changes.as_object().unwrap() {
        if change.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), change.clone());
        }
    }
    value
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let mut buffer = Vec::new();
    while let Some(asked) = read(&mut stream, &mut buffer, &state.origin).await {
        let answer = {
            let mut routes = state.routes.lock().unwrap();
            let route = routes.get_mut(asked.line.split('?').next().unwrap());
            let found =
                route.and_then(|route| route.once.pop_front().or_else(|| route.always.clone()));
            found.unwrap_or_else(|| ("404 Not Found".to_owned(), "not here".to_owned()))
        };
        let json = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
        let answer = (answer.0, answer.1.replace("{id}", &json["id"].to_string()));
        state.asked.lock().unwrap().push(asked);
        let (status, body) = answer;
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    origin: &str,
) -> Option<Asked> {
    loop {
        let text = String::from_utf8_lossy(buffer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let line = head.lines().next().unwrap().strip_suffix(" HTTP/1.1").unwrap();
            // A proxy is asked in absolute form.
            let line = line.replacen(origin, "", 1);
            let asked = Asked { line, head: format!("{head}\r\n"), body: body.to_owned() };
            let length = asked.header("content-length").map_or(0, |value| value.parse().unwrap());
            if body.len() >= length {
                buffer.clear();
                return Some(asked);
            }
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}
