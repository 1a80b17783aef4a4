//! A user at a browser, without either: follows where a sign-in leads, and agrees to everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_client::oauth::{AuthorizationUrl, Redirect, RedirectHandler};
use mcp_client::{BoxError, BoxFuture};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A user who goes wherever the sign-in sends them. Clones share the browser, and with it the session at the
/// authorization server.
#[derive(Clone, Debug, Default)]
pub struct Robot {
    browser: Browser,
}

impl Robot {
    /// Where users come back to. Nobody listens there: the address is read, and not visited.
    pub const REDIRECT: &str = "http://127.0.0.1:33418/callback";
}

impl RedirectHandler for Robot {
    fn prepare<'a>(
        &'a self,
        _registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        let robot = Box::new(self.clone());
        Box::pin(async move { Ok(robot as Box<dyn Redirect>) })
    }
}

impl Redirect for Robot {
    fn uri(&self) -> &str {
        Self::REDIRECT
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move { self.browser.follow(url.as_str(), Some(Self::REDIRECT)).await })
    }
}

/// What there is of a browser: it keeps cookies, of one host, and follows redirects. Clones share the cookies.
#[derive(Clone, Debug, Default)]
pub struct Browser {
    cookies: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Browser {
    /// Visits `url`, which is plain HTTP, and every page that it redirects to, and gives the address of the last one.
    /// What begins with `end` is given and not visited.
    ///
    /// # Errors
    /// When a page cannot be had, when the last one is no success or nothing led to `end`, and after 20 pages.
    pub async fn follow(&self, url: &str, end: Option<&str>) -> Result<String, BoxError> {
        let mut url = url.to_owned();
        for _ in 0..PAGES {
            if end.is_some_and(|end| url.starts_with(end)) {
                return Ok(url);
            }
            match self.visit(&url).await? {
                Page::Redirects(next) => url = next,
                Page::Shows(head) if end.is_some() || !head.contains(" 200 ") => {
                    return Err(format!("the browser is left with {head} at {url}").into());
                }
                Page::Shows(_) => return Ok(url),
            }
        }
        Err("the browser is sent around without end".into())
    }

    async fn visit(&self, url: &str) -> Result<Page, BoxError> {
        let rest = url.strip_prefix("http://").ok_or("the pages of tests are at http://")?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let slash = if target.starts_with('/') { "" } else { "/" };
        let mut stream = TcpStream::connect(host).await?;
        let cookies = self.cookies();
        let request = format!(
            "GET {slash}{target} HTTP/1.1\r\nhost: {host}\r\naccept: text/html\r\n{cookies}connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        let fields = || head.lines().filter_map(|line| line.split_once(": "));
        let named = |name: &'static str| {
            fields().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1)
        };
        named("set-cookie").for_each(|cookie| self.keep(cookie));
        Ok(match named("location").next() {
            Some(path) if path.starts_with('/') => Page::Redirects(format!("http://{host}{path}")),
            Some(url) => Page::Redirects(url.to_owned()),
            None => Page::Shows(head.lines().next().unwrap_or_default().to_owned()),
        })
    }

    /// The line of a request, if there are any.
    fn cookies(&self) -> String {
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { String::new() } else { format!("cookie: {}\r\n", pairs.join("; ")) }
    }

    /// What is empty has been deleted. Paths and times are passed over: names tell cookies apart.
    fn keep(&self, cookie: &str) {
        let pair = cookie.split(';').next().unwrap_or_default();
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let mut cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        if value.is_empty() {
            cookies.remove(name);
        } else {
            cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

enum Page {
    Redirects(String),
    /// Its status line.
    Shows(String),
}

/// More than any sign-in takes.
const PAGES: usize = 20;
