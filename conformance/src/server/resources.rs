//! The resources that the official suite reads. It reads the first of the list for its hints about caching.

use mcp_server::types::CacheScope;
use mcp_server::{Args, Resource, ResourceTemplate, ServerBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::FRESH;
use super::tools::PNG;

pub(super) fn add_to(server: ServerBuilder) -> ServerBuilder {
    let text = "This is the content of the static text resource.";
    server
        .resource(
            Resource::text("test://static-text", "static-text", text)
                .description("A text that never changes.")
                .mime_type("text/plain")
                .cache(FRESH, CacheScope::Public),
        )
        .resource(
            Resource::binary("test://static-binary", "static-binary", PNG)
                .description("An image that never changes.")
                .mime_type("image/png")
                .cache(FRESH, CacheScope::Public),
        )
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "template", data)
                .description("The data of an id.")
                .mime_type("application/json"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

async fn data(Args(Id { id }): Args<Id>) -> String {
    let data = format!("Data for ID: {id}");
    serde_json::json!({ "id": id, "templateTest": true, "data": data }).to_string()
}
