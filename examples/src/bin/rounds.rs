//! A tool that takes several rounds: questions that belong together are asked at once, what was costly is remembered.

use mcp_client::types::{ElicitFormParams, ElicitResult, JsonMap, RawJson};
use mcp_client::{BoxError, ClientBuilder};
use mcp_server::{Ask, Elicited, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::join;

#[derive(Deserialize, JsonSchema)]
struct Route {
    to: String,
}

#[derive(Deserialize, JsonSchema)]
struct Travellers {
    adults: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    agreed: bool,
}

async fn price_of(route: &str, adults: u8) -> u32 {
    println!("  (looked up the price of {route})");
    120 * u32::from(adults)
}

async fn travel(ask: Ask) -> String {
    // One round for both.
    let (route, travellers) = join!(
        ask.form::<Route>("route", "Where to?"),
        ask.form::<Travellers>("travellers", "How many of you?"),
    );
    let (Elicited::Accept(Route { to }), Elicited::Accept(Travellers { adults })) =
        (route, travellers)
    else {
        return "Then not".to_owned();
    };
    // Code before an ask runs in every round; this travels, sealed, with the client.
    let price = ask.remember("price", price_of(&to, adults)).await;
    let question = format!("{adults} to {to} for {price}?");
    match ask.form::<Consent>("consent", &question).await {
        Elicited::Accept(Consent { agreed: true }) => format!("Booked: {to}, {price} paid"),
        _ => "Nothing booked".to_owned(),
    }
}

/// What stands for the user here.
async fn answer(form: ElicitFormParams) -> Result<ElicitResult, BoxError> {
    println!("asked: {}", form.message);
    let mut content = JsonMap::new();
    for (name, _) in form.requested_schema.properties.iter() {
        let answer = match name {
            "to" => RawJson::new("Oslo")?,
            "adults" => RawJson::new(&2)?,
            _ => RawJson::new(&true)?,
        };
        content.insert(name, answer);
    }
    Ok(form.accept(&content)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("travel", "1.0.0").tool(Tool::new("travel", travel)).build()?;
    let client = ClientBuilder::in_process(server.service()).on_elicit(answer).build()?;
    println!("{:?}", client.call_tool("travel", ()).await?.content);
    Ok(())
}
