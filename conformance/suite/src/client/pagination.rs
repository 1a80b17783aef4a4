//! Lists of several pages.

use serde_json::{Value, json};

use super::asking::with;
use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};
use crate::wire::json::at;

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-pagination-page-sizes", Both, page_sizes),
    client_check!("client-pagination-end", Both, end),
    client_check!("client-pagination-opaque", Both, opaque),
    client_check!("client-pagination-empty-cursor", Both, empty_cursor),
];

/// A server whose list of this method has these pages, with these cursors between them. Each cursor is good for its
/// turn only, and what comes after the last page is refused.
pub(super) fn paged(
    method: &'static str,
    pages: Vec<Value>,
    cursors: Vec<String>,
) -> impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static {
    move |seen| {
        if seen.method() != method {
            return good(seen);
        }
        let turn = seen.turn;
        let due =
            turn.checked_sub(1).map(|before| cursors.get(before).cloned().unwrap_or_default());
        let is_due = *seen.param("cursor") == due.map_or(Value::Null, Value::from);
        match pages.get(turn).filter(|_| is_due) {
            Some(page) => {
                let next = cursors.get(turn).map_or(Value::Null, |cursor| json!(cursor));
                let members = json!({ member(method): page, "nextCursor": next });
                Answer::result(seen, with(result_of(seen), members))
            }
            None => Answer::error(seen, -32602, "Invalid cursor", Value::Null),
        }
    }
}

/// The member of a list's result that has the entries.
fn member(method: &str) -> &str {
    match method {
        "resources/templates/list" => "resourceTemplates",
        other => other.trim_end_matches("/list"),
    }
}

/// As many entries of a list, numbered from `from` on.
pub(super) fn entries(method: &str, from: usize, count: usize) -> Value {
    let entry = |number: usize| {
        let name = format!("entry-{number}");
        match method {
            "tools/list" => json!({ "name": name, "inputSchema": { "type": "object" } }),
            "resources/list" => json!({ "name": name, "uri": format!("test://{name}") }),
            "resources/templates/list" => json!({ "name": name, "uriTemplate": "test://{name}" }),
            _ => json!({ "name": name }),
        }
    };
    (from..from + count).map(entry).collect::<Vec<_>>().into()
}

/// The names of the entries that a client told its caller of.
pub(super) fn names(result: &Value, member: &str) -> Vec<String> {
    let all = at(result, &format!("/{member}")).as_array();
    let names = all.into_iter().flatten().map(|entry| at(entry, "/name").as_str());
    names.map(|name| name.unwrap_or_default().to_owned()).collect()
}

/// Has the client read the whole of a list that has pages of these sizes.
async fn read_all(
    cx: &Cx,
    method: &'static str,
    sizes: &[usize],
    cursors: Vec<String>,
) -> Verdict<Played> {
    let mut total = 0;
    let pages = sizes.iter().map(|size| {
        total += size;
        entries(method, total - size, *size)
    });
    let pages = pages.collect();
    let steps = json!([{ "do": method, "all": true }]);
    let played = cx.play(steps, paged(method, pages, cursors)).await?;
    let sent = played.of(method).map(|seen| seen.param("cursor").to_string()).collect::<Vec<_>>();
    let expected = format!("{} requests, each with the cursor it was given", sizes.len());
    expect(sent.len() == sizes.len(), expected, sent.join(", "))?;
    let listed = names(played.result(0)?, member(method));
    let all = (0..total).map(|number| format!("entry-{number}")).collect::<Vec<_>>();
    expect(listed == all, format!("{total} entries in their order"), listed.join(", "))?;
    Ok(played)
}

const LISTS: [&str; 4] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("page-{number}")).collect()
}

async fn page_sizes(cx: Cx) -> Verdict {
    read_all(&cx, "tools/list", &[3, 1, 0, 2], numbered(3)).await?;
    Ok(())
}

async fn end(cx: Cx) -> Verdict {
    for method in LISTS {
        read_all(&cx, method, &[2], Vec::new()).await?;
        read_all(&cx, method, &[2, 1], numbered(1)).await?;
    }
    Ok(())
}

async fn opaque(cx: Cx) -> Verdict {
    let long = "long ".repeat(820);
    let cursors = [
        "{\"page\":2}",
        "eyJwYWdlIjogMn0=",
        "%7B%22a%22%3A1%7D",
        "  spaced  ",
        "\u{2603} \u{fc}",
        "null",
        "0",
        "\"quoted\"\n",
        &long,
    ];
    let cursors = cursors.map(str::to_owned).to_vec();
    for method in ["tools/list", "resources/list"] {
        let played = read_all(&cx, method, &[1; 10], cursors.clone()).await?;
        for (seen, cursor) in played.of(method).skip(1).zip(&cursors) {
            let sent = seen.param("cursor");
            expect(sent == cursor, format!("the cursor {cursor:?}"), sent.to_string())?;
        }
    }
    Ok(())
}

async fn empty_cursor(cx: Cx) -> Verdict {
    read_all(&cx, "tools/list", &[1, 1], vec![String::new()]).await?;
    Ok(())
}
