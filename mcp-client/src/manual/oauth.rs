//! Signing in: servers that want an access token.
//!
//! A server that is not for everybody answers with status 401 until a request brings an *access token*. Tokens are not made
//! by the server but by an *authorization server*, which knows the users: that of a company, of a cloud, or one that
//! stands beside the server. The client finds out which one that is, sends the user there to sign in and to say yes, and
//! gets a token that is good for this server and nothing else.
//!
//! # What happens
//!
//! 1. The server refuses a request, and says where its *metadata* is: a document that names its authorization servers. If
//!    it does not say where, the document is looked for at the places where it belongs.
//! 2. The authorization server has metadata as well, which say where users sign in and where tokens are given.
//! 3. The client needs an identity there, see below.
//! 4. The user is sent to a page of the authorization server, and comes back from there with a code.
//! 5. The client turns the code into an access token, and usually a *refresh token*, which gets the next one when the first
//!    has expired.
//!
//! A client does all of this by itself when it is told how users sign in:
//!
//! ```no_run
//! use std::process::Command;
//!
//! use mcp_client::Client;
//! use mcp_client::oauth::{FileStore, LoopbackRedirect, OAuth};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let browser = LoopbackRedirect::new(|url| {
//!     Command::new("xdg-open").arg(url.as_str()).spawn().map(drop)
//! });
//! let oauth = OAuth::sign_in(browser)
//!     .client_name("My App")
//!     .client_id_metadata("https://app.example.com/client.json")
//!     .store(FileStore::new("/home/me/.local/share/my-app/tokens")?);
//! let client = Client::builder("http://127.0.0.1:8080/mcp").oauth(oauth).build()?;
//! println!("{} tools", client.list_tools().all().await?.len());
//! # Ok(())
//! # }
//! ```
//!
//! Calls, subscriptions and the [`HttpTransport`](crate::HttpTransport) carry the token, in each of their requests, and none
//! of them has to know of it. It goes to the server and to nobody else.
//!
//! # When tokens are got
//!
//! - The first call that the server refuses signs the user in. Others wait for that one sign-in; if they are dropped it
//!   goes on, and what comes of it is there for the next. While the user is busy the idle
//!   [timeout](crate::ClientBuilder::timeout) of calls stands still; the
//!   [total](crate::ClientBuilder::total_timeout) goes on.
//! - A token is renewed shortly before it expires, and when the server refuses it, once for all who use the same
//!   [store](crate::oauth::TokenStore). If the authorization server is out of order nothing is lost: the call fails, a later one
//!   tries again. The tokens are forgotten only when it says that the refresh token is no good.
//! - A server that wants more rights for one call gets a sign-in with those that there are and the new ones; no more than
//!   twice in a call, and never for what was asked for in vain.
//! - A user who says no, or does not come back, is not asked again until the application calls
//!   [`sign_in`](crate::Client::sign_in). [`sign_out`](crate::Client::sign_out) forgets the tokens, and that; a sign-in that
//!   is under way comes to nothing.
//! - When the server has moved to another authorization server, the user signs in there; nothing of the old one is sent
//!   to it.
//!
//! Private answers in the [cache](super::caching) belong to a sign-in: after another one they are asked for anew.
//!
//! # Who the application is
//!
//! An authorization server wants to know which application a user lets in. There are three ways, tried in this order:
//!
//! | way | what to do | set with | step by step |
//! |---|---|---|---|
//! | its owner registered the application | ask them for a client id, and a secret if there is one | [`registered`](crate::oauth::OAuth::registered) | [`Identity::registered`](crate::oauth::Identity::registered) |
//! | a document about the application | publish a JSON file at an `https://` URL, which is the client id | [`client_id_metadata`](crate::oauth::OAuth::client_id_metadata) | [`Identity::document`](crate::oauth::Identity::document) |
//! | the application registers itself | nothing, where the authorization server allows it | [`client_name`](crate::oauth::OAuth::client_name) or [`client_metadata`](crate::oauth::OAuth::client_metadata) | [`Identity::dynamic`](crate::oauth::Identity::dynamic) |
//!
//! What was registered is named together with the authorization server it was registered with, letter for letter as that
//! calls itself, and goes nowhere else. If a server moves to another authorization server, that is an error which names both,
//! unless one of the other ways is open. Such a document looks like this:
//!
//! ```json
//! {
//!   "client_id": "https://app.example.com/client.json",
//!   "client_name": "My App",
//!   "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
//!   "grant_types": ["authorization_code", "refresh_token"],
//!   "response_types": ["code"],
//!   "token_endpoint_auth_method": "none"
//! }
//! ```
//!
//! Some authorization servers want more than the standard has: Auth0, where the tenant does not take `resource` for it, an `audience`,
//! others a `login_hint` or the name of the identity provider that users come from.
//! [`OAuth::authorization_parameter`](crate::oauth::OAuth::authorization_parameter) adds it to the page.
//!
//! # What is refused
//!
//! The documents come from strangers, and what they say is not believed before it is checked:
//!
//! - All URLs begin with `https://`, except on this machine. A server at `http://` elsewhere gets no token at all.
//! - They do not lead into private networks, to this machine, or to the addresses where clouds keep their secrets; names
//!   are judged by the addresses that they have when a connection is made. The server itself may be anywhere, since the
//!   application chose it; and a server on this machine may have an authorization server on this machine.
//! - The metadata of a server must be about this server, and that of an authorization server about itself.
//! - The authorization server must say that it does PKCE, without which a code is good for whoever steals it.
//! - What the user comes back with must belong to this sign-in, and be from the authorization server that was asked.
//! - Answers have limits, in size and in time; redirects are followed for documents alone, and within their origin.
//!
//! What a server in a company needs is allowed by name, in a [`Policy`](crate::oauth::Policy):
//!
//! ```
//! use mcp_client::oauth::Policy;
//!
//! let policy = Policy::new()
//!     // It has an address of the company's network.
//!     .allow_private_host("auth.corp")
//!     // For a server that does not say who gives tokens for it.
//!     .fallback_issuer("https://auth.corp");
//! ```
//!
//! Two settings are called `danger_...`, for providers whose metadata is wrong; the errors that they cure name them.
//!
//! All requests go over the [connections](super::connections) that the client is set up with: its proxy, its roots, its
//! HTTP stack. Where a proxy or a stack of the application's looks names up, it has to see to it where they lead; addresses
//! in URLs are looked at in any case. Headers that are set for the server are not sent to others.
//!
//! # Service accounts
//!
//! A service that calls a server on its own behalf needs no user. The owner of the authorization server registers it, and it
//! proves who it is: by a secret, or better by a key, since what that signs is good for two minutes and one place.
//!
//! ```no_run
//! use mcp_client::Client;
//! use mcp_client::oauth::{Algorithm, ClientId, OAuth, SigningKey};
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::from_pem(Algorithm::Es256, &std::fs::read("key.pem")?)?;
//! let oauth = OAuth::client_credentials("https://auth.example.com", ClientId::signing("nightly", key));
//! let client = Client::builder("https://mcp.example.com/mcp").oauth(oauth).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! There are no refresh tokens: shortly before a token expires, and when the server refuses it, another is got in the same
//! way. More rights are asked for once in a call. What the authorization server refuses is an error at once, since nobody is
//! there who could change its mind. An authorization server that was not named gets nothing, wherever the server moves.
//! Keys are never stored.
//!
//! # Workload identity
//!
//! A workload has no secret at all: its platform gives it an *assertion*, a signed statement of what it is, and the
//! authorization server trusts the platform. Kubernetes, for one, projects them into a file and replaces them before they
//! expire; the file is read anew for every token.
//!
//! ```no_run
//! use mcp_client::oauth::{AssertionSource, ClientId, OAuth};
//!
//! let source = AssertionSource::file("/var/run/secrets/tokens/mcp");
//! let oauth = OAuth::workload_identity("https://auth.example.com", ClientId::public("nightly"), source);
//! ```
//!
//! Where assertions come from a service of the platform, [`AssertionSource::new`](crate::oauth::AssertionSource::new)
//! takes a function, which is told for whom they are. One request is made for each token; nothing else is tried when it
//! is refused.
//!
//! # Enterprise sign-on
//!
//! In an enterprise the users have signed in to the application already, with an *identity provider*, and an administrator
//! has settled which of them may use which servers. The application shows the provider the ID token or the SAML assertion
//! that it has from there, gets something to show to the server's authorization server, and gets a token for that. Nobody is
//! sent to a page. The application is registered with both, under two identities.
//!
//! ```no_run
//! use mcp_client::oauth::{ClientId, IdentityAssertion, IdentityProvider, OAuth};
//!
//! # async fn id_token() -> Result<String, std::io::Error> { unimplemented!() }
//! let client = ClientId::confidential("my-app", "the secret there");
//! let provider = IdentityProvider::new("https://acme.idp.example", client, || async {
//!     id_token().await.map(IdentityAssertion::id_token)
//! });
//! let client = ClientId::confidential("my-app-at-chat", "another secret");
//! let oauth = OAuth::enterprise(provider, "https://auth.chat.example", client);
//! ```
//!
//! An error that [`is_identity_provider`](crate::oauth::OAuthError::is_identity_provider) came from the first of the two,
//! and with [`is_invalid_grant`](crate::oauth::OAuthError::is_invalid_grant) it says that the user has to sign in there
//! again. An identity provider in the company's network is allowed by name like every other host.
//!
//! # Tokens bound to a key
//!
//! Who steals an ordinary token can use it. One that is *bound* is worth nothing without a key, of which every request
//! proves that the client has it (DPoP). Servers say that they want this, and then it is done, with all of the ways
//! above, if the authorization server knows such proofs; [`OAuth::dpop`](crate::oauth::OAuth::dpop) does it for servers that
//! take any token, too. A token that turns out not to be bound is used where the server takes it, and is an error where
//! it does not.
//!
//! The key is made for each sign-in and stored beside the tokens, which could not be used or refreshed after a new start
//! without it. So this protects tokens on the way and in the logs of others, and not against who can read the store.
//!
//! Users who sign in by steps get such tokens likewise, and with [`bind`](crate::oauth::Registered::bind). To send them with
//! proofs is work for a client: give it a [store](crate::oauth::TokenStore) that has what was
//! [granted](crate::oauth::Granted) in its [`Credentials`](crate::oauth::Credentials).
//!
//! # Step by step
//!
//! Applications that run at a site, where users come and go by the site's own pages, sign their users in by steps. Each gives
//! the next, and the sign-in that waits for its user can be stored:
//!
//! ```no_run
//! use mcp_client::Client;
//! use mcp_client::oauth::{ClientId, Identity, Pending, Policy, Scopes};
//!
//! # async fn begin(
//! #     save: impl Fn(&str, String), redirect: impl Fn(&str),
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::new()
//!     .registered("https://auth.example.com", ClientId::confidential("my-app", "the secret"));
//! let fetcher = Client::builder("https://mcp.example.com/mcp").build_fetcher(Policy::new())?;
//!
//! let discovered = fetcher.discover(&[]).await?;
//! let issuer = discovered.issuers()[0].clone();
//! let callback = "https://app.example.com/callback";
//! let registered = discovered
//!     .identify(&issuer).await?
//!     .register(&identity, &[callback.to_owned()], &Scopes::default()).await?;
//! let pending = registered.sign_in(callback, &Scopes::default())?;
//! save(pending.url().state(), serde_json::to_string(&pending)?);
//! redirect(pending.url().as_str());
//! # Ok(())
//! # }
//!
//! // Later, and perhaps elsewhere, when the user comes back:
//! # async fn end(
//! #     state: &str, query: &str, take: impl Fn(&str) -> String,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! # let fetcher = Client::builder("https://mcp.example.com/mcp").build_fetcher(Policy::new())?;
//! let pending: Pending = serde_json::from_str(&take(state))?;
//! let granted = pending.receive(query)?.redeem(&fetcher).await?;
//! let client = Client::builder("https://mcp.example.com/mcp")
//!     .header("authorization", format!("Bearer {}", granted.tokens.access_token.expose()))?
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! Keep what is stored with the visitor's cookie, so that nobody finishes what another began.
//! [`Granted`](crate::oauth::Granted) is all there is to keep, and [`refresh`](crate::oauth::Granted::refresh) gets the next
//! token.
//!
//! # When it fails
//!
//! An [`OAuthError`](crate::oauth::OAuthError) says whose fault it is:
//!
//! | what it says | what to do |
//! |---|---|
//! | [`is_denied`](crate::oauth::OAuthError::is_denied) | the user said no: ask again when they want |
//! | [`is_redirect`](crate::oauth::OAuthError::is_redirect) | the user did not come back |
//! | [`is_invalid_grant`](crate::oauth::OAuthError::is_invalid_grant) | the user has to sign in again |
//! | [`is_assertion`](crate::oauth::OAuthError::is_assertion) | the application's own source of assertions failed |
//! | [`is_identity_provider`](crate::oauth::OAuthError::is_identity_provider) | the enterprise's identity provider was asked, and not the authorization server yet |
//! | [`is_transport`](crate::oauth::OAuthError::is_transport) | try again later; what is stored is as good as before |
//! | [`is_refused`](crate::oauth::OAuthError::is_refused) | the server does not take what the authorization server gives, or the user granted less than it wants |
//! | [`is_registration`](crate::oauth::OAuthError::is_registration) | the application needs an identity there: see above |
//! | [`is_discovery`](crate::oauth::OAuthError::is_discovery) | the server or the authorization server does not say enough; the text says what is missing |
//! | [`is_unsafe`](crate::oauth::OAuthError::is_unsafe) | a URL leads where it should not: allow the host, if it is right |
//! | [`is_mismatch`](crate::oauth::OAuthError::is_mismatch) | somebody is not who they should be: ask the server's owner |
//!
//! What the authorization server itself said is in [`provider`](crate::oauth::OAuthError::provider), and in the text of the error.
//!
//! # Secrets
//!
//! Tokens, codes and secrets are [`Secret`](crate::oauth::Secret)s, which nothing shows; an authorization server that repeats one
//! in its error is not quoted. What is serialised shows them: it belongs into a store that only the application can read.
//!
//! Specification: Authorization; Authorization Server Discovery; Client Registration; Security Considerations.
