//! What the four lists have in common.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::{Cx, Session};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::{Message, Reply};

/// A method that lists something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) method: &'static str,
    /// The member of the result that has the entries.
    pub(crate) member: &'static str,
    /// The member of an entry that tells it from others.
    pub(crate) key: &'static str,
    /// The capability that it belongs to.
    pub(crate) capability: &'static str,
}

pub(crate) const TOOLS: List =
    List { method: "tools/list", member: "tools", key: "name", capability: "tools" };
pub(crate) const PROMPTS: List =
    List { method: "prompts/list", member: "prompts", key: "name", capability: "prompts" };
pub(crate) const RESOURCES: List =
    List { method: "resources/list", member: "resources", key: "uri", capability: "resources" };
pub(crate) const TEMPLATES: List = List {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    capability: "resources",
};

/// Pages that a list has at most.
const PAGES: usize = 1000;

impl List {
    /// The lists that the server has.
    pub(crate) fn offered(cx: &Cx) -> Vec<Self> {
        let all = [TOOLS, PROMPTS, RESOURCES, TEMPLATES];
        all.into_iter().filter(|list| list.is_declared(cx)).collect()
    }

    pub(crate) fn is_declared(self, cx: &Cx) -> bool {
        at(&cx.offer().discover, &format!("/capabilities/{}", self.capability)).is_object()
    }

    /// The results of all pages.
    pub(crate) async fn pages(self, cx: &Cx, session: &mut Session) -> Verdict<Vec<Value>> {
        let (mut pages, mut cursors) = (Vec::new(), HashSet::new());
        let mut request = cx.request(self.method);
        loop {
            let reply = session.ask(&request).await?;
            let result = reply.result()?.clone();
            expect(at(&result, "/resultType") == "complete", "a complete result", reply.told())?;
            let entries = at(&result, &format!("/{}", self.member));
            expect(entries.is_array(), format!("{}, an array", self.member), reply.told())?;
            let next = at(&result, "/nextCursor").clone();
            pages.push(result);
            if next.is_null() {
                return Ok(pages);
            }
            expect(next.is_string(), "nextCursor, a string", shown(&next))?;
            expect(pages.len() < PAGES, "an end of the list", format!("{PAGES} pages"))?;
            request = cx.request(self.method).param("cursor", next.clone());
            let is_new = cursors.insert(next.to_string());
            expect(is_new, "another cursor on each page", shown(&next))?;
        }
    }

    /// The entries of all pages.
    pub(crate) async fn entries(self, cx: &Cx, session: &mut Session) -> Verdict<Vec<Value>> {
        let pages = self.pages(cx, session).await?;
        let entries = pages.iter().flat_map(|page| self.of(page)).cloned();
        Ok(entries.collect())
    }

    /// The entries of one result.
    pub(crate) fn of(self, result: &Value) -> &[Value] {
        result.get(self.member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// What tells the entries from each other, in their order.
    pub(crate) async fn keys(self, cx: &Cx, session: &mut Session) -> Verdict<Vec<String>> {
        let entries = self.entries(cx, session).await?;
        let keys = entries.iter().filter_map(|entry| entry.get(self.key)?.as_str());
        Ok(keys.map(str::to_owned).collect())
    }
}

/// What answers at all is declared.
pub(crate) async fn declared(cx: &Cx, list: List) -> Verdict {
    let reply = cx.ask(&cx.request(list.method)).await?;
    // An error of whatever kind is no support.
    if reply.error().is_ok() && !list.is_declared(cx) {
        return Err(Stop::skip(format!("the server has no {}", list.capability)));
    }
    let expected = format!("the capability {}, since {} is answered", list.capability, list.method);
    let declared = at(&cx.offer().discover, "/capabilities");
    expect(list.is_declared(cx), expected, shown(declared))
}

/// What is not declared is a method that does not exist.
pub(crate) async fn undeclared(cx: &Cx, capability: &str, messages: &[Message]) -> Verdict {
    if !at(&cx.offer().discover, &format!("/capabilities/{capability}")).is_null() {
        return Err(Stop::skip(format!("the server declares {capability}")));
    }
    for message in messages {
        cx.ask(message).await?.is_refused(404, UNKNOWN_METHOD)?;
    }
    Ok(())
}

/// The list is the same on every connection, whatever came before on it.
pub(crate) async fn stable(cx: &Cx, list: List, before: &[Message]) -> Verdict {
    let (mut one, mut other) = (cx.session(), cx.session());
    let mut seen = vec![set(list, cx, &mut one).await?, set(list, cx, &mut other).await?];
    for message in before {
        one.ask(message).await?;
    }
    seen.extend([set(list, cx, &mut one).await?, set(list, cx, &mut other).await?]);
    let first = seen.remove(0);
    let Some(differs) = seen.iter().find(|set| **set != first) else { return Ok(()) };
    // It may have changed by itself meanwhile, and then for everybody.
    let (there, here) = (set(list, cx, &mut other).await?, set(list, cx, &mut one).await?);
    if there == here && seen.last() == Some(&here) && differs == &here {
        return Err(Stop::skip("the list changed meanwhile"));
    }
    let differing = first.symmetric_difference(differs).take(5).collect::<Vec<_>>();
    Err(Stop::fail("the same entries on every connection", format!("only at times: {differing:?}")))
}

async fn set(list: List, cx: &Cx, session: &mut Session) -> Verdict<BTreeSet<String>> {
    Ok(list.keys(cx, session).await?.into_iter().collect())
}

/// The reply is an error of wrong parameters, of a request that the server has to live through.
pub(crate) async fn wrong(session: &mut Session, message: &Message) -> Verdict<Reply> {
    let reply = session.orderly(message).await?;
    reply.has_code(INVALID)?;
    Ok(reply)
}

/// The codes of a method that does not exist, and of parameters that do not fit.
pub(crate) const UNKNOWN_METHOD: i64 = -32601;
pub(crate) const INVALID: i64 = -32602;
