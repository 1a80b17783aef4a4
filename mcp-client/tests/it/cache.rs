//! Answers that are fresh are not asked for.

use std::time::Duration;

use mcp_client::types::{
    ListPromptsResult, PaginatedParams, ReadResourceParams, SubscriptionFilter, request,
};
use mcp_client::{Backoff, Cache, Change, Client, ClientBuilder, Error};

use crate::support::{Memory, Piece, Reply, Server, error, result};

const SECOND: Duration = Duration::from_secs(1);
const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#;

/// A page of prompts with one of this name.
fn page(name: &str, more: &str) -> String {
    result(&format!(r#"{{"resultType":"complete","prompts":[{{"name":"{name}"}}]{more}}}"#))
}

fn name(page: &ListPromptsResult) -> &str {
    &page.prompts[0].name
}

fn json(text: String) -> (&'static str, Vec<Piece>) {
    ("application/json", vec![Piece::Data(text)])
}

/// A client of a server that gives a page with `more` first, and then ever another one.
fn client(more: &str) -> Client {
    let later = (1..).map(|nth: usize| json(page(&nth.to_string(), r#","ttlMs":1000"#)));
    Memory::new([json(page("0", more))].into_iter().chain(later.take(20))).client()
}

async fn listed(client: &Client) -> String {
    name(&client.list_prompts().await.unwrap()).to_owned()
}

// K6; Specification: Caching, Freshness Calculation.
#[tokio::test(start_paused = true)]
async fn a_result_is_fresh_for_its_time() {
    let table = [
        (r#","ttlMs":2000,"cacheScope":"public""#, 2),
        (r#","ttlMs":2000,"cacheScope":"private""#, 2),
        (r#","ttlMs":2000"#, 2),
        (r#","ttlMs":2e3"#, 2),
        (r#","ttlMs":18446744073709551615"#, u64::MAX),
        (r#","ttlMs":0"#, 0),
        ("", 0),
        (r#","ttlMs":-5"#, 0),
        (r#","ttlMs":1.5"#, 0),
        (r#","ttlMs":1e30"#, 0),
        (r#","ttlMs":"60""#, 0),
        (r#","ttlMs":null"#, 0),
    ];
    for (more, seconds) in table {
        let client = client(more);
        assert_eq!(listed(&client).await, "0");
        let fresh = if seconds > 0 { "0" } else { "1" };
        assert_eq!(listed(&client).await, fresh, "{more}");
        if seconds == 2 {
            tokio::time::sleep(2 * SECOND - Duration::from_millis(1)).await;
            assert_eq!(listed(&client).await, "0", "{more}");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(listed(&client).await, "1", "{more}");
        }
        if seconds == u64::MAX {
            tokio::time::sleep(1_000_000 * SECOND).await;
            assert_eq!(listed(&client).await, "0");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_begins_with_the_receipt() {
    let slow = vec![Piece::Wait(10 * SECOND), Piece::Data(page("0", r#","ttlMs":2000"#))];
    let client = Memory::new([("application/json", slow), json(page("1", ""))]).client();
    assert_eq!(listed(&client).await, "0");
    assert_eq!(listed(&client).await, "0");
}

const HOUR: &str = r#","ttlMs":3600000"#;

#[tokio::test]
async fn a_call_can_do_without() {
    let client = client(HOUR);
    let names = [
        name(&client.list_prompts().bypass_cache().await.unwrap()).to_owned(),
        // Nothing was kept.
        listed(&client).await,
        name(&client.list_prompts().refresh_cache().await.unwrap()).to_owned(),
        listed(&client).await,
        name(&client.list_prompts().bypass_cache().await.unwrap()).to_owned(),
        listed(&client).await,
    ];
    assert_eq!(names, ["0", "1", "2", "2", "3", "2"]);

    let pages = || (0..3).map(|nth: usize| json(page(&nth.to_string(), HOUR)));
    let client = Memory::new(pages()).builder().no_cache().build().unwrap();
    assert_eq!([listed(&client).await, listed(&client).await], ["0", "1"]);
    let cache = Cache::new();
    let client = Memory::new(pages()).builder().cache(cache.clone()).build().unwrap();
    assert_eq!([listed(&client).await, listed(&client).await], ["0", "0"]);
    cache.clear();
    assert_eq!(listed(&client).await, "1");
}

// K5: what differs in method or parameters is another answer.
// What is new and not to be kept leaves nothing that is older.
#[tokio::test]
async fn what_is_refreshed_is_not_served_any_more() {
    for scope in ["", r#","cacheScope":"public""#] {
        let keep = |name| json(page(name, &format!(r#","ttlMs":9000{scope}"#)));
        let memory = Memory::new([keep("0"), json(page("1", "")), keep("2")]);
        let client = memory.client();
        assert_eq!([listed(&client).await, listed(&client).await], ["0", "0"]);
        let list = client.list_prompts().refresh_cache().await.unwrap();
        assert_eq!(name(&list), "1");
        assert_eq!([listed(&client).await, listed(&client).await], ["2", "2"]);
    }
}

#[tokio::test]
async fn the_key_is_method_and_parameters() {
    let contents = |text| {
        Reply::json(&result(&format!(
            r#"{{"contents":[{{"uri":"a:b","text":"{text}"}}],"ttlMs":3600000}}"#
        )))
    };
    let list = |kind: &str| Reply::json(&result(&format!(r#"{{"{kind}":[],"ttlMs":3600000}}"#)));
    let discovered =
        result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":3600000}"#);
    let server = Server::start([
        list("tools"),
        list("resources"),
        list("resourceTemplates"),
        list("prompts"),
        list("prompts"),
        list("prompts"),
        contents("b"),
        contents("c"),
        Reply::json(&discovered),
    ])
    .await;
    let client = server.client();
    for _ in 0..3 {
        client.list_tools().await.unwrap();
        client.list_resources().await.unwrap();
        client.list_resource_templates().await.unwrap();
        client.list_prompts().await.unwrap();
        client.list_prompts().cursor("").await.unwrap();
        client.list_prompts().cursor("2").await.unwrap();
        client.read_resource("a:b").await.unwrap();
        client.read_resource("a:c").await.unwrap();
        client.discover().await.unwrap();
    }
    assert_eq!(server.requests().len(), 9);
    // What is manual is the same method.
    client.call::<request::ListPrompts>(PaginatedParams::default()).await.unwrap();
    assert!(client.list_prompts().raw().await.unwrap().ends_with(b"3600000}"));
    assert_eq!(server.requests().len(), 9);
}

#[tokio::test]
async fn what_must_not_be_cached_is_not() {
    let contents = result(r#"{"contents":[],"ttlMs":3600000}"#);
    let asking = result(r#"{"resultType":"input_required","requestState":"s","ttlMs":3600000}"#);
    let tool = result(r#"{"content":[],"ttlMs":3600000}"#);
    // K3: it took a state, so it says nothing of the same request without.
    let server = Server::start(
        [&asking, &contents, &asking, &contents, &contents, &contents, &tool, &tool]
            .map(|reply| Reply::json(reply)),
    )
    .await;
    let client = server.client();
    client.read_resource("a:b").await.unwrap();
    client.read_resource("a:b").await.unwrap();
    assert_eq!(server.requests().len(), 4);
    let params =
        ReadResourceParams { request_state: Some("s".into()), ..ReadResourceParams::new("a:b") };
    client.call::<request::ReadResource>(params.clone()).await.unwrap();
    client.call::<request::ReadResource>(params).await.unwrap();
    assert_eq!(server.requests().len(), 6);
    client.call_tool("t", ()).await.unwrap();
    client.call_tool("t", ()).await.unwrap();
    assert_eq!(server.requests().len(), 8);

    // Errors, results of the wrong kind, and what was asked for with a `_meta` of the caller's.
    let broken = result(r#"{"resultType":"complete","prompts":5,"ttlMs":3600000}"#);
    let odd = result(r#"{"resultType":7,"prompts":[],"ttlMs":3600000}"#);
    let failed = error(-32603, r#"{"ttlMs":3600000}"#);
    let pages = [page("0", HOUR), page("1", HOUR), page("2", HOUR)];
    let replies = [broken, odd, failed].into_iter().chain(pages);
    let server = Server::start(replies.map(|reply| Reply::json(&reply))).await;
    let client = server.client();
    for _ in 0..3 {
        client.list_prompts().await.unwrap_err();
    }
    let mut params = PaginatedParams::default();
    params.meta.other.insert("com.example/lang", serde_json::json!("de").into());
    for _ in 0..2 {
        client.call::<request::ListPrompts>(params.clone()).await.unwrap();
    }
    assert_eq!(listed(&client).await, "2");
}

// K1, K5
#[tokio::test]
async fn private_answers_stay_in_their_context() {
    for (scope, expected) in [
        ("", ["0", "1", "2", "0", "1"]),
        (r#","cacheScope":"private""#, ["0", "1", "2", "0", "1"]),
        (r#","cacheScope":"public""#, ["0", "0", "0", "0", "0"]),
    ] {
        let more = format!("{HOUR}{scope}");
        let pages = (0..5).map(|nth: usize| Reply::json(&page(&nth.to_string(), &more)));
        let server = Server::start(pages).await;
        let cache = Cache::new();
        let with = |token: &str| {
            let builder = server.builder().cache(cache.clone());
            builder.header("authorization", token).unwrap().build().unwrap()
        };
        let (ann, bob) = (with("ann"), with("bob"));
        let own = ann.list_prompts().header("authorization", "cleo");
        let names = [
            listed(&ann).await,
            listed(&bob).await,
            name(&own.await.unwrap()).to_owned(),
            listed(&ann).await,
            listed(&with("bob")).await,
        ];
        assert_eq!(names, expected, "{scope}");
    }
}

// What lies below a client may add credentials that the client does not see.
#[tokio::test]
async fn clients_with_a_service_share_no_private_answers() {
    let served = |scope: &str| {
        let more = format!("{HOUR}{scope}");
        let pages = (0..2).map(|nth: usize| json(page(&nth.to_string(), &more)));
        Memory::new(pages.collect::<Vec<_>>())
    };
    let cache = Cache::new();
    let at = |url: &str, memory: &Memory| {
        Client::builder(url).cache(cache.clone()).service(memory.clone())
    };
    let memory = served("");
    let (ann, bob) = (
        at("http://a/mcp", &memory).build().unwrap(),
        at("http://a/mcp", &memory).build().unwrap(),
    );
    assert_eq!([listed(&ann).await, listed(&bob).await, listed(&ann).await], ["0", "1", "0"]);

    let memory = served(r#","cacheScope":"public""#);
    let (ann, bob) = (
        at("http://b/mcp", &memory).build().unwrap(),
        at("http://b/mcp", &memory).build().unwrap(),
    );
    assert_eq!([listed(&ann).await, listed(&bob).await], ["0", "0"]);

    // The same person, says the application.
    let memory = served("");
    let ann = || at("http://c/mcp", &memory).cache_context("ann").build().unwrap();
    assert_eq!([listed(&ann()).await, listed(&ann()).await], ["0", "0"]);
}

#[tokio::test]
async fn servers_in_the_same_process_are_different_ones() {
    let cache = Cache::new();
    for nth in ["0", "1"] {
        let more = format!(r#"{HOUR},"cacheScope":"public""#);
        let memory = Memory::new(vec![json(page(nth, &more))]);
        let client = ClientBuilder::in_process(memory).cache(cache.clone()).build().unwrap();
        assert_eq!(listed(&client).await, nth);
    }
}

#[tokio::test]
async fn a_context_can_outlive_a_token() {
    let pages = (0..3).map(|nth: usize| Reply::json(&page(&nth.to_string(), HOUR)));
    let server = Server::start(pages).await;
    let cache = Cache::new();
    let client = |user: &str, token: &str| {
        let builder = server.builder().cache(cache.clone()).cache_context(user);
        builder.header("authorization", token).unwrap().build().unwrap()
    };
    assert_eq!(listed(&client("ann", "1")).await, "0");
    assert_eq!(listed(&client("ann", "2")).await, "0");
    assert_eq!(listed(&client("bob", "1")).await, "1");
    // Another server has other answers.
    let other = Server::start([Reply::json(&page("other", HOUR))]).await;
    let client = other.builder().cache(cache.clone()).cache_context("ann").build().unwrap();
    assert_eq!(listed(&client).await, "other");
}

// A server that calls private what was public takes it back.
#[tokio::test]
async fn the_last_scope_counts() {
    let public = format!(r#"{HOUR},"cacheScope":"public""#);
    let pages = [page("0", &public), page("1", HOUR), page("2", HOUR)];
    let server = Server::start(pages.map(|page| Reply::json(&page))).await;
    let cache = Cache::new();
    let ann = server.builder().cache(cache.clone()).cache_context("ann").build().unwrap();
    let bob = server.builder().cache(cache.clone()).cache_context("bob").build().unwrap();
    assert_eq!(listed(&ann).await, "0");
    ann.list_prompts().refresh_cache().await.unwrap();
    assert_eq!([listed(&bob).await, listed(&ann).await], ["2", "1"]);
}

async fn all(client: &Client) -> Result<String, Error> {
    let prompts = client.list_prompts().all().await?;
    Ok(prompts.into_iter().map(|prompt| prompt.name).collect())
}

// K3: a whole list is as fresh as the page that is not.
#[tokio::test(start_paused = true)]
async fn the_shortest_page_counts_for_all() {
    let pages = |round: char| {
        [
            json(page(&format!("a{round}"), r#","ttlMs":9000,"nextCursor":"1""#)),
            json(page(&format!("b{round}"), r#","ttlMs":2000,"nextCursor":"2""#)),
            json(page(&format!("c{round}"), r#","ttlMs":9000"#)),
        ]
    };
    let client = Memory::new([pages('1'), pages('2'), pages('3')].into_iter().flatten()).client();
    assert_eq!(all(&client).await.unwrap(), "a1b1c1");
    tokio::time::sleep(SECOND).await;
    assert_eq!(all(&client).await.unwrap(), "a1b1c1");
    assert_eq!(listed(&client).await, "a1");
    tokio::time::sleep(SECOND).await;
    // Each page by itself is still what it was.
    assert_eq!(listed(&client).await, "a1");
    assert_eq!(all(&client).await.unwrap(), "a2b2c2");
    assert_eq!(listed(&client).await, "a2");
}

#[tokio::test]
async fn a_lapsed_cursor_drops_the_pages() {
    let first = |name| Reply::json(&page(name, r#","ttlMs":3600000,"nextCursor":"1""#));
    let lapsed = Reply::json(&error(-32602, "null"));
    let server = Server::start([first("0"), lapsed, first("1")]).await;
    let client = server.client();
    let mut pages = client.list_prompts().pages();
    assert_eq!(name(&pages.next().await.unwrap().unwrap()), "0");
    assert_eq!(listed(&client).await, "0");
    pages.next().await.unwrap().unwrap_err();
    assert_eq!(listed(&client).await, "1");
}

fn changed(what: &str, more: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{what}","params":{{{more}}}}}"#)
}

#[tokio::test]
async fn a_change_drops_what_it_concerns() {
    let table = [
        ("tools/list_changed", "", "t"),
        ("prompts/list_changed", "", "p"),
        ("resources/list_changed", "", "rR"),
        ("resources/updated", r#""uri":"a:x""#, "x"),
        // A part of what was read, and what it is a part of.
        ("resources/updated", r#""uri":"a:x/part""#, "x"),
        ("resources/updated", r#""uri":"a:""#, "xy"),
        ("resources/updated", r#""uri":"b:x""#, ""),
        ("message", r#""level":"info","data":1"#, ""),
    ];
    for (what, more, dropped) in table {
        let list = |kind: &str| Reply::json(&result(&format!(r#"{{"{kind}":[]{HOUR}}}"#)));
        let kinds = [
            ('t', "tools"),
            ('p', "prompts"),
            ('r', "resources"),
            ('R', "resourceTemplates"),
            ('x', "contents"),
            ('y', "contents"),
        ];
        let listen = Reply::sse(&[ACK, &changed(what, more), &result("{}")]);
        let again = kinds.iter().filter(|(short, _)| dropped.contains(*short));
        let replies = kinds.iter().map(|(_, kind)| list(kind)).chain([listen]);
        let server = Server::start(replies.chain(again.map(|(_, kind)| list(kind)))).await;
        let client = server.client();
        let use_all = async || {
            client.list_tools().await.unwrap();
            client.list_prompts().await.unwrap();
            client.list_resources().await.unwrap();
            client.list_resource_templates().await.unwrap();
            client.read_resource("a:x").await.unwrap();
            client.read_resource("a:y").await.unwrap();
        };
        use_all().await;
        let mut changes = client.listen(SubscriptionFilter::new()).await.unwrap();
        while changes.next().await.is_some() {}
        use_all().await;
        assert_eq!(server.requests().len(), 7 + dropped.len(), "{what} {more}");
    }
}

// A notification that overtakes an answer makes it stale before it is there.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_overtaken_is_not_kept() {
    let slow = vec![Piece::Wait(2 * SECOND), Piece::Data(page("old", HOUR))];
    let news = [Piece::Wait(SECOND), Piece::event(&changed("prompts/list_changed", ""))];
    let stream = [Piece::event(ACK)].into_iter().chain(news).chain([Piece::Hang]).collect();
    let memory = Memory::new([
        ("text/event-stream", stream),
        ("application/json", slow),
        json(page("new", HOUR)),
    ]);
    let client = memory.client();
    let mut changes = client.listen(SubscriptionFilter::new().prompts()).await.unwrap();
    let (old, change) = tokio::join!(listed(&client), changes.next());
    assert_eq!((old.as_str(), change), ("old", Some(Change::Prompts)));
    assert_eq!([listed(&client).await, listed(&client).await], ["new", "new"]);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_drops_everything() {
    let stream = |piece| ("text/event-stream", vec![Piece::event(ACK), piece]);
    let memory = Memory::new([
        stream(Piece::Fail),
        json(page("0", HOUR)),
        stream(Piece::Hang),
        json(page("1", HOUR)),
    ]);
    let client = memory.client();
    let listen = client.listen(SubscriptionFilter::new().prompts()).relisten(Backoff::new());
    let mut changes = listen.await.unwrap();
    assert_eq!([listed(&client).await, listed(&client).await], ["0", "0"]);
    assert_eq!(changes.next().await, Some(Change::Stale));
    assert_eq!(listed(&client).await, "1");
}

fn failing(status: &str) -> Reply {
    Reply::head(status, "", "")
}

// What may pass lets an old answer stand in, what the server says does not.
#[tokio::test]
async fn a_stale_answer_stands_in_for_an_outage() {
    let brief = r#","ttlMs":1"#;
    let table = [
        ("closed", Reply::raw("").close(), true),
        ("cut off", Reply::sse(&[]), true),
        ("500", failing("500 Oops"), true),
        ("503", failing("503 Busy"), true),
        ("429", failing("429 Too Many Requests"), true),
        ("silent", Reply::raw("").hang(), true),
        ("400", failing("400 Bad Request"), false),
        ("401", failing("401 Unauthorized"), false),
        ("404", failing("404 Not Found"), false),
        ("error", Reply::json(&error(-32603, "null")), false),
        ("garbage", Reply::json("{"), false),
    ];
    for (kind, reply, stands_in) in table {
        let replies = [Reply::json(&page("0", brief)), reply.clone(), reply.clone(), reply];
        let server = Server::start(replies).await;
        let builder = server.builder().stale_on_error(60 * SECOND);
        let client = builder.timeout(SECOND / 5).build().unwrap();
        assert_eq!(listed(&client).await, "0");
        tokio::time::sleep(Duration::from_millis(5)).await;
        let list = client.list_prompts().await;
        assert_eq!(list.as_ref().is_ok_and(|list| name(list) == "0"), stands_in, "{kind}");
        assert_eq!(all(&client).await.is_ok(), stands_in, "{kind}");
        // A call that wants what is new gets that or an error.
        assert!(client.list_prompts().refresh_cache().await.is_err(), "{kind}");
        assert_eq!(server.requests().len(), 4, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_has_its_age() {
    let pages = || {
        let broken = || ("application/json", vec![Piece::Fail]);
        let replies = [json(page("0", r#","ttlMs":2000"#)), broken(), broken(), broken()];
        Memory::new(replies).builder()
    };
    let client = pages().stale_on_error(10 * SECOND).build().unwrap();
    assert_eq!(listed(&client).await, "0");
    tokio::time::sleep(12 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(listed(&client).await, "0");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(client.list_prompts().await.unwrap_err().is_transport());

    // Off unless it is wanted.
    let client = pages().build().unwrap();
    assert_eq!(listed(&client).await, "0");
    tokio::time::sleep(3 * SECOND).await;
    assert!(client.list_prompts().await.unwrap_err().is_transport());
    // What was dropped is gone.
    let cache = Cache::new();
    let builder = pages().cache(cache.clone()).stale_on_error(10 * SECOND);
    let client = builder.build().unwrap();
    assert_eq!(listed(&client).await, "0");
    cache.clear();
    assert!(client.list_prompts().await.unwrap_err().is_transport());
}

// Pages of different age do not make a list.
#[tokio::test]
async fn a_list_stands_in_as_a_whole() {
    let first = || Reply::json(&page("a", r#","nextCursor":"2","ttlMs":1"#));
    let last = || Reply::json(&page("b", r#","ttlMs":1"#));
    let broken = || failing("503 Busy");
    let server = Server::start([first(), last(), broken(), first(), broken()]).await;
    let client = server.builder().stale_on_error(60 * SECOND).build().unwrap();
    assert_eq!(all(&client).await.unwrap(), "ab");
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(all(&client).await.unwrap(), "ab");
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(all(&client).await.is_err());
    assert_eq!(server.requests().len(), 5);
}

// Specification: Caching, Interaction with Pagination.
#[tokio::test(start_paused = true)]
async fn a_refused_cursor_drops_all_pages() {
    let first = json(page("0", r#","ttlMs":60000,"nextCursor":"1""#));
    let refused = json(error(-32602, "null"));
    let client = Memory::new([first, refused, json(page("1", ""))]).client();
    assert_eq!(listed(&client).await, "0");
    assert_eq!(listed(&client).await, "0");
    client.list_prompts().cursor("1").await.unwrap_err();
    assert_eq!(listed(&client).await, "1");
}
