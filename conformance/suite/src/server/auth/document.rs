//! The document of RFC 9728, by which clients find out who issues tokens for a server.

use serde_json::Value;

use super::challenge::Challenge;
use super::{asked_barely, challenged};
use crate::check::{Check, server_check};
use crate::server::{Cx, Endpoint};
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Post, Record, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-auth-prm-served", Http, is_served),
    server_check!("server-auth-prm-resource", Http, resource),
];

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The document as it is found in either way.
#[derive(Debug)]
pub(super) struct Documents {
    /// Where the challenge says that it is, and what came of it.
    named: Option<(String, Reply)>,
    /// At the well-known URI, with the path of the endpoint or without.
    known: Option<Value>,
}

impl Documents {
    /// Fetches it where these challenges and the well-known URIs say.
    pub(super) async fn fetch(cx: &Cx, challenges: &[Challenge]) -> Verdict<Self> {
        let named = challenges.iter().find_map(|it| it.get("resource_metadata"));
        let named = match named {
            Some(url) => Some((url.to_owned(), get(cx, url).await.of(url)?)),
            None => None,
        };
        let endpoint = cx.endpoint()?;
        let path = endpoint.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let mut known = None;
        for path in [path, ""] {
            let reply = get(cx, &format!("{}{WELL_KNOWN}{path}", endpoint.origin())).await?;
            if reply.status() == Some(200) {
                known = reply.messages.into_iter().find(|it| at(it, "/resource").is_string());
            }
            if known.is_some() {
                break;
            }
        }
        Ok(Self { named, known })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        let named = self.named.iter().flat_map(|(_, reply)| reply.messages.first());
        named.chain(&self.known)
    }

    pub(super) fn any(&self) -> Option<&Value> {
        self.all().next()
    }
}

async fn get(cx: &Cx, url: &str) -> Verdict<Reply> {
    let endpoint = Endpoint::new(url, Vec::new(), cx.endpoint()?.ways.clone());
    let endpoint = endpoint.map_err(|why| Stop::fail("an absolute URL", why))?;
    let post = Post::bytes("", &endpoint.authority, &endpoint.path).method("GET");
    let post = post.without("Content-Type").set("Accept", "application/json");
    // What comes is no message of the protocol, and is not to be judged as one.
    let mut elsewhere = cx.of_endpoint(endpoint);
    elsewhere.record = Record::default();
    elsewhere.send(&post).await
}

/// What there is, of a server that is protected or says who issues tokens for it all the same.
async fn found(cx: &Cx) -> Verdict<Documents> {
    let reply = asked_barely(cx).await?;
    let is_open = reply.result().is_ok();
    let challenges = if is_open { Vec::new() } else { challenged(&reply)? };
    let documents = Documents::fetch(cx, &challenges).await?;
    if is_open && documents.any().is_none() {
        return Err(Stop::skip("the server is open"));
    }
    Ok(documents)
}

async fn is_served(cx: Cx) -> Verdict {
    let documents = found(&cx).await?;
    if let Some((url, reply)) = &documents.named {
        reply.has_status(200).of(url)?;
        let media_type = reply.head.as_ref().map(|head| head.media_type()).unwrap_or_default();
        expect(media_type == "application/json", format!("{url}: application/json"), media_type)?;
        expect(reply.messages.len() == 1, format!("{url}: a JSON document"), reply.told())?;
    }
    let expected = "the document, where the challenge says or at the well-known URI";
    expect(documents.any().is_some(), expected, "none")?;
    for document in documents.all() {
        has_issuers(document)?;
    }
    if let (Some((_, reply)), Some(known)) = (&documents.named, &documents.known) {
        let named = reply.messages.first().unwrap_or(&Value::Null);
        for member in ["/resource", "/authorization_servers"] {
            expect(
                at(named, member) == at(known, member),
                format!("the same {member} in both places: {}", shown(at(named, member))),
                shown(at(known, member)),
            )?;
        }
    }
    Ok(())
}

fn has_issuers(document: &Value) -> Verdict {
    expect(at(document, "/resource").is_string(), "a resource", shown(document))?;
    let servers = at(document, "/authorization_servers").as_array();
    let servers = servers.filter(|all| !all.is_empty());
    let servers = servers.ok_or_else(|| {
        Stop::fail("authorization_servers, an array that is not empty", shown(document))
    })?;
    for server in servers {
        let is_issuer = server.as_str().is_some_and(|url| is_absolute(url) && !url.contains('?'));
        expect(is_issuer, "issuers that are URLs without query and fragment", shown(server))?;
    }
    Ok(())
}

fn is_absolute(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
        && !url.contains('#')
}

async fn resource(cx: Cx) -> Verdict {
    let documents = found(&cx).await?;
    let Some(document) = documents.any() else {
        return Err(Stop::skip("there is no such document"));
    };
    let resource = at(document, "/resource").as_str().unwrap_or_default();
    expect(is_absolute(resource), "resource, a URL without fragment", shown(document))?;
    let endpoint = cx.endpoint()?;
    let path = endpoint.path.split('?').next().unwrap_or_default();
    let url = format!("{}{path}", endpoint.origin());
    let start = resource.find("://").map_or(0, |at| at + 3);
    let end = resource.split_at(start).1.find('/').map_or(resource.len(), |at| start + at);
    let (origin, own_path) = resource.split_at(end);
    let warns = |holds: bool, what: &str| cx.warnings.unless(holds, what, resource);
    // It may be known by another name than the one that it is tested under.
    let is_same = origin.eq_ignore_ascii_case(&endpoint.origin());
    warns(is_same, &format!("a resource of the origin {}", endpoint.origin()));
    warns(origin == origin.to_ascii_lowercase(), "scheme and host in lower case");
    let own_path = own_path.split('?').next().unwrap_or_default();
    let needless = own_path.ends_with('/') && own_path != path;
    warns(!needless, &format!("no slash at the end that {url} does not have"));
    let own_path = own_path.trim_end_matches('/');
    let below = path.strip_prefix(own_path);
    let is_prefix = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    expect(!is_same || is_prefix, format!("a resource that {url} belongs to"), resource)
}
