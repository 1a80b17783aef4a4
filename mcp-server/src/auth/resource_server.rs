//! `ResourceServer`: how a server is protected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::Uri;
use mcp_transport::auth::{ProtectedResourceMetadata, Scopes, metadata_urls};
use mcp_types::Method;

use super::authorization::{Authorization, Clock, Implied};
use super::document::Document;
use super::required::{NoScope, parse};
use super::{MAX_TOKEN, Scheme, TokenVerifier};
use crate::builder::ServerBuilder;
use crate::error::BuildError;
use crate::limits::FOR_EVER;

/// How a server is protected, for [`ServerBuilder::auth`]: as a resource server of OAuth 2.1. What is not set has the
/// default that its setter names; what has none must be given, or the server is not built.
///
/// ```
/// use mcp_server::auth::{Access, ResourceServer, StaticTokens};
/// use mcp_server::{Server, Tool};
///
/// # fn main() -> Result<(), mcp_server::BuildError> {
/// let tokens = StaticTokens::new().token("secret", Access::new("dev", "me").with_scopes(["notes:write"]));
/// let server = Server::builder("notes", "1.0.0")
///     .tool(Tool::new("list", async || "nothing yet").scopes(["notes:read"]))
///     .auth(
///         ResourceServer::new("https://mcp.example.com/mcp")
///             .authorization_server("https://auth.example.com")
///             .verifier(tokens)
///             .implies("notes:write", ["notes:read"]),
///     )
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub struct ResourceServer {
    resource: String,
    servers: Vec<String>,
    verifier: Option<Arc<dyn TokenVerifier>>,
    supported: Option<Vec<String>>,
    required: Vec<String>,
    implies: Vec<(String, Vec<String>)>,
    methods: Vec<(Method, Vec<String>)>,
    optional: bool,
    verify_time: Duration,
    clock: Clock,
    describe: Vec<Box<Describe>>,
}

type Describe = dyn FnOnce(&mut ProtectedResourceMetadata) + Send;

impl ResourceServer {
    /// 10 s: more than a fetch of keys and an introspection take one after the other, and less than clients wait.
    pub const VERIFY_TIME: Duration = Duration::from_secs(10);
    /// 16 KiB, the longest token that is looked at; a longer one is answered with 400. Not configurable.
    pub const MAX_TOKEN: usize = MAX_TOKEN;

    /// The server whose resource identifier is this: the URL of the endpoint as clients know it, such as
    /// `https://mcp.example.com/mcp`. Tokens have to be issued for exactly this string as their audience.
    ///
    /// It must be an absolute `https` URL without user or fragment, or `http` on loopback. Specification: Authorization, Canonical
    /// Server URI.
    pub fn new(resource: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            servers: Vec::new(),
            verifier: None,
            supported: None,
            required: Vec::new(),
            implies: Vec::new(),
            methods: Vec::new(),
            optional: false,
            verify_time: Self::VERIFY_TIME,
            clock: Arc::new(SystemTime::now),
            describe: Vec::new(),
        }
    }

    /// Adds an authorization server that issues tokens for this one, by its issuer identifier; at least one is needed.
    /// Clients choose among several. It must be a URL as that of the resource, without a query. Specification: Authorization Server Discovery,
    /// Authorization Server Location.
    #[must_use]
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.servers.push(issuer.into());
        self
    }

    /// What tells good tokens from others; it must be given.
    #[must_use]
    pub fn verifier(mut self, verifier: impl TokenVerifier) -> Self {
        self.verifier = Some(Arc::new(verifier));
        self
    }

    /// The scopes that clients are told of beforehand, for basic use: more are asked for where they are needed.
    /// Default are the [required](Self::required_scopes) ones, if there are any. Specification: Authorization, Scope Selection Strategy.
    #[must_use]
    pub fn scopes_supported<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// The scopes without which a token is good for nothing here. Default is none.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The scopes that a method of the protocol needs besides, whatever it is about: `tools/list`, say. Single tools
    /// have [theirs](crate::Tool::scopes). Default is none.
    #[must_use]
    pub fn method_scopes<S: Into<String>>(
        mut self,
        method: Method,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.methods.push((method, scopes.into_iter().map(Into::into).collect()));
        self
    }

    /// Says that whoever has `scope` may do all that `narrower` ones are for, and what those imply in their turn.
    /// Default is that each scope stands for itself alone. Specification: Authorization, Step-Up Authorization Flow.
    #[must_use]
    pub fn implies<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        narrower: impl IntoIterator<Item = S>,
    ) -> Self {
        self.implies.push((scope.into(), narrower.into_iter().map(Into::into).collect()));
        self
    }

    /// Lets in callers without a token, to what requires no scope of its own. What does answers them with 401 and the scopes
    /// that it needs; a token that is no good is refused whatever it is for. Default is not to.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// How long the verifier may take for one token; over it the answer is 503 with `Retry-After`. Default is
    /// [`VERIFY_TIME`](Self::VERIFY_TIME).
    ///
    /// For so long the request counts as an exchange of the address that it comes from, since nobody knows whose it is:
    /// behind a proxy, [`Limits::exchanges_per_caller`](crate::Limits::exchanges_per_caller) bounds how many are
    /// verified at once.
    #[must_use]
    pub const fn verify_time(mut self, limit: Duration) -> Self {
        self.verify_time = limit;
        self
    }

    /// What tells the time by which tokens expire, for tests. Default is the system's clock.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(now);
        self
    }

    /// Completes the document that clients read about the server: its name, documentation, policy. The resource stays
    /// what it is.
    ///
    /// ```
    /// # use mcp_server::auth::ResourceServer;
    /// ResourceServer::new("https://mcp.example.com/mcp")
    ///     .metadata(|document| document.resource_name = Some("Notes".to_owned()));
    /// ```
    #[must_use]
    pub fn metadata(
        mut self,
        describe: impl FnOnce(&mut ProtectedResourceMetadata) + Send + 'static,
    ) -> Self {
        self.describe.push(Box::new(describe));
        self
    }

    /// Checks it, and makes it ready.
    pub(crate) fn build(self) -> Result<Authorization, BuildError> {
        let fault = |why: String| BuildError::Auth(why);
        let resource = self.resource;
        if let Err(why) = check_url(&resource) {
            return Err(fault(format!("has the resource {resource:?}, which {why}")));
        }
        if self.servers.is_empty() {
            return Err(fault("needs an .authorization_server(..)".to_owned()));
        }
        for server in &self.servers {
            check_url(server)
                .and_then(|()| if server.contains('?') { Err("has a query") } else { Ok(()) })
                .map_err(|why| fault(format!("has the issuer {server:?}, which {why}")))?;
        }
        let verifier = self.verifier.ok_or_else(|| fault("needs a .verifier(..)".to_owned()))?;
        let required = scopes(&self.required)?;
        let methods = self.methods.iter().map(|(method, list)| Ok((*method, scopes(list)?)));
        let methods = methods.collect::<Result<Vec<_>, BuildError>>()?;
        let supported = self.supported.as_deref().map(scopes).transpose()?;
        let supported = supported.or_else(|| Some(required.clone()).filter(|all| !all.is_empty()));
        let mut metadata = ProtectedResourceMetadata::new(resource.as_str(), self.servers);
        metadata.scopes_supported =
            supported.map(|scopes| scopes.iter().map(str::to_owned).collect());
        metadata.bearer_methods_supported = Some(vec!["header".to_owned()]);
        verifier.describe(&mut metadata);
        for describe in self.describe {
            describe(&mut metadata);
        }
        metadata.resource.clone_from(&resource);
        let urls = metadata_urls(&resource).unwrap_or_default();
        let schemes = verifier.schemes().to_vec();
        if schemes.is_empty() {
            return Err(fault("has a verifier that takes tokens by no scheme".to_owned()));
        }
        Ok(Authorization {
            audience: resource.into(),
            document: Document::new(&metadata, &urls),
            metadata_url: urls.into_iter().next().unwrap_or_default(),
            schemes,
            algorithms: verifier.proof_algorithms().map(str::to_owned),
            verifier,
            optional: self.optional,
            verify_time: self.verify_time.min(FOR_EVER),
            clock: self.clock,
            required,
            methods,
            implied: implied(&self.implies)?,
        })
    }
}

impl ServerBuilder {
    /// Protects the server: every HTTP request needs a token that its verifier takes, unless that is
    /// [optional](ResourceServer::optional), and tools, resources, prompts and methods may require
    /// [scopes](crate::Tool::scopes). Default is that everybody may call.
    ///
    /// See [the module](crate::auth) for what is checked when, and on other transports.
    #[must_use]
    pub fn auth(mut self, auth: ResourceServer) -> Self {
        self.auth = Some(auth);
        self
    }
}

/// Specification: Authorization, Canonical Server URI; Security Considerations, Communication Security.
fn check_url(text: &str) -> Result<(), &'static str> {
    let Ok(url) = text.parse::<Uri>() else { return Err("is no URL") };
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err("is no absolute URL");
    };
    if text.contains('#') {
        return Err("has a fragment");
    }
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err("has a user, or no host");
    }
    match scheme {
        "https" => Ok(()),
        "http" if is_loopback(authority.host()) => Ok(()),
        _ => Err("is not https, as it has to be except on loopback"),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn scopes(texts: &[String]) -> Result<Scopes, BuildError> {
    let scopes = parse(texts).map_err(|NoScope(text)| BuildError::Scope(text))?;
    if scopes.contains("offline_access") {
        // Specification: Authorization, Refresh Tokens.
        let why =
            "names the scope offline_access, which asks for a refresh token and gives no access";
        return Err(BuildError::Auth(why.to_owned()));
    }
    Ok(scopes)
}

/// For each scope those that imply it, be it by way of others.
fn implied(rules: &[(String, Vec<String>)]) -> Result<Implied, BuildError> {
    let mut direct: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (broader, narrower) in rules {
        scopes(std::slice::from_ref(broader))?;
        scopes(narrower)?;
        for scope in narrower {
            direct.entry(scope).or_default().insert(broader);
        }
    }
    let closure = direct.keys().map(|scope| {
        let mut by = BTreeSet::new();
        let mut ahead = vec![*scope];
        while let Some(next) = ahead.pop() {
            for broader in direct.get(next).into_iter().flatten() {
                if by.insert(Box::from(*broader)) {
                    ahead.push(broader);
                }
            }
        }
        (Box::from(*scope), by)
    });
    Ok(closure.collect())
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer")
            .field("resource", &self.resource)
            .field("schemes", &self.verifier.as_ref().map(|verifier| schemes(&**verifier)))
            .finish_non_exhaustive()
    }
}

fn schemes(verifier: &dyn TokenVerifier) -> Vec<Scheme> {
    verifier.schemes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources() {
        let table = [
            ("https://mcp.example.com/mcp", true),
            ("https://mcp.example.com", true),
            ("https://mcp.example.com:8443/a?t=1", true),
            ("HTTPS://MCP.example.com", true),
            ("http://localhost:8080/mcp", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/mcp", true),
            ("", false),
            ("mcp.example.com", false),
            ("/mcp", false),
            ("urn:x:y", false),
            ("http://mcp.example.com/mcp", false),
            ("ftp://mcp.example.com", false),
            ("https://mcp.example.com#a", false),
            ("https://mcp.example.com/mcp#a", false),
            ("https://user@mcp.example.com/mcp", false),
            ("https:///mcp", false),
        ];
        for (text, is) in table {
            assert_eq!(check_url(text).is_ok(), is, "{text}: {:?}", check_url(text));
        }
    }

    #[test]
    fn hierarchies_are_transitive_and_may_have_cycles() {
        let rules = [("a", vec!["b", "c"]), ("b", vec!["d"]), ("d", vec!["e", "b"])];
        let rules = rules.map(|(broad, narrow)| {
            (broad.to_owned(), narrow.into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        let implied = implied(&rules).unwrap();
        let by = |scope: &str| {
            let by = implied.get(scope)?.iter();
            Some(by.map(|scope| &**scope).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(by("a"), None);
        assert_eq!(by("c").unwrap(), "a");
        for scope in ["b", "d", "e"] {
            assert_eq!(by(scope).unwrap(), "a b d");
        }
    }

    #[test]
    fn hierarchies_may_be_longer_than_any_list_of_scopes() {
        let count = mcp_transport::limits::MAX_SCOPES + 100;
        let name = |n: usize| format!("s{}", n % count);
        let rules: Vec<_> = (0..count).map(|n| (name(n), vec![name(n + 1)])).collect();
        let implied = implied(&rules).unwrap();
        assert!(implied.len() == count && implied.values().all(|by| by.len() == count));
    }
}
