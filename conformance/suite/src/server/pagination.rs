//! Pages and their cursors.

use serde_json::{Value, json};

use super::lists::{INVALID, List};
use super::{Cx, Session};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::Reply;
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-pagination-stable-cursors", Both, stable_cursors),
    server_check!("server-pagination-invalid-cursor", Both, invalid_cursor),
];

async fn stable_cursors(cx: Cx) -> Verdict {
    let mut seen = false;
    for list in List::offered(&cx) {
        let mut session = cx.session();
        let first = session.ask(&cx.request(list.method)).await?;
        let Some(cursor) = first.result()?.get("nextCursor") else { continue };
        seen = true;
        let page = fetch(&cx, &mut session, list, cursor).await?;
        let walked = list.pages(&cx, &mut session).await?;
        let again = fetch(&cx, &mut session, list, cursor).await?;
        let elsewhere = fetch(&cx, &mut cx.session(), list, cursor).await?;
        if walked.first().map(|page| list.of(page)) != Some(list.of(first.result()?)) {
            return Err(Stop::skip(format!("{} changed meanwhile", list.method)));
        }
        for other in [again, elsewhere] {
            let is_same = other == page;
            let expected = format!("{}: the page {} again", list.method, shown(&page));
            expect(is_same, expected, shown(&other))?;
        }
    }
    if seen { Ok(()) } else { Err(Stop::skip("no list has several pages")) }
}

/// The entries behind a cursor, and those of the page after that.
async fn fetch(cx: &Cx, session: &mut Session, list: List, cursor: &Value) -> Verdict<Value> {
    let request = cx.request(list.method).param("cursor", cursor.clone());
    let reply = session.ask(&request).await?;
    let page = reply.result()?;
    let mut entries = vec![json!(list.of(page))];
    if let Some(next) = page.get("nextCursor") {
        let request = cx.request(list.method).param("cursor", next.clone());
        let reply = session.ask(&request).await?;
        entries.push(json!(list.of(reply.result()?)));
    }
    Ok(Value::Array(entries))
}

async fn invalid_cursor(cx: Cx) -> Verdict {
    let lists = List::offered(&cx);
    if lists.is_empty() {
        return Err(Stop::skip("the server has no lists"));
    }
    let (mut session, mut foreign) = (cx.session(), None);
    for list in lists {
        let with = |cursor: Value| cx.request(list.method).param("cursor", cursor);
        for cursor in [json!("suite-invalid-cursor-7f3a"), json!(5), json!({})] {
            let reply = session.orderly(&with(cursor.clone())).await?;
            reply.has_code(INVALID).map_err(|stop| stop.of(format!("cursor {cursor}")))?;
        }
        // Absent, the first page, and a place in another list or none at all: a server may know, and need not.
        let mut either = vec![json!(""), Value::Null];
        either.extend(foreign.replace(cursor_of(&cx, &mut session, list).await?).flatten());
        either.extend(foreign.iter().flatten().filter_map(|cursor| changed(cursor.as_str()?)));
        for cursor in either {
            page_or_error(&session.orderly(&with(cursor)).await?)?;
        }
        if let Some(reply) = session.oversized(&with("a".repeat(1 << 20).into())).await? {
            expect(reply.result().is_err(), "an error for a cursor of 1 MiB", reply.told())?;
        }
    }
    Ok(())
}

fn page_or_error(reply: &Reply) -> Verdict {
    let code = at(reply.response()?, "/error/code");
    expect(code.is_null() || *code == INVALID, "a page or error -32602", reply.told())
}

/// A cursor that the list gives, if it has several pages.
async fn cursor_of(cx: &Cx, session: &mut Session, list: List) -> Verdict<Option<Value>> {
    let first = session.ask(&cx.request(list.method)).await?;
    Ok(first.result()?.get("nextCursor").cloned())
}

/// The cursor with another character at its end.
fn changed(cursor: &str) -> Option<Value> {
    let mut cursor = cursor.to_owned();
    let last = cursor.pop()?;
    cursor.push(if last == 'A' { 'B' } else { 'A' });
    Some(cursor.into())
}
