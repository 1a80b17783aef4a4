//! The endpoint of a server that is tested over HTTP.

use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Tokens;
use crate::verdict::{Stop, Verdict};
use crate::wire::http::Io;
use crate::wire::log::Secrets;
use crate::wire::tls::Tls;

/// How an endpoint is reached.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Host and port, as the requests name them.
    pub(crate) authority: String,
    /// Host and port, as they are connected to.
    pub(crate) address: String,
    /// Path and query.
    pub(crate) path: String,
    /// Headers for every request, such as credentials.
    headers: Vec<(String, String)>,
    pub(crate) ways: Ways,
    tls: Option<Tls>,
}

/// What else a user says of an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Speak HTTP/2 alone.
    pub(crate) http2: bool,
    /// Pages of every origin may use it.
    pub(crate) any_origin: bool,
    /// A file of root certificates in place of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// Headers of another user, in place of those for every request.
    pub(crate) other: Vec<(String, String)>,
    /// A shell command that stops the server.
    pub(crate) stop: Option<String>,
    /// Tokens, where the server is protected.
    pub(crate) tokens: Tokens,
}

impl Endpoint {
    /// The endpoint at a URL.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn new(
        url: &str,
        headers: Vec<(String, String)>,
        ways: Ways,
    ) -> Result<Self, String> {
        if url.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(format!("the URL {url:?} has characters that have to be percent-encoded"));
        }
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (port, tls) = match &*scheme.to_ascii_lowercase() {
            "http" => (80, None),
            "https" => (443, Some(Tls::new(ways.ca.as_deref())?)),
            _ => return Err("only http:// and https:// URLs can be tested".to_owned()),
        };
        // What stands behind `#` is not sent to servers.
        let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.is_empty() {
            return Err("the URL has no host".to_owned());
        }
        if authority.contains('@') {
            return Err("credentials in the URL are not sent; --token and --header are".to_owned());
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let address = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { authority: authority.to_owned(), address, path, headers, ways, tls })
    }

    /// The headers for every request, of one user or of another, whose headers stand in place of those of the same names.
    pub(crate) fn headers(&self, of_other: bool) -> Vec<(String, String)> {
        let more = if of_other { &*self.ways.other } else { &[] };
        let is_kept = |name: &str| more.iter().all(|(it, _)| !it.eq_ignore_ascii_case(name));
        let kept = self.headers.iter().filter(|(name, _)| is_kept(name));
        kept.chain(more).cloned().collect()
    }

    /// Has every request carry this header, in place of those of the same name.
    pub(crate) fn carry(&mut self, header: (String, String)) {
        self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(&header.0));
        self.headers.push(header);
    }

    /// What a user gave that no report may show: the values of headers, and tokens.
    pub(crate) fn secrets(&self) -> Secrets {
        let headers = self.headers.iter().chain(&self.ways.other).map(|(_, value)| &**value);
        Secrets::new(headers.chain(self.ways.tokens.given()))
    }

    pub(crate) const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Scheme and authority, as a browser names a page of this server.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority)
    }

    /// The same server at another address of its machine.
    pub(crate) fn at(&self, address: String) -> Self {
        Self { address, ..self.clone() }
    }

    fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => host,
            _ => &self.authority,
        }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit_once(':').map_or("", |(_, port)| port)
    }

    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost" || host == "[::1]" || host.starts_with("127.")
    }

    /// Connects, and speaks TLS where the URL says so, `http2` over it or HTTP/1.1.
    pub(crate) async fn connect(&self, http2: bool, patience: Duration) -> Verdict<Box<dyn Io>> {
        let address = &*self.address;
        let connecting = async {
            let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            match &self.tls {
                Some(tls) => {
                    let spoken = if http2 { "h2" } else { "http/1.1" };
                    tls.over(stream, self.host(), spoken).await
                }
                None => Ok(Box::new(stream) as Box<dyn Io>),
            }
        };
        let connected = timeout(patience, connecting).await;
        let connected = connected.unwrap_or_else(|_| Err("it takes too long".to_owned()));
        connected.map_err(|error| Stop::lost(format!("no connection to {address}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::ServerConfig;
    use rustls::crypto::ring;
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::super::{Cx, Target};
    use super::*;
    use crate::wire::Record;

    #[test]
    fn urls() {
        let table = [
            ("http://h", "h", "h:80", "/"),
            ("https://h", "h", "h:443", "/"),
            ("http://h:8080/mcp?t=1", "h:8080", "h:8080", "/mcp?t=1"),
            ("http://[::1]/x", "[::1]", "[::1]:80", "/x"),
            ("http://[::1]:9?q", "[::1]:9", "[::1]:9", "/?q"),
            ("HTTP://h#x", "h", "h:80", "/"),
            ("http://h/a?b#/x?y", "h", "h:80", "/a?b"),
        ];
        for (url, authority, address, path) in table {
            let it = Endpoint::new(url, Vec::new(), Ways::default()).unwrap();
            assert_eq!(
                (&*it.authority, &*it.address, &*it.path),
                (authority, address, path),
                "{url}"
            );
        }
        let wrong =
            ["", "h", "ftp://h", "http://", "http:///x", "http:h", "http://u:p@h/", "http://#x"];
        for url in wrong.into_iter().chain(["http://h/a b", "http://h/\r\nX: y", "http://h/ä"]) {
            assert!(Endpoint::new(url, Vec::new(), Ways::default()).is_err(), "{url}");
        }
    }

    /// A server that speaks HTTP/2 over TLS alone, and gives each request an empty result.
    #[tokio::test]
    async fn http2_over_tls() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            let (stream, _) = listener.accept().await.unwrap();
            let stream = acceptor.accept(stream).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                assert_eq!(request.headers()["mcp-method"], "server/discover");
                let head = http::Response::builder().header("content-type", "application/json");
                let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
                let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
                body.send_data(answer.into(), true).unwrap();
            }
        });
        let ca = std::env::temp_dir().join(format!("mcp-conformance-{}.pem", std::process::id()));
        std::fs::write(&ca, made.cert.pem()).unwrap();
        let ways = Ways { http2: true, ca: Some(ca.clone()), ..Ways::default() };
        let endpoint = Endpoint::new(&url, Vec::new(), ways);
        std::fs::remove_file(ca).unwrap();
        let target = Arc::new(Target::Http(Box::new(endpoint.unwrap())));
        let cx = Cx::new(target, Arc::default(), Record::default(), Duration::from_secs(5));
        let reply = cx.ask(&cx.request("server/discover")).await.unwrap();
        assert_eq!(reply.status(), Some(200));
        assert_eq!(reply.result().unwrap(), &json!({}));
    }
}
