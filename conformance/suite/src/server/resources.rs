//! Resources and their templates: lists, and reading good and bad URIs.

use serde_json::{Value, json};

use super::lists::{INVALID, RESOURCES, TEMPLATES, UNKNOWN_METHOD, declared, stable, undeclared};
use super::uri::{Uri, is_template};
use super::{Cx, INTERNAL, content, listening};
use crate::check::{Check, server_check};
use crate::shape::has_shape;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::Message;
use crate::wire::json::{at, cut, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-resources-declared", Both, is_declared),
    server_check!("server-resources-undeclared", Both, is_undeclared),
    server_check!("server-resources-list", Both, list),
    server_check!("server-resources-list-stable", Both, list_stable),
    server_check!("server-resources-list-changed", Both, list_changed),
    server_check!("server-resources-uris", Both, uris),
    server_check!("server-resources-unknown", Both, unknown),
    server_check!("server-resources-internal-error", Both, internal_error),
    server_check!("server-resources-invalid-uri", Both, invalid_uri),
    server_check!("server-resources-binary", Both, binary),
    server_check!("server-resources-traversal", Both, traversal),
];

async fn is_declared(cx: Cx) -> Verdict {
    declared(&cx, RESOURCES).await
}

async fn is_undeclared(cx: Cx) -> Verdict {
    let lists = [cx.request("resources/list"), cx.request("resources/templates/list")];
    undeclared(&cx, "resources", &lists).await?;
    undeclared(&cx, "resources", &[read(&cx, "test://x")]).await
}

async fn list(cx: Cx) -> Verdict {
    cx.needs("/resources")?;
    let mut session = cx.session();
    for resource in RESOURCES.entries(&cx, &mut session).await? {
        has_shape(&resource, "resource")?;
        let size = resource.get("size");
        expect(size.is_none_or(Value::is_u64), "a size in whole bytes", shown(&resource))?;
    }
    let reply = session.ask(&cx.request(TEMPLATES.method)).await?;
    if at(reply.response()?, "/error/code") == UNKNOWN_METHOD {
        return Ok(());
    }
    for template in TEMPLATES.entries(&cx, &mut session).await? {
        let is_whole =
            at(&template, "/uriTemplate").is_string() && at(&template, "/name").is_string();
        expect(is_whole, "uriTemplate and name, strings", shown(&template))?;
    }
    Ok(())
}

async fn list_stable(cx: Cx) -> Verdict {
    cx.needs("/resources")?;
    let mut between = vec![read(&cx, NOWHERE)];
    between.extend(listed(&cx).next().map(|uri| read(&cx, uri)));
    stable(&cx, RESOURCES, &between).await
}

async fn list_changed(cx: Cx) -> Verdict {
    cx.needs("/resources/listChanged")?;
    let trigger = "test_trigger_resource_change";
    listening::list_changed(&cx, "resourcesListChanged", trigger, "resources").await
}

async fn uris(cx: Cx) -> Verdict {
    cx.needs("/resources")?;
    let mut all = listed(&cx).map(str::to_owned).collect::<Vec<_>>();
    for (_, contents) in contents(&cx).await? {
        all.extend(at(&contents, "/uri").as_str().map(str::to_owned));
    }
    for uri in all {
        expect(Uri::parse(&uri).is_some(), "an absolute URI of RFC 3986", cut(&uri))?;
    }
    for template in &cx.offer().templates {
        let template = at(template, "/uriTemplate").as_str().unwrap_or_default();
        let has_scheme = template.split_once(':').is_some() || template.starts_with('{');
        expect(has_scheme && is_template(template), "a template of RFC 6570", cut(template))?;
    }
    Ok(())
}

async fn unknown(cx: Cx) -> Verdict {
    cx.needs("/resources")?;
    let schemes = listed(&cx).filter_map(Uri::parse).map(|uri| uri.scheme);
    // Those may be looked for in the network.
    let scheme = schemes.into_iter().find(|scheme| !matches!(&**scheme, "http" | "https"));
    let same_scheme = scheme.map(|scheme| format!("{scheme}://no-such-host-7f3a/no-such-path"));
    let mut session = cx.session();
    for uri in std::iter::once(NOWHERE.to_owned()).chain(same_scheme) {
        let reply = session.ask(&read(&cx, &*uri)).await?;
        let error = reply.has_code(INVALID)?;
        let names_it = *at(error, "/data/uri") == *uri;
        cx.warnings.unless(names_it, format!("data.uri {uri:?}"), reply.told());
    }
    Ok(())
}

async fn internal_error(cx: Cx) -> Verdict {
    if listed(&cx).all(|uri| uri != FAILING) {
        return Err(Stop::skip(format!("the server has no resource {FAILING:?}")));
    }
    cx.ask(&read(&cx, FAILING)).await?.has_code(INTERNAL).map(drop)
}

async fn invalid_uri(cx: Cx) -> Verdict {
    cx.needs("/resources")?;
    let mut session = cx.session();
    let texts = ["", "not a uri", "://x", "test://%zz", "test://a b", "test://a\nb"];
    for uri in texts.into_iter().map(Value::from).chain([json!(5), Value::Null]) {
        let reply = session.orderly(&read(&cx, uri.clone())).await?;
        let code = at(reply.error().map_err(|stop| stop.of(format!("uri {uri}")))?, "/code");
        // A text that breaks something inside was not looked at first; another kind of value never got that far.
        let broke = uri.is_string() && *code == INTERNAL;
        expect(!broke, format!("an error of the parameters for {uri}"), reply.told())?;
        cx.warnings.unless(*code == INVALID, format!("error -32602 for {uri}"), reply.told());
    }
    let long = read(&cx, format!("test://{}", "a".repeat(64 * 1024)));
    match session.oversized(&long).await? {
        Some(reply) => expect(reply.result().is_err(), "an error", reply.told()),
        None => Ok(()),
    }
}

async fn binary(cx: Cx) -> Verdict {
    let mut seen = false;
    for (uri, contents) in contents(&cx).await? {
        content::has_one_form(&contents)?;
        let Some(blob) = contents.get("blob") else { continue };
        seen = true;
        let resources = &cx.offer().resources;
        let listed = resources.iter().find(|resource| *at(resource, "/uri") == *uri);
        let size = listed.and_then(|resource| resource.get("size")?.as_u64());
        let length = content::bytes(blob).map(|bytes| bytes.len() as u64);
        // What was read may be a part of what is listed, or have grown.
        let fits = size.is_none() || size == length;
        let expected = format!("{uri}: {size:?} bytes, as listed");
        cx.warnings.unless(fits, expected, format!("{length:?}"));
    }
    if seen { Ok(()) } else { Err(Stop::skip("no resource is binary")) }
}

async fn traversal(cx: Cx) -> Verdict {
    let mut attempts = Vec::new();
    if let Some(file) = listed(&cx).find(|uri| uri.starts_with("file://")) {
        let folder = file.rsplit_once('/').map_or(file, |(folder, _)| folder);
        for up in ["../", "%2e%2e/", "..%2f", "%2e%2e%5c", "..//", "%00../"] {
            attempts.push(format!("{folder}/{}etc/passwd", up.repeat(12)));
        }
        attempts.push("file:///etc/passwd".to_owned());
    }
    let templates = cx.offer().templates.iter();
    let templates = templates.filter_map(|template| template.get("uriTemplate")?.as_str());
    for template in templates.filter(|template| template.starts_with("file:")) {
        for path in ["../../../../../../etc/passwd", "..%2f..%2f..%2f..%2f..%2fetc%2fpasswd"] {
            attempts.push(expanded(template, path));
        }
    }
    if attempts.is_empty() {
        return Err(Stop::skip("no resource has the scheme file"));
    }
    let mut session = cx.session();
    for uri in attempts {
        let reply = session.orderly(&read(&cx, &*uri)).await?;
        let leaks = reply.result().is_ok_and(|result| result.to_string().contains(":0:0:"));
        expect(!leaks, format!("nothing of {uri}"), reply.told())?;
    }
    Ok(())
}

/// A template with the same text for each of its expressions.
fn expanded(template: &str, value: &str) -> String {
    let mut parts = template.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let rest = part.split_once('}').map_or("", |(_, rest)| rest);
        all + value + rest
    })
}

/// What is read of all resources that are listed, up to a number of them: the URI, and each part.
async fn contents(cx: &Cx) -> Verdict<Vec<(String, Value)>> {
    let (mut session, mut all) = (cx.session(), Vec::new());
    for uri in listed(cx).take(READ) {
        let reply = session.ask(&read(cx, uri)).await?;
        let Ok(result) = reply.result() else { continue };
        let contents = at(result, "/contents").as_array().into_iter().flatten();
        all.extend(contents.map(|contents| (uri.to_owned(), contents.clone())));
    }
    Ok(all)
}

/// The URIs of the resources that are listed.
pub(super) fn listed(cx: &Cx) -> impl Iterator<Item = &str> {
    cx.offer().resources.iter().filter_map(|resource| resource.get("uri")?.as_str())
}

pub(super) fn read(cx: &Cx, uri: impl Into<Value>) -> Message {
    cx.request("resources/read").param("uri", uri)
}

/// Resources that are read.
const READ: usize = 20;
const NOWHERE: &str = "test://nonexistent-resource-for-conformance-testing";
const FAILING: &str = "test://failing-resource";
