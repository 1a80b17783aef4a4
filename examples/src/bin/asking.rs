//! A tool that asks the user in the middle of its work, and a client that answers.

use mcp_client::types::{ElicitFormParams, ElicitResult, JsonMap, RawJson};
use mcp_client::{BoxError, Client, ClientBuilder};
use mcp_server::{Args, Ask, Elicited, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Table {
    guests: u8,
}

#[derive(Deserialize, JsonSchema)]
enum Seat {
    Window,
    Garden,
}

/// A form is a flat struct; its documentation becomes the description of its fields.
#[derive(Deserialize, JsonSchema)]
struct Wishes {
    seat: Seat,
    /// Whether anybody needs a high chair.
    #[serde(default)]
    high_chair: bool,
}

/// Reads as if it waited. In truth each answer is a new call, in which the handler begins again.
async fn book(ask: Ask, Args(Table { guests }): Args<Table>) -> String {
    match ask.form::<Wishes>("wishes", "How would you like to sit?").await {
        Elicited::Accept(Wishes { seat, high_chair }) => {
            let place = match seat {
                Seat::Window => "at the window",
                Seat::Garden => "in the garden",
            };
            format!(
                "A table for {guests} {place}{}",
                if high_chair { ", with a high chair" } else { "" }
            )
        }
        Elicited::Decline => format!("A table for {guests}, wherever there is one"),
        Elicited::Cancel => "No table".to_owned(),
    }
}

/// What stands for the user here.
async fn answer(form: ElicitFormParams) -> Result<ElicitResult, BoxError> {
    println!("asked: {}", form.message);
    let mut content = JsonMap::new();
    content.insert("seat", RawJson::new("Garden")?);
    // Takes the default for the other field, and checks all of them.
    Ok(form.accept(&content)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("restaurant", "1.0.0").tool(Tool::new("book", book)).build()?;
    let client = ClientBuilder::in_process(server.service()).on_elicit(answer).build()?;
    println!("{:?}", client.call_tool("book", Table { guests: 3 }).await?.content);

    // A client that cannot ask anybody is refused before anything happens.
    let mute = Client::in_process(server.service());
    if let Err(error) = mute.call_tool("book", Table { guests: 3 }).await {
        println!("without anybody to ask: {error}");
    }
    Ok(())
}
