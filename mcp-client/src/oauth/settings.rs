//! `OAuth`: how a client gets access tokens.

use std::fmt;
use std::sync::Arc;

use mcp_transport::auth::Scopes;
use mcp_types::Implementation;

use super::asked::{Asked, Asking};
use super::client_id::ClientId;
use super::code::{AuthorizationCode, Choose};
use super::error::OAuthError;
use super::flow::RedirectHandler;
use super::grant::Grant;
use super::http::Fetcher;
use super::identity::{ClientMetadata, Identity};
use super::keeper::Keeper;
use super::machine::{
    AssertionSource, IdentityProvider, Known, Machine, Service, SignedOn, Workload,
};
use super::parameters::Parameters;
use super::policy::Policy;
use super::store::{MemoryStore, TokenStore};
use crate::endpoint::Endpoint;

/// How a client gets access tokens for its server. Set it with
/// [`ClientBuilder::oauth`](crate::ClientBuilder::oauth).
///
/// Nothing is done before the server asks for a token. Specification: Authorization.
///
/// ```
/// use mcp_client::Client;
/// use mcp_client::oauth::{ClientId, FileStore, LoopbackRedirect, OAuth};
///
/// # fn example(open_browser: fn(&str) -> std::io::Result<()>) -> Result<(), Box<dyn std::error::Error>> {
/// let oauth = OAuth::sign_in(LoopbackRedirect::new(move |url| open_browser(url.as_str())))
///     .client_name("My App")
///     .client_id_metadata("https://app.example.com/client.json")
///     .registered("https://auth.example.com", ClientId::public("abc"))
///     .store(FileStore::new("/home/me/.local/share/my-app/tokens")?);
/// let client = Client::builder("http://127.0.0.1:8080/mcp").oauth(oauth).build()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct OAuth {
    way: Way,
    asked: Arc<Asked>,
    identity: Identity,
    choose: Option<Choose>,
    binds: bool,
    parameters: Parameters,
    scopes: Scopes,
    pub(crate) policy: Policy,
    store: Arc<dyn TokenStore>,
}

/// How tokens are got.
enum Way {
    SignIn(Arc<dyn RedirectHandler>),
    Service,
    Workload(AssertionSource),
    Enterprise(IdentityProvider),
}

/// Ways to get tokens.
impl OAuth {
    /// Users sign in, in a browser that `handler` sends them to. Specification: Authorization Flow Steps.
    pub fn sign_in(handler: impl RedirectHandler + 'static) -> Self {
        let asked = Arc::new(Asked::default());
        let handler = Arc::new(Asking::new(handler, &asked));
        Self { asked, ..Self::by(Way::SignIn(handler)) }
    }

    /// The application itself is let in, without a user: `client` has a secret or, better, a
    /// [key](ClientId::signing), and was registered by the owner of `issuer`, which is spelt as the server's metadata does.
    /// There are no refresh tokens: the next token is got like the first. Extension: OAuth Client Credentials.
    ///
    /// ```
    /// use mcp_client::oauth::{Algorithm, ClientId, OAuth, SigningKey};
    ///
    /// # fn example(pem: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// let key = SigningKey::from_pem(Algorithm::Es256, pem)?.with_key_id("2026");
    /// let oauth = OAuth::client_credentials("https://auth.example.com", ClientId::signing("nightly", key));
    /// # Ok(())
    /// # }
    /// ```
    pub fn client_credentials(issuer: impl Into<String>, client: ClientId) -> Self {
        Self::by(Way::Service).registered(issuer, client)
    }

    /// The application is let in for what its platform says that it is: `source` has an assertion, such as the token that
    /// Kubernetes projects into a container. `issuer` trusts the platform, and knows the application as `client`, which
    /// usually is [public](ClientId::public). For each token one request is made and nothing else is tried. RFC 7523,
    /// section 2.1.
    pub fn workload_identity(
        issuer: impl Into<String>,
        client: ClientId,
        source: AssertionSource,
    ) -> Self {
        Self::by(Way::Workload(source)).registered(issuer, client)
    }

    /// The enterprise decides which of its users may use which servers: a user who has signed in with its `provider` is let
    /// in by `issuer`, which trusts the provider and knows the application as `client`, without being asked again. Refresh
    /// tokens are not used, so that the provider decides each time. Extension: Enterprise-Managed Authorization.
    pub fn enterprise(
        provider: IdentityProvider,
        issuer: impl Into<String>,
        client: ClientId,
    ) -> Self {
        Self::by(Way::Enterprise(provider)).registered(issuer, client)
    }

    fn by(way: Way) -> Self {
        Self {
            way,
            asked: Arc::default(),
            identity: Identity::new(),
            choose: None,
            binds: false,
            parameters: Parameters::default(),
            scopes: Scopes::default(),
            policy: Policy::new(),
            store: Arc::new(MemoryStore::new()),
        }
    }
}

/// Settings.
impl OAuth {
    /// The name under which the application registers itself, where that is the way, and which users see there. Default
    /// is what [`ClientBuilder::info`](crate::ClientBuilder::info) says.
    pub fn client_name(self, name: impl Into<String>) -> Self {
        self.client_metadata(ClientMetadata::new(name))
    }

    /// All that the application tells of itself where it registers.
    pub fn client_metadata(mut self, metadata: ClientMetadata) -> Self {
        self.identity = self.identity.dynamic(metadata);
        self
    }

    /// The URL of a document that describes the application, which is its identity where such documents are supported. It
    /// begins with `https://` and has a path. Default is none. Specification: Client ID Metadata Documents.
    pub fn client_id_metadata(mut self, url: impl Into<String>) -> Self {
        self.identity = self.identity.document(url);
        self
    }

    /// Who the client is to the authorization server `issuer`, whose owner has registered it. It is shown to no
    /// other. The issuer is spelt as the server's metadata does. Specification: Client Registration, Pre-registration.
    pub fn registered(mut self, issuer: impl Into<String>, client: ClientId) -> Self {
        self.identity = self.identity.registered(issuer, client);
        self
    }

    /// Chooses one of several authorization servers of the server, or leaves the choice to the client. Default is
    /// the first one that knows the client already, or else the first.
    pub fn choose_issuer(
        mut self,
        choose: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.choose = Some(Arc::new(choose));
        self
    }

    /// Asks for these scopes in addition to those that the server says it needs; they take the place of those that its
    /// metadata lists. Default is none. Specification: Scope Selection Strategy.
    pub fn scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes);
        self
    }

    /// Gets tokens that are bound to a key, from issuers that give such: who steals one cannot use it. Default is to do so
    /// for servers that ask for it, by a challenge or in their metadata. The key is made for each sign-in and stored with
    /// the tokens. RFC 9449.
    pub fn dpop(mut self) -> Self {
        self.binds = true;
        self
    }

    /// Adds a parameter to the page where users sign in, for what an authorization server wants beside the standard: an
    /// `audience`, a `login_hint`, the identity provider to go on to. Whichever authorization server the user is sent to
    /// gets it. A `prompt` takes the place of the one that asks for the consent which refresh tokens need. One that is set
    /// twice counts as it was set last.
    ///
    /// # Errors
    /// When it has no name, or is one that the flow itself consists of, such as `scope`.
    ///
    /// ```
    /// # use mcp_client::oauth::{LoopbackRedirect, OAuth, OAuthError};
    /// # fn example(browser: LoopbackRedirect) -> Result<OAuth, OAuthError> {
    /// OAuth::sign_in(browser).authorization_parameter("login_hint", "ada@example.com")
    /// # }
    /// ```
    pub fn authorization_parameter(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, OAuthError> {
        self.parameters.set(name.into(), value.into())?;
        Ok(self)
    }

    /// What is allowed that is refused by default. Default is nothing.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Where tokens and registrations are kept. Default is memory, so that users sign in at every start.
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Gives an endpoint tokens, which are got by `fetcher`.
    pub(crate) fn keep(
        self,
        endpoint: Endpoint,
        fetcher: Fetcher,
        info: Option<&Implementation>,
    ) -> Endpoint {
        let Self { way, asked, mut identity, choose, binds, parameters, scopes, store, .. } = self;
        if identity.dynamic.is_none() {
            let name =
                info.map_or(env!("CARGO_PKG_NAME"), |it| it.title.as_ref().unwrap_or(&it.name));
            identity = identity.dynamic(ClientMetadata::new(name));
        }
        let grant: Box<dyn Grant> = match way {
            Way::SignIn(handler) => {
                Box::new(AuthorizationCode { handler, identity, choose, binds, parameters })
            }
            Way::Service => Box::new(Machine::new(Known { identity, choose, binds }, Service)),
            Way::Workload(source) => {
                Box::new(Machine::new(Known { identity, choose, binds }, Workload(source)))
            }
            Way::Enterprise(provider) => {
                Box::new(Machine::new(Known { identity, choose, binds }, SignedOn(provider)))
            }
        };
        endpoint.kept_by(Keeper::new(fetcher, grant, store, scopes, asked))
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("identity", &self.identity)
            .field("scopes", &self.scopes)
            .field("dpop", &self.binds)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
