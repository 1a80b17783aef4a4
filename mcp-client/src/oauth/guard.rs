//! `Guard`: where requests may go.

use std::fmt;
use std::net::IpAddr;

use super::address::special;
use super::error::{Kind, OAuthError};
use super::policy::Policy;
use super::url::{Host, Url, is_local_name, shown};
use crate::endpoint::Vet;
use crate::error::BoxError;

/// Where requests may go: what names the places is what strangers say.
///
/// Literal addresses are looked at before a request is sent, whoever sends it; those that names stand for when a
/// connection is made, so that what was looked at is what is connected to.
pub(crate) struct Guard {
    /// Hosts that may have any address: the server's own, which the application chose, and those of the policy.
    trusted: Vec<String>,
    /// The server itself is on this machine.
    is_local: bool,
}

impl Guard {
    /// # Errors
    /// When `server` is none that tokens may be sent to: over plain HTTP they would be anybody's.
    pub(crate) fn of(server: &str, policy: &Policy) -> Result<Self, OAuthError> {
        let server = server.split('#').next().unwrap_or_default();
        let usage = |why| OAuthError::new(Kind::Usage, format!("{:?} {why}", shown(server)));
        let url = Url::parse(server).map_err(usage)?;
        if !url.is_https() && !url.host().is_loopback() {
            return Err(usage("gets no tokens, since it does not begin with https://"));
        }
        Ok(Self::new(&url, policy))
    }

    fn new(server: &Url<'_>, policy: &Policy) -> Self {
        let own = key(server.host());
        let private = policy.private_hosts.iter();
        let private = private.map(|host| host.trim_matches(['[', ']', '.']).to_ascii_lowercase());
        let is_local = server.host().is_loopback();
        Self { trusted: std::iter::once(own).chain(private).collect(), is_local }
    }

    /// Lets a URL pass that begins with `https://`, or is on this machine, and whose host may be asked, as far as that
    /// can be told from the URL.
    ///
    /// # Errors
    /// When it must not be asked.
    pub(crate) fn check<'a>(&self, url: &'a str) -> Result<Url<'a>, OAuthError> {
        let refuse = |why: &dyn fmt::Display| {
            OAuthError::new(Kind::Unsafe, format!("{:?} is not asked: it {why}", shown(url)))
        };
        let parsed = Url::parse(url).map_err(|why| refuse(&why))?;
        let host = parsed.host();
        if !parsed.is_https() && !host.is_loopback() {
            return Err(refuse(&"does not begin with https://"));
        }
        match host {
            Host::Address(address) => {
                self.check_address(&key(host), address).map_err(|why| refuse(&why))?;
            }
            Host::Name(name) if is_local_name(name) && !self.may_be_local(name) => {
                return Err(refuse(&Refused { what: "loopback" }));
            }
            Host::Name(_) => {}
        }
        Ok(parsed)
    }

    fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Refused> {
        let Some(what) = special(address) else {
            // Plain HTTP goes to such names, and must not leave the machine.
            let leaves = is_local_name(host);
            return if leaves { Err(Refused { what: "public" }) } else { Ok(()) };
        };
        let is_loopback = address.to_canonical().is_loopback();
        if is_local_name(host) && !is_loopback {
            return Err(Refused { what });
        }
        if self.trusts(host) || (is_loopback && self.is_local) {
            return Ok(());
        }
        Err(Refused { what })
    }

    fn may_be_local(&self, name: &str) -> bool {
        self.is_local || self.trusts(name)
    }

    fn trusts(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.trusted.iter().any(|trusted| trusted.eq_ignore_ascii_case(host))
    }
}

impl Vet for Guard {
    fn vet(&self, host: &str, address: IpAddr) -> Result<(), BoxError> {
        Ok(self.check_address(host.trim_matches(['[', ']', '.']), address)?)
    }
}

/// Why an address is not connected to. It says nothing of the address itself, which may be nobody's business.
#[derive(Debug)]
pub(crate) struct Refused {
    what: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "has an address that is {}, which `allow_private_host` would have to allow",
            self.what
        )
    }
}

impl std::error::Error for Refused {}

/// A host as it is compared.
fn key(host: Host<'_>) -> String {
    match host {
        Host::Name(name) => name.to_ascii_lowercase(),
        Host::Address(address) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(server: &str, private: &[&str]) -> Guard {
        let policy =
            private.iter().fold(Policy::new(), |policy, host| policy.allow_private_host(*host));
        Guard::new(&Url::parse(server).unwrap(), &policy)
    }

    #[test]
    fn urls() {
        let public = guard("https://mcp.example.com/mcp", &["auth.corp", "10.0.0.9", "[fd00::9]"]);
        for url in
            "https://auth.example.com/x https://8.8.8.8/ https://auth.corp/ https://10.0.0.9/ \
            https://[fd00::9]/ https://mcp.example.com:8443/"
                .split(' ')
        {
            public.check(url).unwrap();
        }
        for url in [
            "http://auth.example.com/",
            "http://mcp.example.com/",
            "http://auth.corp/",
            "http://8.8.8.8/",
            "https://127.0.0.1/",
            "https://localhost/",
            "http://localhost:1/",
            "https://a.localhost./",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "https://0.0.0.0/",
            "https://192.168.1.1./",
            "https://u:p@auth.example.com/",
            "ftp://auth.example.com/",
            "file:///etc/passwd",
            "javascript:x",
            "https://127.1/",
            "https://2130706433/",
            "",
        ] {
            assert!(public.check(url).unwrap_err().is_unsafe(), "{url}");
        }
        let local = guard("http://127.0.0.1:8080/mcp", &[]);
        for url in
            ["http://localhost:1/", "http://127.0.0.2/", "https://[::1]/", "https://a.example/"]
        {
            local.check(url).unwrap();
        }
        for url in
            ["http://0.0.0.0/", "https://10.0.0.1/", "http://a.example/", "https://192.168.0.1/"]
        {
            assert!(local.check(url).is_err(), "{url}");
        }
        let private = guard("https://10.0.0.1/mcp", &[]);
        private.check("https://10.0.0.1:444/").unwrap();
        for url in ["https://10.0.0.2/", "https://localhost/", "https://127.0.0.1/"] {
            assert!(private.check(url).is_err(), "{url}");
        }
        guard("https://h/", &["LOCALHOST"]).check("http://localhost:1/").unwrap();
    }

    #[test]
    fn names_are_judged_by_their_addresses() {
        let public = guard("https://mcp.corp/mcp", &["auth.corp"]);
        let table = [
            ("auth.example.com", "8.8.8.8", true),
            ("auth.example.com", "10.0.0.1", false),
            ("auth.example.com", "127.0.0.1", false),
            ("auth.example.com", "169.254.169.254", false),
            ("auth.example.com", "::ffff:10.0.0.1", false),
            ("auth.corp", "10.0.0.1", true),
            ("AUTH.corp.", "10.0.0.1", true),
            ("mcp.corp", "10.0.0.1", true),
            ("x.auth.corp", "10.0.0.1", false),
            ("localhost", "127.0.0.1", false),
        ];
        for (host, address, expected) in table {
            let vetted = public.vet(host, address.parse().unwrap());
            assert_eq!(vetted.is_ok(), expected, "{host} {address}");
        }
        let local = guard("http://localhost:1/mcp", &[]);
        for (address, expected) in
            [("127.0.0.1", true), ("::1", true), ("8.8.8.8", false), ("10.0.0.1", false)]
        {
            assert_eq!(
                local.vet("localhost", address.parse().unwrap()).is_ok(),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn the_reason_is_told() {
        let error = guard("https://h/", &[]).check("https://10.0.0.1/x?token=s3cret").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"https://10.0.0.1/x\" is not asked: it has an address that is private, which \
             `allow_private_host` would have to allow"
        );
    }
}
