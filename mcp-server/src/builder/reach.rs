//! Where a server is reached, and by which web pages.

use mcp_transport::host::{HostPolicy, OriginPolicy};

use super::ServerBuilder;
use crate::cors::{Cors, CorsPolicy};
use crate::error::BuildError;
use crate::ladder::head::HeadPolicy;

/// Names, pages and path, before they are checked.
pub(super) struct Reach {
    hosts: Hosts,
    origins: Hosts,
    cors: Option<Cors>,
    path: String,
}

/// Which hosts, or which origins, are let in.
enum Hosts {
    Loopback,
    Listed(Vec<String>),
    Any,
}

impl ServerBuilder {
    /// The names under which clients reach the server, as `host` (any port) or `host:port`. Default are those
    /// of the loopback interface, and no other machine could use them. Specification: Streamable HTTP,
    /// Security & Endpoint.
    #[must_use]
    pub fn hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.reach.hosts = Hosts::Listed(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The web origins whose pages may call the server, as `scheme://host` with `:port` where it is not the
    /// scheme's own. Default are those of the loopback interface at any port. A request without `Origin` comes
    /// from no page, and passes.
    #[must_use]
    pub fn origins<S: Into<String>>(mut self, origins: impl IntoIterator<Item = S>) -> Self {
        self.reach.origins = Hosts::Listed(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Lets pages of the allowed [origins](Self::origins), and of no others, call the server from a browser and read
    /// its answers: preflights are answered, and every response says so. Default is not to, and browsers keep the
    /// answers from pages then.
    ///
    /// A page of a public network may call a server in a private one where its origin was listed (Private Network
    /// Access), not where [any](Self::danger_allow_any_origin) may call. A layer for CORS around
    /// [`Server::service`](crate::Server::service) would say everything twice: leave one of them out.
    ///
    /// ```
    /// use mcp_server::{Cors, Server};
    ///
    /// # fn main() -> Result<(), mcp_server::BuildError> {
    /// let server = Server::builder("library", "1.0.0")
    ///     .origins(["https://app.example"])
    ///     .cors(Cors::new().allow_headers(["x-api-key"]))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cors(mut self, cors: Cors) -> Self {
        self.reach.cors = Some(cors);
        self
    }

    /// Answers to any `Host`. Then a web page can reach a server on its visitor's machine by DNS rebinding,
    /// unless something in front checks the host.
    #[must_use]
    pub fn danger_allow_any_host(mut self) -> Self {
        self.reach.hosts = Hosts::Any;
        self
    }

    /// Lets pages of any origin call the server. With [`cors`](Self::cors) they also read its answers.
    #[must_use]
    pub fn danger_allow_any_origin(mut self) -> Self {
        self.reach.origins = Hosts::Any;
        self
    }

    /// The path of the endpoint for [`Server::serve`](crate::Server::serve). Default is `/mcp`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.reach.path = path.into();
        self
    }
}

impl Reach {
    /// Checks and parses them. The first tells whether somebody has said which hosts.
    pub(super) fn build(self) -> Result<(bool, HeadPolicy, Option<CorsPolicy>), BuildError> {
        if !self.path.starts_with('/') {
            return Err(BuildError::Path(self.path));
        }
        let hosts_are_chosen = !matches!(self.hosts, Hosts::Loopback);
        let any_origin = matches!(self.origins, Hosts::Any);
        let cors = self.cors.map(|cors| CorsPolicy::new(&cors, any_origin)).transpose()?;
        let head = HeadPolicy {
            hosts: self.hosts.into_hosts()?,
            origins: self.origins.into_origins()?,
            path: Some(self.path.into()),
        };
        Ok((hosts_are_chosen, head, cors))
    }
}

impl Default for Reach {
    fn default() -> Self {
        let path = "/mcp".to_owned();
        Self { hosts: Hosts::Loopback, origins: Hosts::Loopback, cors: None, path }
    }
}

impl Hosts {
    fn into_hosts(self) -> Result<HostPolicy, BuildError> {
        match self {
            Self::Loopback => Ok(HostPolicy::loopback()),
            Self::Listed(hosts) => Ok(HostPolicy::list(hosts.iter().map(String::as_str))?),
            Self::Any => Ok(HostPolicy::danger_allow_any()),
        }
    }

    fn into_origins(self) -> Result<OriginPolicy, BuildError> {
        match self {
            Self::Loopback => Ok(OriginPolicy::loopback()),
            Self::Listed(origins) => Ok(OriginPolicy::list(origins.iter().map(String::as_str))?),
            Self::Any => Ok(OriginPolicy::danger_allow_any()),
        }
    }
}
