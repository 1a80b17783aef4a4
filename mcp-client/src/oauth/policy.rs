//! `Policy`: what the application allows that is refused by default.

/// What the application allows that is refused by default. The default allows nothing.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Policy {
    pub(crate) private_hosts: Vec<String>,
    pub(crate) fallback_issuer: Option<String>,
    pub(crate) accepted_issuers: Vec<(String, String)>,
    pub(crate) missing_pkce: Vec<String>,
}

impl Policy {
    /// Nothing is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets requests go to `host`, such as `auth.corp`, whatever address it has. Default is that hosts with
    /// addresses that are not of the public network get no request, except for the server's own.
    pub fn allow_private_host(mut self, host: impl Into<String>) -> Self {
        self.private_hosts.push(host.into());
        self
    }

    /// Asks this issuer where the server has no metadata that names one. Default is an error.
    pub fn fallback_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.fallback_issuer = Some(issuer.into());
        self
    }

    /// Takes the metadata of `issuer` although it says that it is of `found`, as some providers have it, who differ by a
    /// slash or worse. Default is to refuse that: who can put another's name into their own metadata could get
    /// tokens that are the other's. Specification: Authorization Server Metadata Discovery.
    pub fn danger_accept_issuer(
        mut self,
        issuer: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        self.accepted_issuers.push((issuer.into(), found.into()));
        self
    }

    /// Lets users sign in with `issuer` although its metadata does not say that it does PKCE by S256. It is used all the
    /// same; if the issuer passes over it, a stolen code is good for whoever has it. Default is to refuse that.
    /// Specification: Authorization Code Protection.
    pub fn danger_allow_missing_pkce(mut self, issuer: impl Into<String>) -> Self {
        self.missing_pkce.push(issuer.into());
        self
    }
}
