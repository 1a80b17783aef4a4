//! The typed methods: what they send, and what they make of the answers.

use mcp_client::types::{PromptReference, ResourceTemplateReference};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{OK, Reply, Server, result};

/// The parameters of the request, without what every request says of itself.
fn params(server: &Server, nth: usize) -> Value {
    let mut params = server.requests()[nth].json()["params"].take();
    params.as_object_mut().unwrap().remove("_meta").unwrap();
    params
}

#[tokio::test]
async fn each_method_sends_what_it_takes() {
    let resources = r#"{"resources":[{"uri":"a:b","name":"b"}]}"#;
    let templates = r#"{"resourceTemplates":[{"uriTemplate":"a:{x}","name":"b"}]}"#;
    let contents = r#"{"contents":[{"uri":"a:b","text":"hi"}]}"#;
    let messages = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#;
    let replies = [
        resources,
        templates,
        contents,
        r#"{"prompts":[{"name":"p"}]}"#,
        messages,
        messages,
        r#"{"completion":{"values":["flask"]}}"#,
        r#"{"completion":{"values":[]}}"#,
    ];
    let server = Server::start(replies.map(|reply| Reply::json(&result(reply)))).await;
    let client = server.client();

    assert_eq!(client.list_resources().await.unwrap().resources[0].uri, "a:b");
    let templates = client.list_resource_templates().cursor("").await.unwrap();
    assert_eq!(templates.resource_templates[0].uri_template, "a:{x}");
    assert_eq!(client.read_resource("a:b").await.unwrap().contents.len(), 1);
    assert_eq!(client.list_prompts().await.unwrap().prompts[0].name, "p");
    assert_eq!(client.get_prompt("p", ()).await.unwrap().messages.len(), 1);
    client.get_prompt("p", json!({"style": "short"})).await.unwrap();
    let prompt = PromptReference::new("p");
    let call = client.complete(prompt, "framework", "fla").context("language", "python");
    assert_eq!(call.await.unwrap().completion.values, ["flask"]);
    client.complete(ResourceTemplateReference::new("a:{x}"), "x", "").await.unwrap();

    let expected = [
        ("resources/list", None, json!({})),
        // An empty cursor is one like any other.
        ("resources/templates/list", None, json!({"cursor": ""})),
        ("resources/read", Some("a:b"), json!({"uri": "a:b"})),
        ("prompts/list", None, json!({})),
        ("prompts/get", Some("p"), json!({"name": "p"})),
        ("prompts/get", Some("p"), json!({"name": "p", "arguments": {"style": "short"}})),
        (
            "completion/complete",
            None,
            json!({"ref": {"type": "ref/prompt", "name": "p"},
                "argument": {"name": "framework", "value": "fla"},
                "context": {"arguments": {"language": "python"}}}),
        ),
        (
            "completion/complete",
            None,
            json!({"ref": {"type": "ref/resource", "uri": "a:{x}"},
                "argument": {"name": "x", "value": ""}}),
        ),
    ];
    for (nth, (method, name, sent)) in expected.into_iter().enumerate() {
        let request = &server.requests()[nth];
        assert_eq!(request.header("mcp-method"), Some(method));
        assert_eq!(request.header("mcp-name"), name);
        assert_eq!(params(&server, nth), sent);
        // What is not set is absent.
        assert!(!request.body.contains("null"), "{}", request.body);
    }
}

#[tokio::test]
async fn arguments_of_prompts_are_texts() {
    let server = Server::start([]).await;
    for wrong in [json!({"a": 1}), json!({"a": null}), json!(["a"]), json!("a")] {
        let error = server.client().get_prompt("p", wrong).await.unwrap_err();
        assert!(error.is_usage(), "{error}");
    }
    assert!(server.requests().is_empty());
}

#[derive(Debug, Deserialize, PartialEq)]
struct Weather {
    degrees: f64,
}

// X6: a tool that failed is a result, and an error of its own where a type is wanted.
#[tokio::test]
async fn structured_content_becomes_a_type() {
    let content = r#"[{"type":"text","text":"no such city"}]"#;
    let table = [
        (r#"{"content":[],"structuredContent":{"degrees":20.5}}"#.to_owned(), Ok(20.5)),
        (r#"{"structuredContent":{"degrees":1}}"#.to_owned(), Ok(1.0)),
        (format!(r#"{{"content":{content}}}"#), Err("no structured content")),
        (r#"{"content":[],"structuredContent":null}"#.to_owned(), Err("not what the method")),
        (r#"{"content":[],"structuredContent":{}}"#.to_owned(), Err("not what the method")),
    ];
    for (reply, expected) in table {
        let server = Server::start([Reply::json(&result(&reply))]).await;
        let call = server.client().call_tool("weather", ()).structured::<Weather>();
        match (call.await, expected) {
            (Ok(weather), Ok(degrees)) => assert_eq!(weather, Weather { degrees }),
            (Err(error), Err(part)) => {
                assert!(error.is_protocol() && error.tool_failure().is_none(), "{error:?}");
                assert!(error.to_string().contains(part), "{error}");
                assert_eq!(error.status().unwrap(), 200);
            }
            other => panic!("{reply}: {other:?}"),
        }
    }
    // The result of a tool that failed follows no schema.
    let reply = format!(r#"{{"isError":true,"structuredContent":{{}},"content":{content}}}"#);
    let server = Server::start([Reply::json(&result(&reply))]).await;
    let error = server.client().call_tool("t", ()).structured::<Weather>().await.unwrap_err();
    assert!(!error.is_protocol(), "{error:?}");
    assert_eq!(error.to_string(), "the tool failed: no such city");
    assert_eq!(error.tool_failure().unwrap().content.len(), 1);
}

#[tokio::test]
async fn raw_results_keep_every_byte() {
    let odd = r#"{ "content":[], "x":{"n": 1.50e+3,"\u0061":12345678901234567890},"resultType":"complete"}"#;
    let asking = r#"{"resultType":"input_required","requestState":"\u0073"}"#;
    let server = Server::start([
        Reply::json(&result(odd)),
        Reply::sse(&[&result(odd)]),
        Reply::json(&result(asking)),
        Reply::json(&result(OK)),
    ])
    .await;
    let client = server.client();
    assert_eq!(client.call_tool("t", ()).raw().await.unwrap(), odd);
    assert_eq!(client.list_tools().raw().await.unwrap(), odd);
    let params = mcp_client::types::CallToolParams::new("t");
    let call = client.call::<mcp_client::types::request::CallTool>(params);
    assert_eq!(call.raw().await.unwrap(), asking);
}
