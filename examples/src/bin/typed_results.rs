//! A tool's structured result as a Rust type, and a list read page by page.

use mcp_client::Client;
use mcp_server::{Args, Server, Structured, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Weather {
    city: String,
    degrees: f64,
}

async fn weather(Args(Place { city }): Args<Place>) -> Structured<Weather> {
    let degrees = 20.5;
    Structured(Weather { city, degrees })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("weather", "1.0.0").tool(Tool::new("weather", weather)).build()?;
    let client = Client::in_process(server.service());

    for tool in client.list_tools().all().await? {
        println!("{} gives {:?}", tool.name, tool.output_schema);
    }
    let oslo = Place { city: "Oslo".to_owned() };
    let weather: Weather = client.call_tool("weather", oslo).structured().await?;
    println!("{} has {} degrees", weather.city, weather.degrees);

    // A tool that failed has a result that says why, rather than a `Weather`.
    let failed = client.call_tool("weather", ()).structured::<Weather>().await;
    if let Some(result) = failed.as_ref().err().and_then(|error| error.tool_failure()) {
        println!("without a city: {:?}", result.content);
    }
    Ok(())
}
