//! Authorization: tokens, scopes and providers, for those who have not met OAuth before.
//!
//! # What happens
//!
//! Your server never sees a password. A provider does (Keycloak, Auth0, your company's login), and gives out *tokens*:
//! strings that say for an hour or so that somebody may use your server.
//!
//! 1. A client calls your server without a token. The answer is 401, with the address of a small document.
//! 2. The document names the provider. The client reads it, and sends its user there to log in and to agree.
//! 3. The provider gives the client a token. From then on the client sends it with every request.
//! 4. Your server has each token *verified*, and learns who it stands for and what it is good for.
//! 5. A tool may need more than that. The answer is 403 and says what, the client asks its user again, and comes back with a
//!    better token.
//!
//! The first two are done for you. You say where your server is, who the provider is, how tokens are verified, and what each
//! tool takes.
//!
//! # A protected server
//!
//! Try it without a provider first, with tokens that you make up:
//!
//! ```no_run
//! use mcp_server::auth::{Access, ResourceServer, StaticTokens};
//! use mcp_server::{Server, Tool};
//!
//! async fn read(access: Access) -> String {
//!     format!("The notes of {}", access.subject())
//! }
//!
//! async fn write() -> &'static str {
//!     "Written"
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tokens = StaticTokens::new()
//!     .token("reader", Access::new("dev", "ann").with_scopes(["notes:read"]))
//!     .token("writer", Access::new("dev", "bob").with_scopes(["notes:write"]));
//! let auth = ResourceServer::new("http://127.0.0.1:8080/mcp")
//!     .authorization_server("http://127.0.0.1:9000")
//!     .verifier(tokens)
//!     .scopes_supported(["notes:read"])
//!     .implies("notes:write", ["notes:read"]);
//! Server::builder("notes", "1.0.0")
//!     .tool(Tool::new("read", read).scopes(["notes:read"]))
//!     .tool(Tool::new("write", write).scopes(["notes:write"]))
//!     .auth(auth)
//!     .build()?
//!     .serve("127.0.0.1:8080")
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! For others to use it three things change:
//!
//! - The **resource** is the URL that clients are given, to the letter: `https://mcp.example.com/mcp`. Providers write it into
//!   their tokens as the *audience*, and a token for another audience is not taken: else whoever runs some other server
//!   could use on yours what its users sent there.
//! - The **authorization server** is the provider's *issuer*, to the letter as well. Whether it ends with a slash matters: take it
//!   from the member `issuer` of the provider's own document, at `<issuer>/.well-known/openid-configuration`.
//! - The **verifier** fits the tokens that the provider makes, see below.
//!
//! TLS ends in a proxy or in a stack of your own, see [deployment](super::deployment); tokens must not travel without.
//! Both places of the document, `/.well-known/oauth-protected-resource` and the same with your path behind it, have to
//! reach the server. In a router of your own, route [`metadata_service`](crate::Server::metadata_service) to them.
//!
//! # Verifying tokens
//!
//! | tokens | verifier |
//! |---|---|
//! | that can be read, three parts with dots between (JWT) | `JwtVerifier`, with the feature `verifiers`: fetches the provider's keys |
//! | that cannot (opaque) | `Introspection`, with the same feature: asks the provider about each |
//! | bound to a key of the client (`DPoP`) | `Dpop` around one of these |
//! | of a system of your own | a function of a [`Presented`](crate::auth::Presented), or a type that is a [`TokenVerifier`](crate::auth::TokenVerifier) |
//! | made up, for development | [`StaticTokens`](crate::auth::StaticTokens) |
//!
//! One of your own has to check the issuer, the [audience](crate::auth::Presented::audience), the signature or the
//! provider's word, and the time. It answers with [`TokenError::invalid`](crate::auth::TokenError::invalid) to a token that
//! is no good; an error that it passes on with `?` counts as the server's own trouble, and has the client come again later.
//!
//! # Scopes
//!
//! A scope is a word for something that a user can agree to: `notes:read`. Have few, and name them for what people
//! understand.
//!
//! - [`Tool::scopes`](crate::Tool::scopes) says what one tool takes; prompts, resources, templates and custom methods have the same.
//! - [`scopes_for`](crate::Tool::scopes_for) is asked about the arguments:
//!   `|operation| if operation.argument("dry_run") == Some(true) { ["db:read"] } else { ["db:write"] }`.
//! - [`required_scopes`](crate::auth::ResourceServer::required_scopes) are what everything takes;
//!   [`method_scopes`](crate::auth::ResourceServer::method_scopes) what a method of the protocol takes.
//! - [`scopes_supported`](crate::auth::ResourceServer::scopes_supported) is what clients ask their user for at first. Keep it to what is
//!   needed to begin with: the rest is asked for when it is needed.
//! - [`implies`](crate::auth::ResourceServer::implies) says that one contains another. Without that, whoever may write may not read.
//!
//! Lists show tools that a caller has no scopes for: otherwise no client would ever ask its user for them. What
//! somebody must not know of is for a [visibility filter](crate::ServerBuilder::visible), which finds the
//! [`Access`](crate::auth::Access) among the extensions of a request. What belongs to whom is for the handler: a scope says what kind
//! of thing may be done, and `access.caller()` whose.
//!
//! [`optional`](crate::auth::ResourceServer::optional) lets everybody in to what takes no scope.
//!
//! # Providers
//!
//! Clients of this protocol send the parameter `resource`, need PKCE with `S256` to be announced, and have to get a client id: by
//! a *client id metadata document*, by dynamic registration, or by hand. Providers differ in which of this they do, and they
//! change; check yours against this list. What follows was true of those that we know of at the time of writing.
//!
//! **Keycloak.** The issuer is `https://<host>/realms/<realm>`, without a slash at the end. Tokens are JWTs with a member `scope`:
//! `JwtVerifier`. It does not go by `resource`, so the audience has to be added: a client scope with a mapper of the
//! type *Audience* whose *custom audience* is your resource, made a default of the realm so that new clients get it. Make a client
//! scope for each of your scopes, too. Dynamic registration is there, behind policies that at first let in only trusted hosts.
//!
//! **Auth0.** The issuer is `https://<tenant>.<region>.auth0.com/`, with the slash. Create an *API* whose identifier is your resource, with your
//! scopes as its permissions. A token that was asked for without an API is opaque and no good: have the tenant take `resource`
//! for its own `audience` (a setting of the tenant, the *resource parameter compatibility profile*). Dynamic registration has to be turned on, and the
//! connections be opened to such clients. Where permissions are given by roles they can stand in a member `permissions` in
//! place of `scope`; a verifier of your own then makes scopes of them, see below.
//!
//! **Entra ID.** It works for clients that you register by hand and that are lenient: there is neither dynamic registration nor a
//! metadata document of clients, PKCE works but is not announced, for which a client that keeps to the specification has to
//! refuse, and `resource` has to agree with the scopes that are asked for, or is refused. Register an application, expose an API,
//! and have it accept tokens of version 2 (`requestedAccessTokenVersion`); the issuer is
//! `https://login.microsoftonline.com/<tenant id>/v2.0` then, and the audience the application's id, a name to be agreed on with the verifier
//! (`JwtVerifier::audience`). Scopes are asked for as `api://<id>/notes.read` and stand as `notes.read` in `scp`: a verifier
//! of your own puts the prefix before them, see below. Where this is too much, put a provider in between that logs in with Entra.
//!
//! **Google.** It does not work. Its access tokens are for the APIs of Google: they are opaque, name no audience of yours, and must not be
//! taken; an ID token is for the client that asked for it and is none for servers. Use a provider in between that logs in
//! with Google.
//!
//! With **others** look for: an issuer whose document announces `S256`; tokens for a `resource` or an API of your own; a way for
//! clients to get an id. A verifier may put right what it is told:
//!
//! ```
//! use mcp_server::auth::{Access, Presented, TokenError, TokenVerifier, Verifying};
//!
//! /// Names scopes as clients ask for them.
//! struct Prefixed<V>(V);
//!
//! impl<V: TokenVerifier> TokenVerifier for Prefixed<V> {
//!     fn verify(&self, presented: Presented) -> Verifying<'_> {
//!         Box::pin(async move {
//!             let access = self.0.verify(presented).await?;
//!             let scopes: Vec<String> =
//!                 access.scopes().iter().map(|scope| format!("api://notes/{scope}")).collect();
//!             Ok(access.with_scopes(scopes))
//!         })
//!     }
//! }
//! ```
//!
//! # What not to do
//!
//! - Never send a token that you got to another service. It is for your server; others that take it cannot tell who calls, and yours would
//!   be used as a way around their checks. So handlers do not get to see it. Get a token of your own: by client
//!   credentials, by token exchange, or by asking the user (the module `ask` has forms of URLs for that).
//! - Never take a token whose audience is not your server, be it from the same provider.
//! - Do not go by `sub` alone where there is more than one issuer: [`Access::caller`](crate::auth::Access::caller) is both.
//! - Do not make lists [public to caches](crate::ServerBuilder::list_cache) if what you offer is nobody's business.
//! - Do not tell more in the description of a [`TokenError`](crate::auth::TokenError) than everybody may know. Causes belong into
//!   [`with_source`](crate::auth::TokenError::with_source), and go to the log.
//!
//! # On other transports
//!
//! A process that a client starts gets its credentials by its environment. Say who that is:
//!
//! ```no_run
//! use mcp_server::auth::Access;
//! use mcp_server::{RequestParts, Server};
//!
//! # async fn example(server: Server) -> Result<(), Box<dyn std::error::Error>> {
//! let user = Access::new("local", &std::env::var("USER")?).with_scopes(["notes:read", "notes:write"]);
//! server.serve_stdio().parts(RequestParts::default().with_access(user)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Without that a protected server refuses everything there. The same goes for an [`Exchange`](crate::Exchange), for which whoever drives it
//! has verified the token.
//!
//! # When something does not work
//!
//! - **401 for a token that looks good**: the description in `WWW-Authenticate` says why. Most often it is the audience, or a slash at the end
//!   of the issuer.
//! - **403 from the very start, in words about the host**: name your [`hosts`](crate::ServerBuilder::hosts).
//! - **The client never asks to log in**: it has to find the document. `curl https://mcp.example.com/.well-known/oauth-protected-resource/mcp`
//!   must answer, through your proxy too.
//! - **The client asks again and again**: the provider does not grant a scope that is required, or grants it by another name. Compare the `scope`
//!   of the challenge with that in the token.
//! - **503**: the provider, or your way to it, is down. The log has the cause.
