//! A server composed of others: each library brings a registry, with the values that its handlers share.

use std::sync::Arc;

use mcp_client::Client;
use mcp_server::{Registry, Resource, Server, Tool};

/// What a crate that knows a music collection could offer.
mod music {
    use super::{Arc, Registry, Resource, Tool};

    struct Collection(Vec<&'static str>);

    async fn list(collection: Arc<Collection>) -> String {
        collection.0.join(", ")
    }

    pub fn registry() -> Registry {
        Registry::new()
            .tool(Tool::new("list", list).description("Lists all records"))
            .resource(Resource::text("music:///about", "about", "Records from the attic"))
            .state(Arc::new(Collection(vec!["Kind of Blue", "Blue Train"])))
    }
}

/// Another, which happens to have a tool of the same name, and to be a whole server.
mod books {
    use super::{Server, Tool};
    use mcp_server::ServerBuilder;

    pub fn server() -> ServerBuilder {
        Server::builder("books", "1.0.0").tool(Tool::new("list", async || "Middlemarch"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("shelf", "1.0.0")
        .tool(Tool::new("list", async || "music and books"))
        // The prefix is taken as it is. Resources keep their URIs.
        .mount("music_", music::registry())
        .mount("books_", books::server())
        .build()?;
    let client = Client::in_process(server.service());
    for tool in client.list_tools().all().await? {
        let result = client.call_tool(tool.name.clone(), ()).await?;
        println!("{}: {}", tool.name, result.content[0].as_text().unwrap_or_default());
    }
    for resource in client.list_resources().all().await? {
        println!("and {}", resource.uri);
    }
    Ok(())
}
