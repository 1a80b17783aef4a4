//! What a request is for: its method and the thing it names, proved to exist and to be reachable by
//! this request.

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use mcp_transport::header;
use mcp_transport::json::Object;
use mcp_types::Method;

use crate::metadata::Metadata;
use crate::registry::Entry;
use crate::rejection::Reason;
use crate::server::Shared;

/// A method with its parameters.
pub(crate) enum Target<'b> {
    Discover,
    ListTools { cursor: Option<Cow<'b, str>> },
    CallTool { tool: Arc<Entry>, arguments: &'b str },
}

/// Proves that the headers name what the body names, that it is served, and that the client can
/// take part in it.
pub(super) fn check<'b>(
    shared: &Shared,
    headers: Option<&HeaderMap>,
    method: &str,
    params: &Object<'b>,
    meta: &Metadata,
) -> Result<Target<'b>, Reason> {
    let known = Method::from_name(method);
    if let Some(headers) = headers {
        header::verify_method(headers, method).map_err(Reason::Header)?;
        let name = known.and_then(Method::name_member).and_then(|key| params.get(key));
        // One that is no string is refused with the parameters.
        if let Some(name) = name.and_then(string) {
            header::verify_name(headers, &name).map_err(Reason::Header)?;
        }
    }
    match known {
        Some(Method::Discover) => Ok(Target::Discover),
        Some(Method::ListTools) if shared.serves_tools() => list_tools(params),
        Some(Method::CallTool) if shared.serves_tools() => call_tool(shared, headers, params, meta),
        _ => Err(Reason::Method(method.to_owned())),
    }
}

fn list_tools<'b>(params: &Object<'b>) -> Result<Target<'b>, Reason> {
    let cursor = match params.get("cursor") {
        None => None,
        Some(text) => Some(string(text).ok_or(Reason::Params("the cursor must be a string"))?),
    };
    Ok(Target::ListTools { cursor })
}

fn call_tool<'b>(
    shared: &Shared,
    headers: Option<&HeaderMap>,
    params: &Object<'b>,
    meta: &Metadata,
) -> Result<Target<'b>, Reason> {
    let name = params.get("name").and_then(string);
    let name = name.ok_or(Reason::Params("the name of the tool must be given as a string"))?;
    let arguments = params.get("arguments").unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Err(Reason::Params("the arguments must be an object"));
    }
    let Some(tool) = shared.registry.tool(&name) else {
        return Err(Reason::UnknownTool(name.into_owned()));
    };
    if let Some(headers) = headers {
        tool.headers.verify(Some(arguments), headers).map_err(Reason::Header)?;
    }
    if let Some(missing) = meta.capabilities.missing(&tool.required) {
        return Err(Reason::Capability(Box::new(missing)));
    }
    Ok(Target::CallTool { tool: Arc::clone(tool), arguments })
}

/// The text of a JSON string; `None` for anything else.
fn string(json: &str) -> Option<Cow<'_, str>> {
    mcp_transport::json::decode_string(json)
}
