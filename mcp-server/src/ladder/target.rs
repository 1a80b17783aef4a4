//! What a request is for: its method and the thing it names, proved to exist and to be reachable by
//! this request.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_transport::header;
use mcp_transport::json::Object;
use mcp_types::{CompleteParams, CompletionReference, InputResponses, Method, SubscriptionFilter};

use super::Sender;
#[cfg(feature = "auth")]
use crate::auth::{Operation, Required};
use crate::completion::{Completer, Completers};
use crate::metadata::Metadata;
use crate::method::MethodEntry;
use crate::registry::{Answering, Entry, List, PromptEntry, Reader, Sight, Snapshot, ToolEntry};
use crate::rejection::Reason;
use crate::resource::is_uri;
use crate::server::Shared;
use crate::state::States;
use crate::subscription;
use crate::template::Variables;

/// A method with what it needs.
pub(crate) enum Target<'b> {
    /// What is answered with a result that is encoded already.
    Encoded(Cow<'b, str>),
    CallTool {
        tool: Arc<ToolEntry>,
        arguments: &'b str,
        brought: Brought<'b>,
    },
    GetPrompt {
        prompt: Arc<PromptEntry>,
        arguments: Variables,
        brought: Brought<'b>,
    },
    ReadResource {
        uri: Box<str>,
        reader: Arc<Reader>,
        variables: Variables,
        brought: Brought<'b>,
    },
    /// Without a completer there is nothing to suggest.
    Complete {
        completer: Option<Arc<dyn Completer>>,
        states: Arc<States>,
        value: String,
        arguments: Variables,
    },
    CallMethod {
        method: Arc<MethodEntry>,
        params: Cow<'b, str>,
    },
    Listen {
        wanted: SubscriptionFilter,
    },
}

/// What a client brought back from an earlier round, with the arguments that it has to belong to. Empty for
/// handlers that do not ask.
#[derive(Debug, Default)]
pub(crate) struct Brought<'b> {
    /// What is done with it.
    pub(crate) answering: Answering,
    #[cfg(feature = "asking")]
    pub(crate) arguments: &'b str,
    pub(crate) responses: InputResponses,
    pub(crate) state: Option<Cow<'b, str>>,
}

impl<'b> Brought<'b> {
    /// Specification: Multi Round-Trip Requests, Error Handling.
    fn read(answering: Answering, params: &Object<'b>) -> Result<Self, Reason> {
        if answering == Answering::Never {
            return Ok(Self::default());
        }
        let responses = params.get("inputResponses").map(serde_json::from_str).transpose();
        let responses = responses
            .or(Err(Reason::Params("the input responses must be an object of objects")))?;
        let state = match params.get("requestState") {
            None => None,
            Some(text) => {
                Some(string(text).ok_or(Reason::Params("the request state must be a string"))?)
            }
        };
        Ok(Self {
            answering,
            #[cfg(feature = "asking")]
            arguments: params.get("arguments").unwrap_or("{}"),
            responses: responses.unwrap_or_default(),
            state,
        })
    }
}

/// Proves that the headers name what the body names, that it is offered to the sender, and that the client can
/// take part in it.
pub(super) fn check<'b>(
    shared: &'b Shared,
    offered: &'b Snapshot,
    sender: Sender<'_>,
    method: &str,
    params: &Object<'b>,
    meta: &Metadata,
) -> Result<Target<'b>, Reason> {
    let known = Method::from_name(method);
    let custom = if known.is_none() { shared.methods.get(method) } else { None };
    if let Some(headers) = sender.headers() {
        header::verify_method(headers, method).map_err(Reason::Header)?;
        let name_member = match custom {
            Some(custom) => custom.name_member.as_deref(),
            None => known.and_then(Method::name_member),
        };
        let name = name_member.and_then(|key| params.get(key)).and_then(string);
        match (name, custom) {
            (Some(name), _) => header::verify_name(headers, &name).map_err(Reason::Header)?,
            // Its handler may do without, and whoever went by the header must not be led astray.
            (None, Some(custom)) if custom.name_member.is_some() => {
                header::verify_no_name(headers).map_err(Reason::Header)?;
            }
            // Parameters without a name are refused for the specification's own methods.
            (None, _) => {}
        }
    }
    let serves = &shared.serves;
    let sight = Sight::new(shared.visibility.as_ref(), sender.parts);
    let reach = Reach { shared, offered, sight, sender, method, params };
    match known {
        Some(Method::Discover) => reach.discover(),
        Some(Method::ListTools) if serves.tools => reach.page(&offered.tools),
        Some(Method::CallTool) if serves.tools => reach.call_tool(meta),
        Some(Method::ListPrompts) if serves.prompts => reach.page(&offered.prompts),
        Some(Method::GetPrompt) if serves.prompts => reach.get_prompt(),
        Some(Method::ListResources) if serves.resources => reach.page(&offered.resources),
        Some(Method::ListResourceTemplates) if serves.resources => reach.page(&offered.templates),
        Some(Method::ReadResource) if serves.resources => reach.read_resource(),
        Some(Method::Complete) if serves.completions => reach.complete(),
        Some(Method::Listen) => reach.listen(),
        _ => match custom {
            Some(custom) => {
                #[cfg(feature = "auth")]
                reach.permit(&[(
                    &custom.scopes,
                    Operation { arguments: Some(params.raw()), ..reach.operation(&custom.name) },
                )])?;
                custom.target(params, meta)
            }
            None => Err(Reason::Method(method.to_owned())),
        },
    }
}

/// What the parameters of a request can reach.
struct Reach<'r, 'b> {
    shared: &'b Shared,
    offered: &'b Snapshot,
    sight: Sight<'r>,
    sender: Sender<'r>,
    #[cfg_attr(not(feature = "auth"), expect(dead_code, reason = "only scopes depend on it"))]
    method: &'r str,
    params: &'r Object<'b>,
}

impl<'b> Reach<'_, 'b> {
    fn discover(&self) -> Result<Target<'b>, Reason> {
        #[cfg(feature = "auth")]
        self.permit(&[])?;
        Ok(Target::Encoded((&*self.shared.discover).into()))
    }

    fn page<E: Entry>(&self, list: &'b List<E>) -> Result<Target<'b>, Reason> {
        let cursor = match self.params.get("cursor") {
            None => None,
            Some(text) => Some(string(text).ok_or(Reason::Params("the cursor must be a string"))?),
        };
        let page = self.offered.page(list, cursor.as_deref(), self.sight);
        let page = page.ok_or(Reason::Params("the cursor is not one of this list"))?;
        #[cfg(feature = "auth")]
        self.permit(&[])?;
        Ok(Target::Encoded(page))
    }

    fn call_tool(&self, meta: &Metadata) -> Result<Target<'b>, Reason> {
        let name = self.params.get("name").and_then(string);
        let name = name.ok_or(Reason::Params("the name of the tool must be given as a string"))?;
        let arguments = self.params.get("arguments").unwrap_or("{}");
        if !arguments.starts_with('{') {
            return Err(Reason::Params("the arguments must be an object"));
        }
        let Some(tool) = self.offered.tool(&name, self.sight) else {
            return Err(Reason::UnknownTool(name.into_owned()));
        };
        if let Some(headers) = self.sender.headers() {
            tool.headers.verify(Some(arguments), headers).map_err(Reason::Header)?;
        }
        #[cfg(feature = "auth")]
        self.permit(&[(
            &tool.scopes,
            Operation { arguments: Some(arguments), ..self.operation(&tool.name) },
        )])?;
        if let Some(missing) = meta.capabilities.missing(&tool.required) {
            return Err(Reason::Capability(Box::new(missing)));
        }
        let brought = Brought::read(tool.answers, self.params)?;
        Ok(Target::CallTool { tool: Arc::clone(tool), arguments, brought })
    }

    fn get_prompt(&self) -> Result<Target<'b>, Reason> {
        let name = self.params.get("name").and_then(string);
        let name =
            name.ok_or(Reason::Params("the name of the prompt must be given as a string"))?;
        let arguments = match self.params.get("arguments") {
            None => Variables::default(),
            Some(text) => texts(text)
                .ok_or(Reason::Params("the arguments of a prompt must be an object of strings"))?,
        };
        let Some(prompt) = self.offered.prompt(&name, self.sight) else {
            return Err(Reason::UnknownPrompt(name.into_owned()));
        };
        if let Some(missing) = prompt.required.iter().find(|name| arguments.get(name).is_none()) {
            return Err(Reason::MissingArgument(missing.clone()));
        }
        #[cfg(feature = "auth")]
        self.permit(&[(
            &prompt.scopes,
            Operation { variables: Some(&arguments), ..self.operation(&prompt.name) },
        )])?;
        let brought = Brought::read(prompt.answers, self.params)?;
        Ok(Target::GetPrompt { prompt: Arc::clone(prompt), arguments, brought })
    }

    fn read_resource(&self) -> Result<Target<'b>, Reason> {
        let uri = self.params.get("uri").and_then(string);
        let uri = uri.ok_or(Reason::Params("the URI of the resource must be given as a string"))?;
        if !is_uri(&uri) {
            return Err(Reason::Params("the URI of the resource is not one"));
        }
        match self.offered.reader(&uri, self.sight) {
            Some((reader, variables)) => {
                #[cfg(feature = "auth")]
                self.permit(&[(
                    &reader.scopes,
                    Operation { variables: Some(&variables), ..self.operation(&uri) },
                )])?;
                let brought = Brought::read(reader.answers, self.params)?;
                Ok(Target::ReadResource { uri: uri.into(), reader, variables, brought })
            }
            None => Err(Reason::UnknownResource(uri.into_owned())),
        }
    }

    fn complete(&self) -> Result<Target<'b>, Reason> {
        let params: CompleteParams =
            serde_json::from_str(self.params.raw()).or(Err(Reason::Params(
                "a reference to a prompt or a resource template and an argument must be given",
            )))?;
        let completing = match &params.reference {
            CompletionReference::Prompt(prompt) => {
                let found = self.offered.prompt(&prompt.name, self.sight);
                let found = found.map(|entry| Completing {
                    #[cfg(feature = "auth")]
                    name: &prompt.name,
                    completers: Some(&entry.completers),
                    states: &entry.states,
                    #[cfg(feature = "auth")]
                    scopes: &entry.scopes,
                });
                found.ok_or_else(|| Reason::UnknownPrompt(prompt.name.clone()))?
            }
            CompletionReference::Resource(resource) => {
                let found = self.offered.completers(&resource.uri, self.sight);
                let found = found.map(|(completers, reader)| Completing {
                    #[cfg(feature = "auth")]
                    name: &resource.uri,
                    completers,
                    states: &reader.states,
                    #[cfg(feature = "auth")]
                    scopes: &reader.scopes,
                });
                found.ok_or_else(|| Reason::UnknownResource(resource.uri.clone()))?
            }
        };
        let settled = params.context.and_then(|context| context.arguments).into_iter().flatten();
        let arguments = settled.map(|(name, value)| (String::from(name), value)).collect();
        #[cfg(feature = "auth")]
        self.permit(&[(
            completing.scopes,
            Operation { variables: Some(&arguments), ..self.operation(completing.name) },
        )])?;
        Ok(Target::Complete {
            completer: completing.completers.and_then(|of| of.get(&params.argument.name)).cloned(),
            states: Arc::clone(completing.states),
            value: params.argument.value,
            arguments,
        })
    }

    /// Only of resources that it may read does a client hear. That one does not exist would tell it apart from one that is
    /// hidden, so where anything may be hidden neither is granted.
    fn listen(&self) -> Result<Target<'b>, Reason> {
        let mut wanted = subscription::wanted(self.shared, self.sender.sse, self.params)?;
        if self.sight.is_limited()
            && let Some(uris) = &mut wanted.resource_subscriptions
        {
            uris.retain(|uri| self.offered.reader(uri, self.sight).is_some());
        }
        #[cfg(feature = "auth")]
        self.permit_watching(wanted.resource_subscriptions.as_deref().unwrap_or_default())?;
        Ok(Target::Listen { wanted })
    }
}

#[cfg(feature = "auth")]
impl Reach<'_, '_> {
    /// Proves that the sender has all scopes that these operations and the method take, if the server is protected.
    fn permit(&self, operations: &[(&Required, Operation<'_>)]) -> Result<(), Reason> {
        match &self.shared.auth {
            None => Ok(()),
            Some(auth) => auth.permit(self.sender.parts, self.method, operations),
        }
    }

    /// The same for hearing of changes to these resources: one challenge names what all of them take.
    fn permit_watching(&self, uris: &[String]) -> Result<(), Reason> {
        if self.shared.auth.is_none() {
            return Ok(());
        }
        let readers =
            uris.iter().filter_map(|uri| Some((uri, self.offered.reader(uri, self.sight)?)));
        let readers: Vec<_> = readers.collect();
        let operations = readers.iter().map(|(uri, (reader, variables))| {
            let operation = Operation { variables: Some(variables), ..self.operation(uri) };
            (&reader.scopes, operation)
        });
        self.permit(&operations.collect::<Vec<_>>())
    }

    fn operation<'a>(&'a self, target: &'a str) -> Operation<'a> {
        let method = self.method;
        Operation { method, target, arguments: None, variables: None, access: None }
    }
}

/// What completes something.
struct Completing<'b> {
    #[cfg(feature = "auth")]
    name: &'b str,
    completers: Option<&'b Completers>,
    states: &'b Arc<States>,
    #[cfg(feature = "auth")]
    scopes: &'b Required,
}

/// The members of an object whose values are all strings.
fn texts(json: &str) -> Option<Variables> {
    let object = Object::parse(json).ok()?;
    object.iter().map(|(key, value)| Some((key, string(value)?))).collect()
}

/// The text of a JSON string; `None` for anything else.
fn string(json: &str) -> Option<Cow<'_, str>> {
    mcp_transport::json::decode_string(json)
}
