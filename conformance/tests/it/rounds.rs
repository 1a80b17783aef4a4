//! Our client on our server, where both have most to do with each other: rounds that ask, rounds that do not, and
//! states that are good for one use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_client::types::{ElicitFormParams, ElicitResult, JsonMap, RawJson};
use mcp_client::{BoxError, ClientBuilder};
use mcp_server::ask::LocalSpentStates;
use mcp_server::{Ask, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn greet(ask: Ask) -> String {
    let kept = ask.remember("kept", async { 7 }).await;
    ask.come_back("elsewhere").await;
    let name = ask.form::<Name>("name", "Who?").await.accepted();
    name.map_or_else(|| "nobody".to_owned(), |Name { name }| format!("{name} {kept}"))
}

#[tokio::test]
async fn a_client_goes_through_rounds_that_count_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answer = move |form: ElicitFormParams| {
        let asked = count.fetch_add(1, Ordering::SeqCst);
        async move {
            let mut content = JsonMap::new();
            content.insert("name", RawJson::new(&format!("Ada {asked}"))?);
            Ok::<ElicitResult, BoxError>(form.accept(&content)?)
        }
    };
    let server = Server::builder("greeter", "1.0.0")
        .tool(Tool::new("greet", greet).asks::<Name>())
        .single_use_states(Arc::new(LocalSpentStates::new()))
        .build()
        .unwrap();
    let client = ClientBuilder::in_process(server.service()).on_elicit(answer).build().unwrap();
    // Every call is a dialogue of its own, with states of its own.
    for expected in ["Ada 0 7", "Ada 1 7"] {
        let result = client.call_tool("greet", ()).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some(expected));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "a round without a question asks nobody");
}
