//! `LoopbackRedirect`: users who sign in with the browser of this machine. RFC 8252, section 7.3.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::flow::{AuthorizationUrl, Redirect, RedirectHandler};
use super::receiver::Receiver;
use crate::error::BoxError;
use crate::future::BoxFuture;

/// Opens a browser, and receives the user at a port of this machine's loopback interface. For programs that users run
/// themselves.
///
/// It listens while somebody signs in and at no other time. What comes in is answered with a plain page that repeats
/// nothing of it; all but the redirect of this very sign-in is passed over.
///
/// ```
/// use std::process::Command;
///
/// use mcp_client::oauth::LoopbackRedirect;
///
/// let browser = LoopbackRedirect::new(|url| {
///     Command::new("xdg-open").arg(url.as_str()).spawn().map(drop)
/// });
/// ```
#[derive(Clone)]
#[must_use]
pub struct LoopbackRedirect {
    open: Arc<Open>,
    host: &'static str,
    port: u16,
    path: Arc<str>,
    time: Duration,
}

type Open = dyn Fn(&AuthorizationUrl) -> Result<(), BoxError> + Send + Sync;

impl LoopbackRedirect {
    /// 5 min for the user: enough to look for a password and a second factor.
    pub const TIME: Duration = Duration::from_secs(5 * 60);
    /// Where users come back to by default.
    pub const PATH: &str = "/callback";

    /// Has `open` show the page to the user, such as in a browser. It is called in a task of the runtime, so it
    /// must not block for long.
    pub fn new<F, E>(open: F) -> Self
    where
        F: Fn(&AuthorizationUrl) -> Result<(), E> + Send + Sync + 'static,
        E: Into<BoxError>,
    {
        let open: Arc<Open> = Arc::new(move |url| open(url).map_err(Into::into));
        Self { open, host: "127.0.0.1", port: 0, path: Self::PATH.into(), time: Self::TIME }
    }

    /// Listens at this port. Default is any that is free, and the same again for an authorization server with which it
    /// is registered. A fixed one is for authorization servers that know the redirect URI from elsewhere and take no
    /// other port.
    pub const fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Has users come back to this path, which begins with a slash. Default is [`PATH`](Self::PATH).
    pub fn path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.path = path.into();
        self
    }

    /// Calls the host `localhost`, for authorization servers that know the redirect URI by that name. Default is
    /// `127.0.0.1`, which no configuration of the machine can lead elsewhere.
    pub const fn as_localhost(mut self) -> Self {
        self.host = "localhost";
        self
    }

    /// How long the user may take. Default is [`TIME`](Self::TIME).
    pub const fn time_limit(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Listens where it is registered already, if that is possible.
    async fn receiver(&self, registered: &[String]) -> io::Result<Receiver> {
        if self.port != 0 {
            return Receiver::bind(self.host, self.port, &self.path).await;
        }
        for port in registered.iter().filter_map(|uri| self.port_of(uri)) {
            if let Ok(receiver) = Receiver::bind(self.host, port, &self.path).await {
                return Ok(receiver);
            }
        }
        Receiver::bind(self.host, 0, &self.path).await
    }

    /// The port of a redirect URI that could be this one's.
    fn port_of(&self, uri: &str) -> Option<u16> {
        let rest = uri.strip_prefix("http://")?.strip_prefix(self.host)?;
        rest.strip_suffix(&*self.path)?.strip_prefix(':')?.parse().ok()
    }
}

impl RedirectHandler for LoopbackRedirect {
    fn prepare<'a>(
        &'a self,
        registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        Box::pin(async move {
            if !self.path.starts_with('/') || self.path.contains(['?', '#', ' ']) {
                return Err("the path of the redirect is none".into());
            }
            let receiver = self.receiver(registered).await?;
            let (open, time) = (Arc::clone(&self.open), self.time);
            Ok(Box::new(Waiting { receiver, open, time }) as Box<dyn Redirect>)
        })
    }
}

impl fmt::Debug for LoopbackRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackRedirect")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("path", &self.path)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

/// One that listens.
struct Waiting {
    receiver: Receiver,
    open: Arc<Open>,
    time: Duration,
}

impl Redirect for Waiting {
    fn uri(&self) -> &str {
        self.receiver.uri()
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move {
            (self.open)(&url)?;
            let time = self.time;
            let query = tokio::time::timeout(time, self.receiver.redirect(url.state())).await;
            let in_time = query.map_err(|_elapsed| format!("nobody came back within {time:?}"));
            Ok(in_time??)
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    fn quiet() -> LoopbackRedirect {
        LoopbackRedirect::new(|_| Ok::<_, BoxError>(()))
    }

    #[tokio::test]
    async fn a_user_comes_back() {
        let browser = LoopbackRedirect::new(|url: &AuthorizationUrl| {
            let (page, uri) = url.as_str().split_once("&redirect_uri=").unwrap();
            assert_eq!(page, "https://as/authorize?x=1&state=abc");
            let host = uri.trim_start_matches("http://").trim_end_matches("/callback").to_owned();
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(host).await.unwrap();
                let request = b"GET /callback?code=c&state=abc HTTP/1.1\r\n\r\n";
                stream.write_all(request).await.unwrap();
            });
            Ok::<_, BoxError>(())
        });
        let redirect = browser.prepare(&[]).await.unwrap();
        let url = format!("https://as/authorize?x=1&state=abc&redirect_uri={}", redirect.uri());
        let query = redirect.authorize(AuthorizationUrl::new(url, "abc".to_owned())).await.unwrap();
        assert_eq!(query, "code=c&state=abc");
    }

    #[tokio::test]
    async fn the_registered_port_is_taken_again() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let registered = [
            "https://elsewhere/callback".to_owned(),
            format!("http://127.0.0.1:{free}/other"),
            format!("http://127.0.0.1:{free}/callback"),
        ];
        let redirect = quiet().prepare(&registered).await.unwrap();
        assert_eq!(redirect.uri(), registered[2]);
        // It is taken now.
        let other = quiet().prepare(&registered).await.unwrap();
        assert_ne!(other.uri(), registered[2]);
        assert!(quiet().port(free).prepare(&[]).await.is_err());
        drop(redirect);
        let again = quiet().port(free).path("/x").as_localhost().prepare(&[]).await.unwrap();
        assert_eq!(again.uri(), format!("http://localhost:{free}/x"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_comes_back() {
        let redirect = quiet().prepare(&[]).await.unwrap();
        let url = AuthorizationUrl::new("https://as/authorize".to_owned(), "abc".to_owned());
        let error = redirect.authorize(url).await.unwrap_err();
        assert_eq!(error.to_string(), "nobody came back within 300s");
    }

    #[tokio::test]
    async fn what_cannot_be() {
        for path in ["", "callback", "/a?b", "/a#b", "/a b"] {
            assert!(quiet().path(path).prepare(&[]).await.is_err(), "{path}");
        }
        let broken = LoopbackRedirect::new(|_| Err("there is no browser"));
        let redirect = broken.prepare(&[]).await.unwrap();
        let url = AuthorizationUrl::new("https://as/authorize".to_owned(), "abc".to_owned());
        assert_eq!(redirect.authorize(url).await.unwrap_err().to_string(), "there is no browser");
    }
}
