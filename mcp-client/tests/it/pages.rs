//! Lists of several pages.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_core::Stream;
use mcp_client::{Client, Limits};
use serde_json::Value;

use crate::support::{Memory, Reply, Server, error, item, result};

fn page(prompt: &str, next: Option<&str>) -> String {
    let next = next.map_or_else(String::new, |next| format!(r#","nextCursor":"{next}""#));
    result(&format!(r#"{{"prompts":[{{"name":"{prompt}"}}]{next}}}"#))
}

fn cursors(server: &Server) -> Vec<Value> {
    let cursor = |request: &crate::support::Request| request.json()["params"]["cursor"].clone();
    server.requests().iter().map(cursor).collect()
}

async fn names(client: &Client) -> Result<Vec<String>, mcp_client::Error> {
    let prompts = client.list_prompts().all().await?;
    Ok(prompts.into_iter().map(|prompt| prompt.name).collect())
}

#[tokio::test]
async fn all_pages_are_read() {
    // An empty cursor, and one that looks like none.
    let pages = [page("a", Some("")), page("b", Some("null")), page("c", None)];
    let server = Server::start(pages.map(|page| Reply::json(&page))).await;
    assert_eq!(names(&server.client()).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(cursors(&server), [Value::Null, "".into(), "null".into()]);
    assert_eq!(server.connections(), 1);
    for request in server.requests() {
        assert!(!request.body.contains(":null"), "{}", request.body);
    }
}

#[tokio::test]
async fn pages_come_one_by_one() {
    let pages = [page("a", Some("1")), page("b", None)];
    let server = Server::start(pages.map(|page| Reply::json(&page))).await;
    let mut pages = server.client().list_prompts().cursor("0").pages();
    assert!(server.requests().is_empty());
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "a");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "b");
    assert!(pages.next().await.is_none() && pages.next().await.is_none());
    assert_eq!(cursors(&server), ["0", "1"]);
}

#[tokio::test]
async fn circles_end() {
    let circles: [&[&str]; 3] = [&["1", "1"], &["1", "2", "1"], &["", ""]];
    for circle in circles {
        let pages = circle.iter().map(|next| Reply::json(&page("p", Some(next))));
        let server = Server::start(pages).await;
        let error = names(&server.client()).await.unwrap_err();
        assert!(error.is_protocol(), "{error:?}");
        assert_eq!(server.requests().len(), circle.len());
    }
}

#[tokio::test]
async fn a_list_without_end_ends() {
    let pages = (0..).map(|nth: usize| {
        let page = page("p", Some(&nth.to_string()));
        ("application/json", vec![crate::support::Piece::Data(page)])
    });
    let memory = Memory::new(pages.take(Limits::PAGES + 1));
    let error = names(&memory.client()).await.unwrap_err();
    assert!(error.is_protocol() && error.to_string().contains("1000 pages"), "{error}");
}

#[tokio::test]
async fn a_list_is_bounded_as_a_whole() {
    let pages = || [page("aaaa", Some("1")), page("bbbb", Some("2")), page("cccc", None)];
    // The ceiling is for results, what stands around them not counted.
    let one = page("aaaa", Some("1")).len();
    for (body, fits) in [(4 * one, true), (one + 10, false)] {
        let server = Server::start(pages().map(|page| Reply::json(&page))).await;
        let mut limits = Limits::default();
        limits.body = body;
        let names = names(&server.builder().limits(limits).build().unwrap()).await;
        assert_eq!(names.is_ok(), fits, "{names:?}");
        if let Err(error) = names {
            assert!(error.is_too_large(), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_page_that_was_lost_is_read_again() {
    let server = Server::start([
        Reply::json(&page("a", Some("1"))),
        Reply::raw("").close(),
        Reply::json(&page("b", None)),
    ])
    .await;
    let mut pages = server.client().list_prompts().pages();
    pages.next().await.unwrap().unwrap();
    assert!(pages.next().await.unwrap().unwrap_err().is_transport());
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "b");
    assert_eq!(cursors(&server), [Value::Null, "1".into(), "1".into()]);

    let server = Server::start([
        Reply::json(&page("a", Some("1"))),
        Reply::sse(&[]),
        Reply::json(&page("b", None)),
    ])
    .await;
    let mut pages = server.client().list_prompts().pages();
    pages.next().await.unwrap().unwrap();
    assert!(pages.next().await.unwrap().is_err());
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "b");

    // What the server refuses it would refuse again.
    let server = Server::start([Reply::json(&error(-32602, "null"))]).await;
    let mut pages = server.client().list_prompts().pages();
    assert!(pages.next().await.unwrap().unwrap_err().rpc().is_some());
    assert!(pages.next().await.is_none());
}

#[tokio::test]
async fn a_cursor_that_lapsed_starts_the_list_over_once() {
    let lapsed = || Reply::json(&error(-32602, "null"));
    let first = || Reply::json(&page("a", Some("1")));
    let server = Server::start([first(), lapsed(), first(), Reply::json(&page("b", None))]).await;
    assert_eq!(names(&server.client()).await.unwrap(), ["a", "b"]);
    assert_eq!(cursors(&server), [Value::Null, "1".into(), Value::Null, "1".into()]);

    let server = Server::start([first(), lapsed(), first(), lapsed()]).await;
    assert_eq!(names(&server.client()).await.unwrap_err().rpc().unwrap().code.0, -32602);
    // The first page has no cursor that could have lapsed.
    let server = Server::start([lapsed(), first()]).await;
    names(&server.client()).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn mistakes_are_told_before_anything_is_sent() {
    let server = Server::start([]).await;
    let list = || server.client().list_prompts().header("mcp-name", "x");
    assert!(list().all().await.unwrap_err().is_usage());
    let mut pages = list().pages();
    assert!(pages.next().await.unwrap().unwrap_err().is_usage());
    assert!(pages.next().await.is_none());
}

#[tokio::test]
async fn pages_are_a_stream() {
    let pages = [page("a", Some("1")), page("b", Some("2")), page("c", None)];
    let server = Server::start(pages.map(|page| Reply::json(&page))).await;
    let mut pages = server.client().list_prompts().pages();
    // One that is begun goes on, whoever asks next.
    poll_fn(|cx| {
        assert!(pin!(&mut pages).poll_next(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "a");
    assert_eq!(item(&mut pages).await.unwrap().unwrap().prompts[0].name, "b");
    assert_eq!(pages.next().await.unwrap().unwrap().prompts[0].name, "c");
    assert!(item(&mut pages).await.is_none() && item(&mut pages).await.is_none());
    assert_eq!(cursors(&server), [Value::Null, "1".into(), "2".into()]);
}
