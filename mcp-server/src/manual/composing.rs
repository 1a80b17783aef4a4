//! Composing a server, changing it while it serves, showing each caller their own.
//!
//! # Registries
//!
//! Tools, prompts and resources that belong together, and the values that their handlers share, are a
//! [`Registry`](crate::Registry). A library offers one as a function; whoever has a server [merges](crate::ServerBuilder::merge) it, or
//! [mounts](crate::ServerBuilder::mount) it under a prefix where names could meet:
//!
//! ```
//! use std::sync::Arc;
//! use mcp_server::{Registry, Server, Tool};
//!
//! struct Repository { path: String }
//!
//! async fn log(repository: Arc<Repository>) -> String {
//!     format!("the log of {}", repository.path)
//! }
//!
//! fn git(path: &str) -> Registry {
//!     Registry::new().tool(Tool::new("log", log)).state(Arc::new(Repository { path: path.to_owned() }))
//! }
//!
//! # fn example() -> Result<(), mcp_server::BuildError> {
//! let server = Server::builder("workbench", "1.0.0")
//!     .mount("app_", git("/srv/app"))
//!     .mount("docs_", git("/srv/docs"))
//!     .build()?;
//! # Ok(())
//! # }
//! # example().unwrap();
//! ```
//!
//! Both `app_log` and `docs_log` see the repository of their own registry. A value that a registry does not have
//! comes from the one around it, in the end from the server. Resources keep their URIs, by which they refer to each
//! other, and two of one URI are an error, as are two tools of one name. A whole
//! [`ServerBuilder`](crate::ServerBuilder) can be mounted as well: what it would offer is taken over, how it would
//! be served is not. With a [visibility](crate::ServerBuilder::visible) filter, or states that are good for [one
//! use](crate::ServerBuilder::single_use_states), it cannot be mounted, since that protection would be lost: give
//! it to the server around it.
//!
//! # Changes while it serves
//!
//! [`Server::edit`](crate::Server::edit) begins an [`Edit`](crate::Edit), from a handler as well, and its
//! [`apply`](crate::Edit::apply) makes all of its changes at once or none. What that means for the others:
//!
//! - A request sees one state of affairs from its first check to its end. A call under way goes on when its tool
//!   is removed.
//! - A list that is read page by page goes on behind the entry at which its last page ended, or where that was. Only
//!   when others before it went as well may it pass over some: whoever is told that the list has changed lists it again.
//! - Clients that listen are told, once for each list, if the server [announces](crate::ServerBuilder::announces) changes to that
//!   list. Other instances of the server have to be edited by themselves; the bus carries the news, not the tools.
//! - What a server declares is settled when it is built. Announce a list, or declare
//!   [completions](crate::ServerBuilder::completions) or [logging](crate::ServerBuilder::logging), if the first entry is to come later.
//! - What the server holds, its handlers, its filter and their values, must not hold the server: neither would ever go. A
//!   handler gets it with each request, as an argument `Server` or from its [`Context`](crate::Context::server).
//!
//! # Visibility
//!
//! A [visibility](crate::ServerBuilder::visible) filter says for each caller what is there. It is asked for lists
//! and for everything else alike, so what is hidden cannot be called by who guesses its name, and the answer is the
//! one to a name that does not exist. It goes by the [`Caller`](crate::Caller) that authentication has put into the
//! request's extensions, by headers or other extensions, and by the definition: its name, its `_meta`, a tool's
//! annotations. Pages are as long as without a filter, and cursors tell nothing of what is hidden. Nothing that is
//! listed or read is then public to caches.
