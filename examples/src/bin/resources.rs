//! Resources: one at a fixed URI, and many behind a template whose variables are typed and completed.

use mcp_client::Client;
use mcp_server::types::ResourceTemplateReference;
use mcp_server::{Args, Completing, Resource, ResourceTemplate, Server};
use schemars::JsonSchema;
use serde::Deserialize;

const BOOKS: [(u32, &str, &str); 3] = [
    (1847, "bronte", "Jane Eyre"),
    (1851, "melville", "Moby-Dick"),
    (1855, "melville", "Benito Cereno"),
];

#[derive(Deserialize, JsonSchema)]
struct Book {
    author: String,
    year: u32,
    shout: Option<bool>,
}

/// `None` is a resource that does not exist. A year that is no number never comes here.
async fn book(Args(wanted): Args<Book>) -> Option<String> {
    let is_wanted = |(year, author, _): &&_| *year == wanted.year && *author == wanted.author;
    let (_, _, title) = BOOKS.iter().find(is_wanted)?;
    Some(if wanted.shout == Some(true) { title.to_uppercase() } else { (*title).to_owned() })
}

async fn authors(typed: Completing) -> Vec<&'static str> {
    let mut authors: Vec<_> = BOOKS.iter().map(|(_, author, _)| *author).collect();
    authors.dedup();
    authors.retain(|author| author.starts_with(&typed.value));
    authors
}

/// What was filled in already narrows down what comes next.
async fn years(typed: Completing) -> Vec<String> {
    let author = typed.arguments.get("author");
    let books = BOOKS.iter().filter(|(_, by, _)| author.is_none_or(|author| author == *by));
    let years = books.map(|(year, ..)| year.to_string());
    years.filter(|year| year.starts_with(&typed.value)).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let books = ResourceTemplate::new(TEMPLATE, "book", book)
        .description("The title of a book")
        .mime_type("text/plain")
        .complete("author", authors)
        .complete("year", years);
    let server = Server::builder("library", "1.0.0")
        .resource(
            Resource::text("library://hours", "hours", "Monday to Friday, 9 to 5")
                .mime_type("text/plain"),
        )
        .resource_template(books)
        .build()?;
    let client = Client::in_process(server.service());

    for resource in client.list_resources().all().await? {
        println!("{} at {}", resource.name, resource.uri);
    }
    for template in client.list_resource_templates().all().await? {
        println!("{} at {}", template.name, template.uri_template);
    }
    let template = ResourceTemplateReference::new(TEMPLATE);
    let found = client.complete(template.clone(), "author", "me").await?;
    println!("author me...: {:?}", found.completion.values);
    let found = client.complete(template, "year", "").context("author", "melville").await?;
    println!("years of melville: {:?}", found.completion.values);

    for uri in ["library://hours", "library://melville/1851?shout=true", "library://bronte/1851"] {
        match client.read_resource(uri).await {
            Ok(read) => println!("{uri}: {:?}", read.contents[0].as_text()),
            Err(error) => println!("{uri}: {error}"),
        }
    }
    Ok(())
}

const TEMPLATE: &str = "library://{author}/{year}{?shout}";
