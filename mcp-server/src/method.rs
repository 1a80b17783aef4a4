//! `Method`: a method that the specification does not have, as extensions and applications add them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use http::HeaderMap;
use mcp_transport::header::StandardHeaders;
use mcp_transport::json::Object;
use mcp_types::{ClientCapabilities, JsonMap, Method as Specified, ProtocolVersion, Request};

#[cfg(feature = "auth")]
use crate::auth::Required;
use crate::error::BuildError;
use crate::handler::{ErasedHandler, ErasedMethod, IntoMethodResult, MethodHandler, Needs, Takes};
use crate::ladder::Target;
use crate::metadata::Metadata;
use crate::rejection::Reason;
use crate::state::States;

/// A custom method: its name, and the handler that answers it.
///
/// Its handler is like every other, see [the handler module](crate::handler): progress, logs, streams, cancellation
/// and deadlines are those of tools. What it returns implements [`IntoMethodResult`]; an
/// [`ErrorObject`](mcp_types::ErrorObject) answers with a code of its own, outside of -32768 to -32000, which
/// JSON-RPC and the specification keep to themselves (Overview, Error Codes).
pub struct Method {
    name: Cow<'static, str>,
    handler: Arc<dyn ErasedHandler>,
    pub(crate) needs: Needs,
    extension: Option<String>,
    name_member: Option<Cow<'static, str>>,
    /// Whether the handler takes the `_meta` among its parameters.
    takes_meta: bool,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
}

impl Method {
    /// A method of this name that calls `handler`, whose [`Args<T>`](crate::Args) are the parameters without their
    /// `_meta`; the [`Context`](crate::Context) has that.
    ///
    /// Names and handlers are checked when the server is built. A name is of visible ASCII, and perhaps spaces
    /// inside of it, since it travels in a header, and none that the specification has or had, nor begins with
    /// `notifications/` or with `rpc.`, which JSON-RPC reserves. A handler must not ask the client (Multi Round-Trip
    /// Requests, Supported Requests).
    ///
    /// ```
    /// use mcp_server::{Args, Method, Server, Structured};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Deserialize)]
    /// struct Query { text: String }
    ///
    /// #[derive(Serialize)]
    /// struct Found { hits: Vec<String> }
    ///
    /// async fn search(Args(Query { text }): Args<Query>) -> Structured<Found> {
    ///     Structured(Found { hits: vec![text] })
    /// }
    ///
    /// # fn main() -> Result<(), mcp_server::BuildError> {
    /// let server = Server::builder("library", "1.0.0")
    ///     .method(Method::new("com.example/search", search).extension("com.example/catalogue"))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<M: 'static, H: MethodHandler<M>>(
        name: impl Into<Cow<'static, str>>,
        handler: H,
    ) -> Self {
        Self {
            name: name.into(),
            handler: Arc::new(ErasedMethod(handler, PhantomData)),
            needs: H::signature().needs,
            extension: None,
            name_member: None,
            takes_meta: false,
            #[cfg(feature = "auth")]
            scopes: Required::default(),
        }
    }

    /// The method of the request `R`, which a client calls by the same type. The handler takes `Args<R::Params>`,
    /// with their `_meta`, or no parameters, and returns [`Structured<R::Result>`](crate::Structured) or a `Result`
    /// of that. `M` is found by the compiler: `Method::of::<Search, _>(search)`.
    ///
    /// What `Mcp-Name` says is checked if `R` names the [member](Request::NAME_MEMBER) that it repeats.
    pub fn of<R: Request, M: 'static>(
        handler: impl MethodHandler<
            M,
            Taken: Takes<R::Params>,
            Returned: IntoMethodResult<Result = R::Result>,
        >,
    ) -> Self {
        let name_member = R::NAME_MEMBER.map(Cow::Borrowed);
        Self { name_member, takes_meta: true, ..Self::new(R::METHOD, handler) }
    }

    /// The extension that the method belongs to. The server declares it, without settings unless
    /// [`ServerBuilder::extension`](crate::ServerBuilder::extension) gave some; a client that does not declare it
    /// with its request is answered with -32021, over HTTP with status 400, before the handler is called.
    /// Specification: Overview, Per-request protocol fields; Versioning, Extension Negotiation.
    #[must_use]
    pub fn extension(mut self, id: impl Into<String>) -> Self {
        self.extension = Some(id.into());
        self
    }

    /// The member of the parameters that the header `Mcp-Name` repeats, which an extension may ask for; over HTTP
    /// they have to agree then, also in that neither says anything. Default is none. Specification: Streamable HTTP,
    /// Standard Request Headers.
    #[must_use]
    pub fn name_member(mut self, member: impl Into<Cow<'static, str>>) -> Self {
        self.name_member = Some(member.into());
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name and the scopes that it requires.
    #[cfg(feature = "auth")]
    pub(crate) fn requires(&self) -> (&str, &Required) {
        (&self.name, &self.scopes)
    }

    /// Checks it, and makes it ready to be called.
    fn into_entry(self, states: &States) -> Result<MethodEntry, BuildError> {
        let name = self.name.into_owned();
        if let Some(why) = unfit(&name) {
            return Err(BuildError::Method { method: name, why });
        }
        if self.needs.asks_client() {
            let why = "takes answers of the client, which a custom method must not ask";
            return Err(BuildError::Method { method: name, why });
        }
        if let Some(state) = states.missing(&self.needs) {
            return Err(BuildError::MissingState { handler: name, state });
        }
        let mut required = ClientCapabilities::default();
        if let Some(id) = self.extension
            && required.declare_extension(&id, &JsonMap::new()).is_err()
        {
            return Err(BuildError::Extension(id));
        }
        let (handler, name_member, takes_meta) = (self.handler, self.name_member, self.takes_meta);
        Ok(MethodEntry {
            name,
            handler,
            required,
            name_member,
            takes_meta,
            #[cfg(feature = "auth")]
            scopes: self.scopes,
        })
    }
}

/// Why a custom method cannot have this name.
fn unfit(name: &str) -> Option<&'static str> {
    if Specified::from_name(name).is_some() || RESERVED.contains(&name) {
        return Some("is the specification's");
    }
    if name.starts_with("notifications/") {
        return Some("is named like a notification");
    }
    if name.starts_with("rpc.") {
        return Some("has a name that JSON-RPC reserves");
    }
    let version = ProtocolVersion::LATEST.as_str();
    let headers = StandardHeaders { version, method: name, name: None };
    if name.is_empty() || headers.apply(&mut HeaderMap::new()).is_err() {
        return Some("has a name that no header can carry");
    }
    None
}

/// Requests of earlier revisions, and those that servers make of clients. They mean something to those who know
/// them, and must not mean something else here.
const RESERVED: &[&str] = &[
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "elicitation/create",
    "roots/list",
    "sampling/createMessage",
];

/// Adds the extensions that the methods belong to.
pub(crate) fn declare(methods: &[Method], extensions: &mut JsonMap) {
    for id in methods.iter().filter_map(|method| method.extension.as_deref()) {
        if !extensions.contains_key(id) {
            extensions.insert(id, (&JsonMap::new()).into());
        }
    }
}

/// The custom methods of a server, in the order of their names.
#[derive(Default)]
pub(crate) struct Methods(Box<[Arc<MethodEntry>]>);

/// A custom method, ready to be called.
pub(crate) struct MethodEntry {
    pub(crate) name: String,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) name_member: Option<Cow<'static, str>>,
    required: ClientCapabilities,
    takes_meta: bool,
    #[cfg(feature = "auth")]
    pub(crate) scopes: Required,
}

impl Methods {
    /// Checks them.
    pub(crate) fn build(methods: Vec<Method>, states: &States) -> Result<Self, BuildError> {
        let entries = methods.into_iter().map(|method| method.into_entry(states).map(Arc::new));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        match entries.array_windows().find(|[a, b]| a.name == b.name) {
            Some([twice, _]) => Err(BuildError::DuplicateName(twice.name.clone())),
            None => Ok(Self(entries.into())),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<MethodEntry>> {
        let at = self.0.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        self.0.get(at)
    }
}

impl MethodEntry {
    /// Proves that the client declared the extension that the method belongs to.
    pub(crate) fn target<'b>(
        self: &Arc<Self>,
        params: &Object<'b>,
        meta: &Metadata,
    ) -> Result<Target<'b>, Reason> {
        if let Some(missing) = meta.capabilities.missing(&self.required) {
            return Err(Reason::Capability(Box::new(missing)));
        }
        let params =
            if self.takes_meta { params.raw().into() } else { without_meta(params).into() };
        Ok(Target::CallMethod { method: Arc::clone(self), params })
    }
}

/// The object without its `_meta`, for types that refuse members they do not know.
fn without_meta(params: &Object<'_>) -> String {
    let mut text = String::with_capacity(params.raw().len());
    for (key, value) in params.iter().filter(|(key, _)| *key != "_meta") {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::Value::from(key).to_string());
        text.push(':');
        text.push_str(value);
    }
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    text
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_parameters() {
        let table = [
            ("{}", "{}"),
            (r#"{"_meta":{"a":1}}"#, "{}"),
            (r#"{"a":1, "_meta":{}, "b\n\"":[ 2.0 ]}"#, r#"{"a":1,"b\n\"":[ 2.0 ]}"#),
            (r#"{"\u005fmeta":{},"requestState":"s"}"#, r#"{"requestState":"s"}"#),
        ];
        for (params, left) in table {
            assert_eq!(without_meta(&Object::parse(params).unwrap()), left, "{params}");
        }
    }
}
