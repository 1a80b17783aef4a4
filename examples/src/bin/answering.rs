//! A tool that asks the user, answered on the terminal: calls the tool TOOL of the server at URL.
//!
//! ```sh
//! cargo run -p examples --bin answering -- http://127.0.0.1:8080/mcp book_table
//! ```

use std::io::{self, BufRead, Write};

use mcp_client::types::{
    ElicitAction, ElicitFormParams, ElicitResult, ElicitUrlParams, JsonMap, PrimitiveSchema,
    RawJson,
};
use mcp_client::{BoxError, Client};

/// Asks for the fields one by one. An empty line leaves a field as it stands, the end of the input turns away.
fn fill_in(form: &ElicitFormParams) -> Result<ElicitResult, BoxError> {
    println!("{}", form.message);
    let (fields, defaults) = (&form.requested_schema.properties, form.requested_schema.defaults());
    let mut content = JsonMap::new();
    for (name, field) in fields.iter() {
        let default = defaults.get(name).map_or("", |value| value.get());
        let Some(line) = ask(&format!("  {name} [{default}]: "))? else {
            return Ok(ElicitResult::of(ElicitAction::Cancel));
        };
        let is_text =
            matches!(field, PrimitiveSchema::String(_) | PrimitiveSchema::SingleSelect(_));
        match line {
            line if line.is_empty() => {}
            line if is_text => drop(content.insert(name, RawJson::new(&line)?)),
            // Numbers, `true` and lists are written as JSON.
            line => drop(content.insert(name, RawJson::from_text(line)?)),
        }
    }
    // Takes the defaults for what was left as it stands, and checks the rest.
    Ok(form.accept(&content)?)
}

fn visit(page: &ElicitUrlParams) -> io::Result<ElicitResult> {
    println!("{}\n  {}", page.message, page.url);
    let action = match ask("  Open this page in a browser, then answer `yes`: ")?.as_deref() {
        Some("yes") => ElicitAction::Accept,
        Some(_) => ElicitAction::Decline,
        None => ElicitAction::Cancel,
    };
    Ok(ElicitResult::of(action))
}

fn ask(question: &str) -> io::Result<Option<String>> {
    print!("{question}");
    io::stdout().flush()?;
    let line = io::stdin().lock().lines().next().transpose()?;
    Ok(line.map(|line| line.trim().to_owned()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(tool)) = (arguments.next(), arguments.next()) else {
        return Err("needs a URL and the name of a tool".into());
    };
    // A function for each kind of question; the client declares exactly those. A terminal can show one form at a
    // time, so blocking in them does no harm here.
    let client = Client::builder(url)
        .on_elicit(async |form| fill_in(&form))
        .on_elicit_url(async |page| visit(&page))
        .total_timeout(None)
        .build()?;
    let result = client.call_tool(tool, ()).await?;
    for block in &result.content {
        println!("{}", block.as_text().unwrap_or("(no text)"));
    }
    Ok(())
}
