//! The smallest client: calls the tool of `hello_server`, which has to be running.

use mcp_client::Client;
use serde::Serialize;

#[derive(Serialize)]
struct Hello<'a> {
    name: &'a str,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "World".to_owned());
    let client = Client::http("http://127.0.0.1:8080/mcp")?;
    let result = client.call_tool("hello", Hello { name: &name }).await?;
    for block in &result.content {
        println!("{}", block.as_text().unwrap_or("(no text)"));
    }
    Ok(())
}
