//! How an application tests its own tools: client and server in one process, without a socket. All checks are
//! made as over HTTP.

use mcp_server::types::CallToolResult;
use mcp_server::{Args, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Withdraw {
    amount: u32,
}

async fn withdraw(Args(Withdraw { amount }): Args<Withdraw>) -> CallToolResult {
    if amount > 100 {
        return CallToolResult::error("At most 100 at a time");
    }
    CallToolResult::text(format!("Here are {amount}"))
}

fn bank() -> Server {
    let bank = Server::builder("bank", "1.0.0").tool(Tool::new("withdraw", withdraw));
    bank.build().expect("one tool with a good name")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = mcp_client::Client::in_process(bank().service());
    for amount in [50, 500] {
        let result = client.call_tool("withdraw", Withdraw { amount }).await?;
        println!("{amount}: failed {}, {:?}", result.is_error(), result.content);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_more_than_100_at_a_time() {
        let client = mcp_client::Client::in_process(bank().service());
        for (amount, refused) in [(100, false), (101, true)] {
            let result = client.call_tool("withdraw", Withdraw { amount }).await.unwrap();
            assert_eq!(result.is_error(), refused);
        }
    }
}
