//! What is posted: requests and notifications, one at a time.

use serde_json::{Value, json};

use super::judge::{has_no_id, refused, refused_best};
use super::{INVALID_REQUEST, MISMATCH, NO_JSON, alive, discover, each};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Verdict, expect};
use crate::wire::{Message, Post, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-batch", Http, batches),
    server_check!("server-http-response-posted", Http, responses),
    server_check!("server-http-notification-accepted", Http, notifications),
    server_check!("server-http-notification-refused", Http, bad_notifications).alone(),
];

async fn batches(cx: Cx) -> Verdict {
    let (one, post) = discover(&cx)?;
    let (one, other) = (one.text(), cx.request("server/discover").text());
    let note = Message::notification("notifications/x-unknown").text();
    let codes = [INVALID_REQUEST, NO_JSON, MISMATCH];
    let posts = |(name, body): (&'static str, String)| (name, post.clone().body(body));
    // JSON-RPC has lists, and it is clients that must not send them here.
    let lists = [
        ("[request]", format!("[{one}]")),
        ("[request, request]", format!("[{one},{other}]")),
        ("[notification]", format!("[{note}]")),
    ];
    for list in lists {
        let sent = each(&cx, [posts(list)], |reply| refused_best(&cx, reply, &codes)).await;
        cx.warnings.soften(sent)?;
    }
    let wrong = [("[]", "[]".to_owned()), ("two requests in a row", format!("{one}\n{other}"))];
    each(&cx, wrong.map(posts), |reply| refused_best(&cx, reply, &codes)).await
}

async fn responses(cx: Cx) -> Verdict {
    let (_, post) = discover(&cx)?;
    let bare = post.clone().without("MCP-Protocol-Version").without("Mcp-Method");
    let bodies = [
        ("a result", json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
        ("an error", json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "" } })),
        ("a result under an id of nobody", json!({ "jsonrpc": "2.0", "id": "x-9", "result": {} })),
    ];
    for (name, body) in bodies {
        let variants = [
            (name.to_owned(), post.clone().body(body.to_string())),
            (format!("{name}, without our headers"), bare.clone().body(body.to_string())),
        ];
        // It is clients that must not send these; what becomes of them is open.
        cx.warnings.soften(each(&cx, variants, refused).await)?;
    }
    alive(&cx).await
}

/// The request that carries a notification, and the same without our headers.
fn noted(cx: &Cx, name: &str, message: &Message) -> Verdict<[(String, Post); 2]> {
    let post = cx.post(message)?;
    let bare = post.clone().without("MCP-Protocol-Version").without("Mcp-Method");
    Ok([(name.to_owned(), post), (format!("{name}, without our headers"), bare)])
}

async fn notifications(cx: Cx) -> Verdict {
    let unknown = Message::notification("notifications/x-unknown");
    let cancelled = Message::notification("notifications/cancelled").param("requestId", 424_242);
    let variants = [noted(&cx, "unknown", &unknown)?, noted(&cx, "cancelled", &cancelled)?];
    each(&cx, variants.into_iter().flatten(), |reply| {
        if reply.status() == Some(202) {
            return expect(reply.body.is_empty(), "no body with 202", reply.told());
        }
        cx.warnings.unless(false, "status 202", reply.told());
        refused(reply)
    })
    .await
}

async fn bad_notifications(cx: Cx) -> Verdict {
    let note = Message::notification("notifications/x-unknown");
    let variants = [
        ("params: 5", note.clone().with("params", 5)),
        ("params: []", note.clone().with("params", Value::Array(Vec::new()))),
        ("jsonrpc: 1.0", note.clone().with("jsonrpc", "1.0")),
        ("no method", note.clone().with("method", "")),
    ];
    let post = cx.post(&note)?;
    let variants = variants.map(|(name, message)| (name, post.clone().body(message.text())));
    each(&cx, variants, |reply| judged(&cx, reply)).await?;
    if !cx.is_http2() {
        huge(&cx, post).await.of("65 MiB")?;
    }
    alive(&cx).await
}

/// A notification that is none is refused; one that is passed over is not answered at least.
fn judged(cx: &Cx, reply: &Reply) -> Verdict {
    if reply.status() == Some(202) {
        cx.warnings.unless(false, "a status of 4xx", reply.told());
        return expect(reply.body.is_empty(), "no body with 202", reply.told());
    }
    has_no_id(cx, reply);
    refused(reply)
}

async fn huge(cx: &Cx, post: Post) -> Verdict {
    const SIZE: usize = 65 * 1024 * 1024;
    let filler = vec![b'x'; 1024 * 1024];
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/x-unknown","params":{"x":""}}"#;
    let (begin, end) = frame.split_at(frame.len() - 3);
    let length = (SIZE + frame.len()).to_string();
    let mut connection = cx.connect().await?;
    let post = post.without_length().header("Content-Length", length).body(begin);
    connection.send(&post.encode()).await?;
    connection.pour(&filler, SIZE / filler.len()).await;
    connection.send(end.as_bytes()).await?;
    // A connection that is closed while so much is under way may lose its answer.
    match Reply::read(&mut connection).await {
        Ok(reply) => judged(cx, &reply),
        Err(_) => Ok(()),
    }
}
