//! This SDK's client, as its users write it.

use mcp_client::Client;
use serde::Serialize;

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

pub(crate) fn client(url: &str) -> Client {
    Client::http(url).unwrap()
}

pub(crate) async fn calls(client: Client, text: String, calls: usize) {
    for _ in 0..calls {
        let result = client.call_tool("echo", Text { text: &text }).await.unwrap();
        let echoed = result.content.first().and_then(|content| content.as_text());
        assert_eq!(echoed.map(str::len), Some(text.len()));
    }
}
