//! A server and a client talking over a real socket: discover, list, call, progress over SSE, an error, a
//! cancellation.
//!
//! ```sh
//! cargo run -p examples --bin quickstart
//! ```

use std::error::Error;
use std::time::Duration;

use mcp_client::Client;
use mcp_server::{Args, HandlerError, Progress, Server, Structured, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::sleep;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Divide {
    dividend: f64,
    divisor: f64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Quotient {
    quotient: f64,
}

async fn divide(Args(args): Args<Divide>) -> Result<Structured<Quotient>, HandlerError> {
    if args.divisor == 0.0 {
        return Err(HandlerError::new("Division by zero; choose another divisor"));
    }
    Ok(Structured(Quotient { quotient: args.dividend / args.divisor }))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Bake {
    minutes: u32,
}

async fn bake(progress: Progress, Args(Bake { minutes }): Args<Bake>) -> String {
    let mut oven = Oven { bread: None };
    for minute in 1..=minutes {
        sleep(Duration::from_millis(60)).await;
        progress.report_with(minute, Some(minutes.into()), "baking");
    }
    oven.bread.insert("A loaf of bread".to_owned()).clone()
}

/// A handler whose client has gone is dropped where it waits, and what it holds cleans up.
struct Oven {
    bread: Option<String>,
}

impl Drop for Oven {
    fn drop(&mut self) {
        if self.bread.is_none() {
            show("server", "the call was cancelled, the oven is off");
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let server = Server::builder("kitchen", "1.0.0")
        .tool(Tool::new("divide", divide).description("Divides one number by another"))
        .tool(Tool::new("bake", bake).description("Bakes bread and reports how it goes"))
        .build()?;
    tokio::spawn(server.serve_with(listener).into_future());

    let client = Client::http(&url)?;
    println!("A server and a client on {url}\n");

    let found = client.discover().await?;
    let server = found.meta.server_info.as_ref().map_or("?", |info| &info.name);
    show("discover", format!("{server} speaks {}", found.supported_versions[0]));

    for tool in client.list_tools().await?.tools {
        show("list", format!("{}: {}", tool.name, tool.description.unwrap_or_default()));
    }

    let result = client.call_tool("divide", Divide { dividend: 355.0, divisor: 113.0 }).await?;
    let json = result.structured_content.ok_or("no structured content")?;
    show("call", format!("divide 355 by 113: {:?}", json.decode::<Quotient>()?));

    let result = client.call_tool("divide", Divide { dividend: 1.0, divisor: 0.0 }).await?;
    let says = result.content[0].as_text().unwrap_or_default();
    show("tool error", format!("divide 1 by 0: {says}"));

    let bread = client
        .call_tool("bake", Bake { minutes: 5 })
        .on_progress(|p| {
            show("progress", format!("{} {}", p.message.unwrap_or_default(), p.progress))
        })
        .await?;
    show("call", format!("bake: {}", bread.content[0].as_text().unwrap_or_default()));

    let error = client.call_tool("brew", ()).await.expect_err("there is no such tool");
    show("rpc error", format!("brew: {error}"));

    // The future of a call is dropped with its time-out, and that closes its stream.
    let patience = Duration::from_millis(150);
    let error = client.call_tool("bake", Bake { minutes: 60 }).timeout(patience).await;
    show("time-out", format!("bake for an hour: {}", error.expect_err("patience is short")));
    sleep(Duration::from_millis(100)).await;
    Ok(())
}

fn show(what: &str, text: impl AsRef<str>) {
    println!("{what:>10}  {}", text.as_ref());
}
