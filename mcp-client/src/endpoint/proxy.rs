//! Which proxy requests go through.

use std::ffi::OsString;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::via::{Credentials, Via};
use super::{authority_fault, dial::Dial};
use crate::error::Error;

/// Where it is said which proxy to take.
#[derive(Clone, Default)]
pub(crate) enum Proxies {
    /// In the variables of this process, at the time when the client is built.
    #[default]
    Environment,
    Variables(Variables),
    /// One for every address.
    Given(Proxy),
    Nowhere,
}

impl Proxies {
    /// The proxy for requests to `target`, if they go through any.
    ///
    /// # Errors
    /// When the one that is meant cannot be used. To go around it would be wrong: it may be there to keep requests
    /// from going out by themselves.
    pub(crate) fn of(&self, target: &Uri) -> Result<Option<Proxy>, Error> {
        match self {
            Self::Environment => Variables::of_process().proxy(target),
            Self::Variables(variables) => variables.proxy(target),
            Self::Given(proxy) => Ok(Some(proxy.clone())),
            Self::Nowhere => Ok(None),
        }
    }
}

#[cfg(feature = "oauth")]
impl Proxies {
    /// This one for every address.
    #[cfg(test)]
    pub(crate) fn only(url: &str) -> Self {
        Self::Given(Proxy::parse(url).expect("tests name proxies that there are"))
    }

    /// Asks the environment now, and not again.
    pub(crate) fn settle(&mut self) {
        if matches!(self, Self::Environment) {
            *self = Self::Variables(Variables::of_process());
        }
    }
}

/// The customary variables. Their values may hold passwords.
#[derive(Clone)]
pub(crate) struct Variables {
    http: Option<String>,
    https: Option<String>,
    all: Option<String>,
    no: Option<String>,
}

impl Variables {
    fn of_process() -> Self {
        // What is no text is no proxy either, but it is set.
        let lossy = |value: OsString| value.to_string_lossy().into_owned();
        Self::read(|name| std::env::var_os(name).map(lossy))
    }

    /// Asks `lookup` for each of them, in lower case first; one that is empty counts as not set.
    pub(crate) fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let either = |name: &str| set(name).or_else(|| set(&name.to_ascii_uppercase()));
        // To a CGI program that name is the header `Proxy` of whoever sent the request.
        let is_cgi = lookup("REQUEST_METHOD").is_some();
        Self {
            http: if is_cgi { set("http_proxy") } else { either("http_proxy") },
            https: either("https_proxy"),
            all: either("all_proxy"),
            no: either("no_proxy"),
        }
    }

    fn proxy(&self, target: &Uri) -> Result<Option<Proxy>, Error> {
        let (name, own) = if target.scheme() == Some(&Scheme::HTTPS) {
            ("https_proxy", &self.https)
        } else {
            ("http_proxy", &self.http)
        };
        let (name, url) = match (own, &self.all) {
            (Some(url), _) => (name, url),
            (None, Some(url)) => ("all_proxy", url),
            (None, None) => return Ok(None),
        };
        if is_loopback(target) || self.excepts(target) {
            return Ok(None);
        }
        Proxy::parse(url)
            .map(Some)
            .map_err(|why| Error::usage(format!("the variable {name} has no proxy to use: {why}")))
    }

    /// Whether `no_proxy` names the host.
    fn excepts(&self, target: &Uri) -> bool {
        let Some(no) = &self.no else { return false };
        // The matcher holds a star against names alone.
        no.split(',').any(|entry| entry.trim() == "*")
            || Matcher::builder().all(ANYWHERE).no(no).build().intercept(target).is_none()
    }
}

/// A proxy that takes every address which it is not told to leave out.
const ANYWHERE: &str = "http://proxy";

fn is_loopback(target: &Uri) -> bool {
    let host = target.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    let name = host.to_ascii_lowercase();
    let is_local = |ip: IpAddr| ip.to_canonical().is_loopback() || ip.is_unspecified();
    name == "localhost" || name.ends_with(".localhost") || host.parse().is_ok_and(is_local)
}

/// One proxy, and how it is spoken to.
#[derive(Clone)]
pub(crate) struct Proxy {
    /// Scheme, host and port, nothing else.
    uri: Uri,
    speaks: Speaks,
    found: Intercept,
}

#[derive(Clone, Copy)]
enum Speaks {
    Http,
    /// Version 5; names are looked up here or there.
    Socks {
        looks_up: bool,
    },
}

impl Proxy {
    /// Reads the address of a proxy. `http://` may be left out.
    ///
    /// # Errors
    /// Says what is wrong, without the address, which may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Self, &'static str> {
        let found =
            Matcher::builder().all(url.trim()).build().intercept(&Uri::from_static(ANYWHERE));
        let found = found.ok_or("it must be the URL of an HTTP or SOCKS 5 proxy")?;
        let authority = found.uri().authority().ok_or("it has no host")?;
        if let Some(fault) = authority_fault(authority) {
            return Err(fault);
        }
        let (speaks, scheme, port) = match found.uri().scheme_str() {
            Some("http") => (Speaks::Http, "http", 80),
            Some("https") => (Speaks::Http, "https", 443),
            Some("socks5") => (Speaks::Socks { looks_up: false }, "http", 1080),
            Some("socks5h") => (Speaks::Socks { looks_up: true }, "http", 1080),
            _ => return Err("of SOCKS only version 5 is spoken"),
        };
        let port = authority.port_u16().unwrap_or(port);
        let uri = format!("{scheme}://{}:{port}/", authority.host()).parse().ok();
        Ok(Self { uri: uri.ok_or("it has no host")?, speaks, found })
    }

    pub(crate) const fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The way through the proxy, which `dial` connects to. With `forwards` it is asked to forward single requests,
    /// each with the credentials, if it speaks HTTP; else for a connection to the server.
    pub(crate) fn through(self, dial: Dial, forwards: bool) -> (Via, Option<Credentials>) {
        let credentials = self.found.basic_auth().cloned();
        match self.speaks {
            Speaks::Http if forwards => {
                (Via::forward(dial, self.uri), credentials.map(Credentials::new))
            }
            Speaks::Http => (Via::tunnel(dial, self.uri, credentials), None),
            Speaks::Socks { looks_up } => {
                (Via::socks(dial, self.uri, self.found.raw_auth(), looks_up), None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where requests to `target` go with these variables set.
    fn way(variables: &[(&str, &str)], target: &str) -> Result<Option<String>, Error> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = Variables::read(lookup).proxy(&target.parse().unwrap())?;
        Ok(proxy.map(|proxy| proxy.uri.to_string()))
    }

    #[test]
    fn each_scheme_has_its_variable() {
        let all = [
            ("HTTP_PROXY", "http://plain:1"),
            ("HTTPS_PROXY", "http://secure:2"),
            ("ALL_PROXY", "http://all:3"),
        ];
        let table = [
            (&all[..], "http://h/", Some("http://plain:1/")),
            (&all[..], "https://h/", Some("http://secure:2/")),
            (&all[2..], "http://h/", Some("http://all:3/")),
            (&all[2..], "https://h/", Some("http://all:3/")),
            (&all[..1], "https://h/", None),
            (&all[1..2], "http://h/", None),
            (&[], "http://h/", None),
            (
                &[("http_proxy", "lower"), ("HTTP_PROXY", "upper")],
                "http://h/",
                Some("http://lower:80/"),
            ),
            (
                &[("https_proxy", ""), ("HTTPS_PROXY", "upper")],
                "https://h/",
                Some("http://upper:80/"),
            ),
            (&[("all_proxy", " ")], "https://h/", None),
        ];
        for (variables, target, expected) in table {
            assert_eq!(
                way(variables, target).unwrap().as_deref(),
                expected,
                "{variables:?} {target}"
            );
        }
    }

    #[test]
    fn a_header_is_no_proxy_of_a_cgi_program() {
        let upper = [
            ("REQUEST_METHOD", "POST"),
            ("HTTP_PROXY", "http://evil"),
            ("HTTPS_PROXY", "http://p"),
        ];
        assert_eq!(way(&upper, "http://h/").unwrap(), None);
        assert_eq!(way(&upper, "https://h/").unwrap().unwrap(), "http://p:80/");
        let lower = [("REQUEST_METHOD", "POST"), ("http_proxy", "http://p")];
        assert_eq!(way(&lower, "http://h/").unwrap().unwrap(), "http://p:80/");
    }

    #[test]
    fn forms_of_proxies() {
        let table = [
            ("p", "http://p:80/"),
            ("p:3128", "http://p:3128/"),
            ("http://p", "http://p:80/"),
            ("http://u:s3cret@p:8/ignored", "http://p:8/"),
            ("http://u%40x:s3cret@[::1]:8", "http://[::1]:8/"),
            ("https://p", "https://p:443/"),
            ("socks5://p", "http://p:1080/"),
            ("socks5h://u:s3cret@p:9", "http://p:9/"),
        ];
        for (url, expected) in table {
            assert_eq!(
                way(&[("ALL_PROXY", url)], "http://h/").unwrap().unwrap(),
                expected,
                "{url}"
            );
        }
        for url in [
            "socks4://s3cret@p",
            "socks4a://p",
            "ftp://s3cret@p",
            "http://s3cret p",
            "http://s3cret@p:x",
            "http://p:99999",
            "://",
            "http://s3cret@",
        ] {
            let error = way(&[("HTTP_PROXY", url)], "http://h/").unwrap_err();
            assert!(error.is_usage(), "{url}");
            assert!(error.to_string().contains("http_proxy"), "{error}");
            assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
        }
    }

    #[test]
    fn what_goes_around_it() {
        let local = [
            "localhost",
            "LOCALHOST.",
            "a.localhost:8",
            "127.0.0.1",
            "127.8.8.8:1",
            "[::1]:8",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
        ];
        for host in local {
            let found = way(&[("ALL_PROXY", "p")], &format!("http://{host}/mcp")).unwrap();
            assert_eq!(found, None, "{host}");
        }
        let table = [
            ("*", &["h", "10.1.2.3", "[fd00::1]"][..], &[][..]),
            (
                "example.com",
                &["example.com", "EXAMPLE.com:8", "a.example.com"],
                &["notexample.com", "com", "example.com.evil"],
            ),
            (".example.com", &["example.com", "a.b.example.com"], &["aexample.com"]),
            (" a.test , ,b.test", &["a.test", "b.test"], &["c.test"]),
            ("10.1.2.3", &["10.1.2.3:8"], &["10.1.2.4", "a.10.1.2.3.test"]),
            ("10.0.0.0/8,fd00::/8", &["10.200.3.4", "[fd12::1]:8"], &["11.0.0.1", "[fe80::1]"]),
            ("", &[], &["h"]),
        ];
        for (no, around, through) in table {
            let variables = [("all_proxy", "p"), ("NO_PROXY", no)];
            for (hosts, expected) in [(around, None), (through, Some("http://p:80/"))] {
                for host in hosts {
                    let found = way(&variables, &format!("https://{host}/mcp")).unwrap();
                    assert_eq!(found.as_deref(), expected, "{no} {host}");
                }
            }
        }
    }

    #[test]
    fn a_bad_proxy_matters_where_it_is_meant() {
        let variables = [("http_proxy", "ftp://p"), ("no_proxy", "near")];
        assert!(way(&variables, "http://far/").is_err());
        assert_eq!(way(&variables, "http://near/").unwrap(), None);
        assert_eq!(way(&variables, "https://far/").unwrap(), None);
    }
}
