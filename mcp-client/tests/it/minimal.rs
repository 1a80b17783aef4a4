//! What is sent when nothing is set, to the byte: what is absent is absent, and never `null`.

use mcp_client::types::{
    CallToolParams, CompleteParams, EmptyParams, GetPromptParams, ListenParams, Method,
    PaginatedParams, PromptReference, ReadResourceParams, Request, SubscriptionFilter, request,
};
use mcp_client::{Call, Client};

use crate::support::{Memory, Piece, Reply, Server};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Each request without options, by the function that it has.
const BARE: [(Method, &str); 10] = [
    (Method::Discover, ""),
    (Method::ListTools, ""),
    (Method::CallTool, r#","name":"t""#),
    (Method::ListResources, ""),
    (Method::ListResourceTemplates, ""),
    (Method::ReadResource, r#","uri":"a:b""#),
    (Method::ListPrompts, ""),
    (Method::GetPrompt, r#","name":"p""#),
    (
        Method::Complete,
        r#","ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}"#,
    ),
    (Method::Listen, r#","notifications":{}"#),
];

/// A client that says of itself what it must, and a server that refuses whatever it is asked.
async fn bare() -> (Server, Client) {
    let gone = || Reply::head("410 Gone", "", "");
    let server = Server::start(BARE.map(|_| gone())).await;
    let client = server.builder().info(None).build().unwrap();
    (server, client)
}

fn check(server: &Server) {
    let requests = server.requests();
    assert_eq!(requests.len(), BARE.len());
    for (nth, (request, (method, more))) in requests.iter().zip(BARE).enumerate() {
        let (id, method) = (nth + 1, method.as_str());
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META}{more}}}}}"#
        );
        assert_eq!(request.body, expected);
        assert!(!request.body.contains("null"));
    }
}

#[tokio::test]
async fn each_function_sends_what_it_must_alone() {
    assert_eq!(BARE.map(|(method, _)| method)[..], *Method::ALL);
    let (server, client) = bare().await;
    client.discover().await.unwrap_err();
    client.list_tools().await.unwrap_err();
    client.call_tool("t", ()).await.unwrap_err();
    client.list_resources().await.unwrap_err();
    client.list_resource_templates().await.unwrap_err();
    client.read_resource("a:b").await.unwrap_err();
    client.list_prompts().await.unwrap_err();
    client.get_prompt("p", None::<()>).await.unwrap_err();
    client.complete(PromptReference::new("p"), "a", "").await.unwrap_err();
    client.listen(SubscriptionFilter::new()).await.unwrap_err();
    check(&server);
}

async fn send<R: Request + 'static>(client: &Client, params: R::Params) {
    let call: Call<R> = client.call(params);
    assert!(call.await.is_err());
}

#[tokio::test]
async fn so_does_a_call_of_any_method() {
    let (server, client) = bare().await;
    send::<request::Discover>(&client, EmptyParams::default()).await;
    send::<request::ListTools>(&client, PaginatedParams::default()).await;
    send::<request::CallTool>(&client, CallToolParams::new("t")).await;
    send::<request::ListResources>(&client, PaginatedParams::default()).await;
    send::<request::ListResourceTemplates>(&client, PaginatedParams::default()).await;
    send::<request::ReadResource>(&client, ReadResourceParams::new("a:b")).await;
    send::<request::ListPrompts>(&client, PaginatedParams::default()).await;
    send::<request::GetPrompt>(&client, GetPromptParams::new("p")).await;
    let params = CompleteParams::new(PromptReference::new("p"), "a", "");
    send::<request::Complete>(&client, params).await;
    send::<request::Listen>(&client, ListenParams::default()).await;
    check(&server);
}

// Whatever the method, what is no answer is an error that says who is to blame, in bounded time.
#[tokio::test(start_paused = true)]
async fn no_method_takes_a_fault_for_an_answer() {
    for (content_type, piece) in [
        ("application/json", Piece::Data("{}".to_owned())),
        ("application/json", Piece::Hang),
        ("text/event-stream", Piece::Hang),
        ("text/event-stream", Piece::Fail),
        ("text/html", Piece::Data("<html>".to_owned())),
    ] {
        let memory = Memory::new(BARE.map(|_| (content_type, vec![piece.clone()])));
        let client = memory.client();
        let kind = |error: mcp_client::Error| {
            assert!(
                error.is_protocol() || error.is_transport() || error.is_timeout(),
                "{content_type}: {error:?}"
            );
        };
        kind(client.discover().await.unwrap_err());
        kind(client.list_tools().await.unwrap_err());
        kind(client.call_tool("t", ()).await.unwrap_err());
        kind(client.list_resources().await.unwrap_err());
        kind(client.list_resource_templates().await.unwrap_err());
        kind(client.read_resource("a:b").await.unwrap_err());
        kind(client.list_prompts().await.unwrap_err());
        kind(client.get_prompt("p", ()).await.unwrap_err());
        kind(client.complete(PromptReference::new("p"), "a", "").await.unwrap_err());
        kind(client.listen(SubscriptionFilter::new()).await.unwrap_err());
    }
}
