//! Asking the client: rounds on the wire, as bytes of requests and their answers.

use mcp_server::types::{CreateMessageParams, ElicitAction, SamplingMessage};
use mcp_server::{
    Answers, Args, Ask, Caller, Elicited, Key, KeyRing, Prompt, Resource, ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Post, Running, builder, capable, meta};

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Age {
    age: u8,
}

/// A request of `method` by a client that can do everything.
pub(crate) fn post(method: &str, mut params: Value) -> Post {
    params["_meta"] = capable_of_everything();
    Post::rpc(method, params)
}

pub(crate) fn capable_of_everything() -> Value {
    capable(json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }))
}

pub(crate) fn call(tool: &str, more: Value) -> Post {
    let mut params = json!({ "name": tool });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    post("tools/call", params)
}

pub(crate) fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

pub(crate) async fn greet(ask: Ask) -> String {
    match ask.form::<Name>("name", "Who are you?").await {
        Elicited::Accept(Name { name }) => format!("Hello, {name}!"),
        Elicited::Decline => "declined".to_owned(),
        Elicited::Cancel => "cancelled".to_owned(),
    }
}

pub(crate) async fn start(builder: ServerBuilder) -> Running {
    Running::build(builder.state_keys(KeyRing::new(Key::new(&[7; 32])))).await
}

pub(crate) async fn result(running: &Running, post: &Post) -> Value {
    running.ask(post).await.result()
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[tokio::test]
async fn one_question_needs_no_state() {
    let running = start(builder().tool(Tool::new("greet", greet))).await;
    let asked = result(&running, &call("greet", json!({}))).await;
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("requestState").is_none(), "{asked}");
    let question = &asked["inputRequests"]["name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Who are you?");
    assert_eq!(
        question["params"]["requestedSchema"],
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] })
    );
    for (answer, says) in [
        (accept(json!({ "name": "Ada" })), "Hello, Ada!"),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "cancelled"),
    ] {
        let more = json!({ "inputResponses": { "name": answer, "more": { "is": "ignored" } } });
        let done = result(&running, &call("greet", more)).await;
        assert_eq!((done["resultType"].as_str(), text(&done)), (Some("complete"), says));
    }
}

/// What is missing or does not fit is asked for again; what is no object at all is refused. M1: an answer is the bare
/// result.
#[tokio::test]
async fn answers_that_do_not_fit_are_asked_for_again() {
    let running = start(builder().tool(Tool::new("greet", greet))).await;
    for answers in [
        json!({ "wrong": accept(json!({ "name": "Ada" })) }),
        json!({ "name": accept(json!({ "name": 5 })) }),
        json!({ "name": accept(json!({})) }),
        json!({ "name": { "action": "dance" } }),
        json!({ "name": { "method": "elicitation/create", "result": accept(json!({ "name": "Ada" })) } }),
        json!({ "name": {} }),
    ] {
        let asked = result(&running, &call("greet", json!({ "inputResponses": answers }))).await;
        assert_eq!(asked["resultType"], "input_required", "{answers}");
        assert!(asked["inputRequests"]["name"].is_object());
    }
    for refused in [
        json!({ "inputResponses": null }),
        json!({ "inputResponses": [] }),
        json!({ "inputResponses": { "name": 12345 } }),
        json!({ "requestState": 5 }),
        json!({ "requestState": "" }),
        json!({ "requestState": "AAAA" }),
    ] {
        let reply = running.ask(&call("greet", refused.clone())).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{refused}");
    }
}

/// M5: loops of answers that never fit come to an end.
#[tokio::test]
async fn rounds_have_a_ceiling() {
    let running = start(builder().tool(Tool::new("greet", greet))).await;
    let mut more = json!({ "inputResponses": { "name": {} } });
    for round in 0.. {
        let reply = running.ask(&call("greet", more.clone())).await;
        if reply.code().is_some() {
            assert_eq!(
                (reply.code(), round),
                (Some(-32603), i32::try_from(mcp_server::ask::MAX_ROUNDS).unwrap())
            );
            break;
        }
        more["requestState"] = reply.result()["requestState"].clone();
    }
}

fn several() -> (Tool, Arc<AtomicUsize>) {
    let looked_up = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked_up);
    let handler = move |ask: Ask, Args(Name { name }): Args<Name>| {
        let count = Arc::clone(&count);
        async move {
            let found = ask
                .remember("lookup", async {
                    count.fetch_add(1, Ordering::Relaxed);
                    "found".to_owned()
                })
                .await;
            let Some(Age { age }) = ask.form::<Age>("age", "How old?").await.accepted() else {
                return "no age".to_owned();
            };
            let (roots, sampled) = tokio::join!(
                ask.roots("roots"),
                ask.sample(
                    "poem",
                    CreateMessageParams::new(vec![SamplingMessage::user("Rhyme")], 10)
                ),
            );
            let url = ask.url("pay", "Pay here", "https://pay.example").await;
            format!("{name} {found} {age} {} {} {url:?}", roots.len(), sampled.model)
        }
    };
    (Tool::new("several", handler), looked_up)
}

#[tokio::test]
async fn several_rounds_carry_what_was_said() {
    let (tool, looked_up) = several();
    let running = start(builder().tool(tool)).await;
    let arguments = json!({ "name": "Ada" });
    let first = result(&running, &call("several", json!({ "arguments": arguments }))).await;
    assert_eq!(first["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["age"]);
    let again = |asked: &Value, responses: Value| {
        call(
            "several",
            json!({ "arguments": arguments, "inputResponses": responses, "requestState": asked["requestState"] }),
        )
    };
    let second =
        result(&running, &again(&first, json!({ "age": accept(json!({ "age": 36 })) }))).await;
    assert_ne!(first["requestState"], second["requestState"]);
    let keys: Vec<_> = second["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["poem", "roots"], "joined asks go in one round");
    // One of the two is missing, and asked for again alone.
    let roots = json!({ "roots": { "roots": [{ "uri": "file:///a" }] } });
    let third = result(&running, &again(&second, roots)).await;
    assert_eq!(third["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["poem"]);
    let poem =
        json!({ "role": "assistant", "content": { "type": "text", "text": "…" }, "model": "m" });
    let fourth = result(&running, &again(&third, json!({ "poem": poem }))).await;
    assert_eq!(fourth["inputRequests"]["pay"]["params"]["mode"], "url");
    let last = result(&running, &again(&fourth, json!({ "pay": { "action": "accept" } }))).await;
    assert_eq!(text(&last), "Ada found 36 1 m Accept(())");
    assert_eq!(looked_up.load(Ordering::Relaxed), 1, "what is remembered is not run again");

    // M7: the state belongs to its arguments, its tool, its bytes.
    let state = fourth["requestState"].as_str().unwrap();
    for (state, arguments) in [
        (format!("{state}-TAMPERED"), json!({ "name": "Ada" })),
        (state[1..].to_owned(), json!({ "name": "Ada" })),
        (state.to_owned(), json!({ "name": "Bob" })),
    ] {
        let more = json!({ "arguments": arguments, "requestState": state });
        let reply = running.ask(&call("several", more)).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32602)));
    }
    let spelled = json!({ "arguments": { "name": "\u{41}da" }, "requestState": state });
    assert!(running.ask(&call("several", spelled)).await.code().is_none());
}

/// M7: another caller's state does not open.
#[tokio::test]
async fn a_state_belongs_to_its_caller() {
    use mcp_server::{Exchange, ExchangeOptions, RequestParts, scan};
    let (tool, _) = several();
    let server = builder().tool(tool).state_keys(KeyRing::new(Key::new(&[7; 32]))).build().unwrap();
    let ask = async |caller: Option<&str>, state: Option<&str>| -> Value {
        let mut params = json!({ "name": "several", "arguments": { "name": "Ada" } });
        if let Some(state) = state {
            params["requestState"] = state.into();
        }
        let message = post("tools/call", params).content().to_vec();
        let mut options = ExchangeOptions::default();
        options.http = false;
        let exchange = Exchange::new(options);
        exchange.connect(&server).unwrap();
        let parts = RequestParts { caller: caller.map(Caller::new), ..RequestParts::default() };
        let response = exchange.handle(scan(&message).unwrap(), parts).await.unwrap();
        let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    };
    let asked = ask(Some("alice"), None).await;
    let state = asked["result"]["requestState"].as_str().unwrap();
    assert!(ask(Some("alice"), Some(state)).await["result"].is_object());
    for other in [Some("bob"), Some(""), None] {
        assert_eq!(ask(other, Some(state)).await["error"]["code"], -32602, "{other:?}");
    }
}

/// M6: a client is asked only for what it declared.
#[tokio::test]
async fn what_was_not_declared_is_not_asked() {
    let running = start(
        builder()
            .tool(Tool::new("greet", greet))
            .tool(Tool::new("url", async |ask: Ask| {
                format!("{:?}", ask.url("u", "m", "https://a.example").await)
            }))
            .tool(Tool::new("roots", async |ask: Ask| ask.roots("r").await.len().to_string())),
    )
    .await;
    for (tool, declared, required) in [
        ("greet", json!({}), json!({ "elicitation": { "form": {} } })),
        (
            "greet",
            json!({ "elicitation": { "url": {} } }),
            json!({ "elicitation": { "form": {} } }),
        ),
        ("url", json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} } })),
        ("roots", json!({ "sampling": {} }), json!({ "roots": {} })),
    ] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = declared;
        let reply =
            running.ask(&Post::rpc("tools/call", json!({ "name": tool, "_meta": meta }))).await;
        assert_eq!((reply.status, reply.code()), (400, Some(-32021)), "{tool}");
        assert_eq!(reply.message()["error"]["data"]["requiredCapabilities"], required);
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let prompt = Prompt::new("greet", async |ask: Ask| greet(ask).await);
    let resource = Resource::new("test://greeting", "greeting", async |ask: Ask| greet(ask).await);
    let running = start(builder().prompt(prompt).resource(resource)).await;
    for (method, params) in [
        ("prompts/get", json!({ "name": "greet" })),
        ("resources/read", json!({ "uri": "test://greeting" })),
    ] {
        let asked = result(&running, &post(method, params.clone())).await;
        assert_eq!(asked["resultType"], "input_required");
        // K3: an interim result is not to be kept, and says nothing of how long.
        assert!(asked.get("ttlMs").is_none() && asked.get("cacheScope").is_none());
        let mut params = params;
        params["inputResponses"] = json!({ "name": accept(json!({ "name": "Ada" })) });
        let done = result(&running, &post(method, params)).await;
        assert!(done.to_string().contains("Hello, Ada!"), "{done}");
    }
}

/// Mistakes of a handler end its request and say nothing to the client.
#[tokio::test]
async fn what_cannot_be_asked_is_an_internal_error() {
    let twice = Tool::new("twice", async |ask: Ask| {
        let (a, b) = tokio::join!(ask.form::<Name>("k", "One?"), ask.form::<Name>("k", "Two?"));
        format!("{a:?} {b:?}")
    });
    let mixed = Tool::new("mixed", async |ask: Ask| {
        let (a, ()) = tokio::join!(ask.form::<Name>("k", "One?"), ask.come_back("k"));
        format!("{a:?}")
    });
    let nested = Tool::new("nested", async |ask: Ask| {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Outer {
            inner: Name,
        }
        format!("{:?}", ask.form::<Outer>("k", "What?").await.accepted().map(|outer| outer.inner))
    });
    let large = Tool::new("large", async |ask: Ask| {
        let kept = ask.remember("much", async { "x".repeat(100_000) }).await;
        format!("{} {:?}", kept.len(), ask.form::<Name>("k", "What?").await)
    });
    let running = start(builder().tools([twice, mixed, nested, large])).await;
    for (tool, names) in [("twice", false), ("mixed", false), ("nested", false), ("large", true)] {
        let reply = running.ask(&call(tool, json!({}))).await;
        assert_eq!((reply.status, reply.code()), (200, Some(-32603)), "{tool}");
        assert_eq!(reply.message()["error"].to_string().contains("much"), names);
    }
}

/// An accepted URL does not mean that the user is done there.
#[tokio::test]
async fn a_question_can_be_put_again() {
    let tool = Tool::new("pays", async |ask: Ask| {
        let _ = ask.url("pay", "Pay here", "https://pay.example").await;
        let paid = ask.remember("seen", async { false }).await;
        if !paid {
            ask.again("pay");
            let _ = ask.url("pay", "Pay here", "https://pay.example").await;
        }
        "unreachable"
    });
    let running = start(builder().tool(tool)).await;
    let more = json!({ "inputResponses": { "pay": { "action": "accept" } } });
    let asked = result(&running, &call("pays", more)).await;
    assert_eq!(asked["inputRequests"]["pay"]["method"], "elicitation/create");
}

/// M3: raw access for handlers that build their questions by hand.
#[tokio::test]
async fn answers_by_hand() {
    let tool = Tool::new("raw", async |answers: Answers| {
        let state = answers.state.map(|state| state.as_str().to_owned());
        let typed = answers
            .responses
            .elicitation("a")
            .map(|answer| answer.is_ok_and(|a| a.action == ElicitAction::Accept));
        format!("{state:?} {typed:?} {}", answers.responses.len())
    });
    let running = start(builder().tool(tool)).await;
    let more = json!({ "inputResponses": { "a": accept(json!({})) }, "requestState": "anything" });
    assert_eq!(
        text(&result(&running, &call("raw", more)).await),
        "Some(\"anything\") Some(true) 1"
    );
    assert_eq!(text(&result(&running, &call("raw", json!({}))).await), "None None 0");
}

/// M7: keys are rotated in stages without losing a state.
#[tokio::test]
async fn keys_rotate() {
    let (old, new) = (|| Key::new(&[1; 32]), || Key::new(&[2; 32]));
    let ring = |keys| {
        let (tool, _) = several();
        Running::build(builder().tool(tool).state_keys(keys))
    };
    let first = call("several", json!({ "arguments": { "name": "Ada" } }));
    let before = ring(KeyRing::new(old()).also_opens(new())).await;
    let after = ring(KeyRing::new(new()).also_opens(old())).await;
    let stranger = ring(KeyRing::new(Key::new(&[3; 32]))).await;
    for (sealed, opens) in [(&before, &after), (&after, &before)] {
        let state = result(sealed, &first).await["requestState"].clone();
        let again =
            call("several", json!({ "arguments": { "name": "Ada" }, "requestState": state }));
        assert!(opens.ask(&again).await.code().is_none());
        assert_eq!(stranger.ask(&again).await.code(), Some(-32602));
    }
}
