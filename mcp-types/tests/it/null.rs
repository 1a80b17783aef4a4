//! What is not set is absent, never `null`.

use mcp_types::{
    CallToolParams, CompleteParams, EmptyParams, GetPromptParams, ListenParams, PaginatedParams,
    PromptReference, ReadResourceParams, Request, RequestMessage, request,
};

fn written<R: Request>(params: R::Params) -> String {
    serde_json::to_string(&RequestMessage::new(1.into(), R::METHOD, params)).unwrap()
}

#[test]
fn a_request_with_nothing_set_has_no_null() {
    let page = PaginatedParams::default;
    let requests = [
        written::<request::Discover>(EmptyParams::default()),
        written::<request::ListTools>(page()),
        written::<request::CallTool>(CallToolParams::new("t")),
        written::<request::ListResources>(page()),
        written::<request::ListResourceTemplates>(page()),
        written::<request::ReadResource>(ReadResourceParams::new("a:b")),
        written::<request::ListPrompts>(page()),
        written::<request::GetPrompt>(GetPromptParams::new("p")),
        written::<request::Complete>(CompleteParams::new(PromptReference::new("p"), "a", "")),
        written::<request::Listen>(ListenParams::default()),
    ];
    assert_eq!(requests.len(), mcp_types::Method::ALL.len());
    for request in requests {
        assert!(!request.contains("null"), "{request}");
        assert!(!request.contains("_meta"), "{request}");
        assert!(request.contains(r#""params":{"#), "{request}");
    }
}
