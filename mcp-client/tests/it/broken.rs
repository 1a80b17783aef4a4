//! Lists with entries that cannot be read.

use mcp_client::{Client, Limits};

use crate::support::{Log, Reply, Server, hear, result};

/// What can be wrong with an entry of each list, with a good one at either end.
const BROKEN: [(&str, &str); 4] = [
    (
        "tools",
        r#"{"name":"a","inputSchema":{}}, {"inputSchema":{}}, {"name":7,"inputSchema":{}}, {"name":"no schema"},
           {"name":"header","inputSchema":{"type":"object","properties":{"p":{"type":"number","x-mcp-header":"P"}}}},
           {"name":"icons","inputSchema":{},"icons":5}, null, "x", [], {"name":"b","inputSchema":{}}"#,
    ),
    ("prompts", r#"{"name":"a"}, {}, {"name":null}, {"name":"c","arguments":{}}, 1, {"name":"b"}"#),
    (
        "resources",
        r#"{"name":"a","uri":"u:a"}, {"name":"no uri"}, {"uri":"no:name"}, {"name":"n","uri":{}}, true,
           {"name":"b","uri":"u:b"}"#,
    ),
    (
        "resourceTemplates",
        r#"{"name":"a","uriTemplate":"u:{a}"}, {"name":"n"}, {"name":"n","uriTemplate":1}, [[]],
           {"name":"b","uriTemplate":"u:{b}"}"#,
    ),
];

async fn names(client: &Client, list: &str) -> Vec<String> {
    let client = client.clone();
    match list {
        "tools" => {
            let tools = client.list_tools().all().await.unwrap();
            tools.into_iter().map(|tool| tool.name).collect()
        }
        "prompts" => {
            let prompts = client.list_prompts().all().await.unwrap();
            prompts.into_iter().map(|prompt| prompt.name).collect()
        }
        "resources" => {
            let resources = client.list_resources().all().await.unwrap();
            resources.into_iter().map(|resource| resource.name).collect()
        }
        _ => {
            let templates = client.list_resource_templates().all().await.unwrap();
            templates.into_iter().map(|template| template.name).collect()
        }
    }
}

#[tokio::test]
async fn a_broken_entry_costs_itself_alone() {
    for (list, entries) in BROKEN {
        // The first page ends with a cursor, and may be cached.
        let first = format!(r#"{{"{list}":[{entries}],"nextCursor":"2","ttlMs":60000}}"#);
        let last = format!(r#"{{"{list}":[],"ttlMs":60000}}"#);
        let pages = [first, last].map(|page| Reply::json(&result(&page)));
        let server = Server::start(pages).await;
        let client = server.client();
        let log = Log::default();
        let guard = hear(log.clone());
        assert_eq!(names(&client, list).await, ["a", "b"], "{list}");
        drop(guard);
        // Every one has its warning, once.
        let entries: Vec<serde_json::Value> =
            serde_json::from_str(&format!("[{entries}]")).unwrap();
        let warnings = log.warnings();
        assert_eq!(warnings.len(), entries.len() - 2, "{list}: {warnings:?}");
        assert_eq!(names(&client, list).await, ["a", "b"], "{list}");
        assert_eq!(server.requests().len(), 2, "{list}");
    }
}

#[tokio::test]
async fn a_page_without_a_good_entry_is_empty() {
    for (list, _) in BROKEN {
        let page = Reply::json(&result(&format!(r#"{{"{list}":[{{}},null]}}"#)));
        let server = Server::start([page]).await;
        assert!(names(&server.client(), list).await.is_empty(), "{list}");
    }
}

// What is no list at all is no list with broken entries.
#[tokio::test]
async fn a_broken_list_is_an_error() {
    for list in
        [r#"{"prompts":{}}"#, r#"{"prompts":null}"#, "{}", r#"{"prompts":[1],"nextCursor":1}"#]
    {
        let server = Server::start([Reply::json(&result(list))]).await;
        let error = server.client().list_prompts().await.unwrap_err();
        assert!(error.is_protocol(), "{list}: {error:?}");
    }
}

// However many there are: what a server can let grow is bounded.
#[tokio::test]
async fn warnings_of_broken_entries_are_bounded() {
    let header = r#"{"name":"h","inputSchema":{"type":"object","properties":{"p":{"type":"number","x-mcp-header":"P"}}}}"#;
    for (list, broken) in [("tools", "0"), ("tools", header), ("prompts", "{}")] {
        let page = format!(r#"{{"{list}":[{}{broken}]}}"#, format!("{broken},").repeat(5000));
        let server = Server::start([Reply::json(&result(&page))]).await;
        let log = Log::default();
        let guard = hear(log.clone());
        assert!(names(&server.client(), list).await.is_empty());
        drop(guard);
        assert_eq!(log.warnings().len(), Limits::LIST_WARNINGS);
    }
}
