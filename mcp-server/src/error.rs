//! Errors of setting a server up and of running it.

use std::io;

/// Why a server cannot be built, or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool or prompt has no name.
    #[error("a tool or prompt needs a name")]
    NoName,
    /// Two tools, prompts or methods have one name, or two resources one URI.
    #[error("{0:?} is registered twice")]
    DuplicateName(String),
    /// A schema cannot be served.
    #[error("the {which} schema of tool {tool:?} {why}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// Input or output.
        which: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// An `x-mcp-header` annotation breaks a rule, so that clients would have to drop the tool.
    #[error("tool {tool:?} has an x-mcp-header that is not allowed")]
    ParamHeader {
        /// The tool's name.
        tool: String,
        /// Which one, and why.
        #[source]
        source: mcp_transport::header::InvalidAnnotation,
    },
    /// A handler takes a shared value that the server was not given.
    #[error("the handler of {handler:?} takes an Arc<{state}>, which no .state(..) provides")]
    MissingState {
        /// The name of the tool or prompt, or the URI of the resource.
        handler: String,
        /// The type of the value.
        state: &'static str,
    },
    /// A handler asks with a form that no client could show.
    #[cfg(feature = "asking")]
    #[error("the handler of {handler:?} asks with a form that is none")]
    Form {
        /// The name of the tool or prompt, or the URI of the resource.
        handler: String,
        /// Which type it is, and why.
        #[source]
        source: crate::ask::InvalidForm,
    },
    /// A completer is for an argument or variable that is not there.
    #[error("{handler:?} has no argument {argument:?} to complete")]
    Completer {
        /// The name of the prompt, or the resource template.
        handler: String,
        /// What was to be completed.
        argument: String,
    },
    /// The handler of a resource requires a variable that is not in its template.
    #[error("the handler of {handler:?} requires the variable {variable:?}, which is not in it")]
    Variable {
        /// The URI or the template.
        handler: String,
        /// The variable.
        variable: String,
    },
    /// A resource's URI is none.
    #[error("{0:?} is no URI")]
    Uri(String),
    /// A resource template cannot be matched.
    #[error("{template:?} is no resource template")]
    Template {
        /// The template.
        template: String,
        /// Why.
        #[source]
        source: crate::template::InvalidTemplate,
    },
    /// An allowed host or origin cannot be parsed.
    #[error("an allowed host or origin cannot be parsed")]
    HostOrOrigin(#[from] mcp_transport::host::InvalidHost),
    /// A header field that pages may send or read has no such name.
    #[error("{0:?} is no name of a header field")]
    HeaderName(String),
    /// An extension's identifier breaks the key naming rules, or its settings are no object.
    #[error(
        "the extension {0:?} needs an identifier with a prefix, `com.example/name`, and an object as settings"
    )]
    Extension(String),
    /// A custom method cannot be served.
    #[error("the method {method:?} {why}")]
    Method {
        /// The method's name.
        method: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The operating system gave no randomness for the key of request states.
    #[cfg(feature = "asking")]
    #[error("there is no randomness for a key")]
    NoRandomness(#[source] io::Error),
    /// A path that no request has.
    #[error("the path {0:?} does not begin with a slash")]
    Path(String),
    /// A change is about a tool, prompt or resource that is not there.
    #[error("there is no {0:?} to replace or remove")]
    Unknown(String),
    /// An entry would be the first of its kind, of which clients have been told that there are none.
    #[error(
        "the server did not declare {0} when it was built: with nothing of the kind at first, that takes \
         .announces(..), .logging() or .completions()"
    )]
    NotDeclared(&'static str),
    /// A server that was merged or mounted into another protects what it offers in a way that does not go with it.
    #[error(
        "a server with {0} cannot be mounted, since that would be lost: give it to the server around it"
    )]
    Unprotected(&'static str),
    /// The authorization that was asked for cannot be had.
    #[cfg(feature = "auth")]
    #[error("the resource server {0}")]
    Auth(String),
    /// A scope is empty, too long, one too many, or has characters that no scope has, such as the space between two.
    #[cfg(feature = "auth")]
    #[error("{0:?} is no scope")]
    Scope(String),
    /// Something requires scopes on a server that asks nobody for a token.
    #[cfg(feature = "auth")]
    #[error("{0:?} requires scopes, which takes .auth(..)")]
    ScopesWithoutAuth(String),
    /// Lists that differ from caller to caller were declared to be the same for all.
    #[error("lists that a visibility filter makes differ cannot be cached publicly")]
    PublicLists,
    /// A page of nothing.
    #[error("the page size must be at least 1")]
    PageSize,
}

/// Why a server does not serve, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address could not be resolved or listened on.
    #[error("cannot listen on {address}")]
    Bind {
        /// What was asked for.
        address: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The address can be reached from other machines, and nothing says under which names.
    #[error(
        "{0} is reachable from other machines: name the hosts that clients use with .hosts(..), or \
         allow any with .danger_allow_any_host()"
    )]
    PublicWithoutHosts(std::net::SocketAddr),
    /// The listener failed.
    #[error("the listener failed")]
    Accept(#[source] io::Error),
    /// The byte stream failed, or its client did not read for too long.
    #[error("the stream failed")]
    Stream(#[source] io::Error),
}
