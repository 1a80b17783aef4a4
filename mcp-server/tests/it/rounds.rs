//! What a handler that asks can rely on from one round to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_server::types::{CacheScope, CreateMessageParams, SamplingMessage};
use mcp_server::{
    Answers, Args, Ask, BuildError, Context, FromContext, HandlerError, Progress, Prompt, Resource,
    ResourceTemplate, ResourceUri, ResponseMode, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ask::{Name, accept, call, capable_of_everything, greet, post, result, start, text};
use crate::support::{Bell, Post, Running, builder, capable, watched};

/// In a round that asks `for_keys`, what goes with them into the next one.
fn round(asked: &Value, for_keys: &[&str]) -> Value {
    let keys: Vec<_> =
        asked["inputRequests"].as_object().into_iter().flat_map(|o| o.keys()).collect();
    assert_eq!(keys, for_keys, "{asked}");
    let answer = |key: &&str| (String::from(*key), accept(json!({ "name": *key })));
    let responses: serde_json::Map<_, _> = for_keys.iter().map(answer).collect();
    let mut more = json!({ "inputResponses": responses });
    if let Some(state) = asked.get("requestState") {
        more["requestState"] = state.clone();
    }
    more
}

/// An answer belongs to its question: where that stands makes no difference, what it says does.
#[tokio::test]
async fn order_is_harmless_and_a_changed_question_is_asked_again() {
    let release = Arc::new(AtomicUsize::new(0));
    let tool = Tool::new("changes", async |release: Arc<AtomicUsize>, ask: Ask| {
        let asked = async |key, message: &str| {
            ask.form::<Name>(key, message).await.accepted().map_or_else(String::new, |n| n.name)
        };
        let (a, b, c) = match release.load(Ordering::SeqCst) {
            0 => (asked("a", "A?").await, asked("b", "B?").await, asked("c", "C?").await),
            _ => {
                let (c, b) = (asked("c", "C?").await, asked("b", "Which B?").await);
                (asked("a", "A?").await, b, c)
            }
        };
        a + &b + &c
    });
    let running = start(builder().tool(tool).state(Arc::clone(&release))).await;
    let ask = async |more: Value| result(&running, &call("changes", more)).await;
    let more = round(&ask(json!({})).await, &["a"]);
    let answers_b = round(&ask(more).await, &["b"]);
    let answers_c = round(&ask(answers_b.clone()).await, &["c"]);
    release.store(1, Ordering::SeqCst);
    // `c` is asked first now, and was answered; `b` is another question, whether its answer was taken or comes now.
    let more = round(&ask(answers_c).await, &["b"]);
    assert_eq!(text(&ask(more).await), "abc");
    let more = round(&ask(answers_b).await, &["c"]);
    let more = round(&ask(more).await, &["b"]);
    assert_eq!(text(&ask(more).await), "abc");
}

/// Other work that is joined with an ask is dropped with the round, and done again in the next.
#[tokio::test]
async fn what_is_joined_with_an_ask_is_repeated() {
    let (go, (flag, mut dropped), begun) = (Bell::new(), watched(), Arc::new(AtomicUsize::new(0)));
    let (go_on, count) = (go.clone(), Arc::clone(&begun));
    let tool = Tool::new("joins", move |ask: Ask| {
        let (go, flag, count) = (go_on.clone(), flag.clone(), Arc::clone(&count));
        async move {
            let work = async move {
                let _flag = flag();
                count.fetch_add(1, Ordering::SeqCst);
                go.wait().await;
            };
            let (said, ()) = tokio::join!(greet(ask), work);
            said
        }
    });
    let running = start(builder().tool(tool)).await;
    let more = round(&result(&running, &call("joins", json!({}))).await, &["name"]);
    dropped.dropped().await;
    go.ring();
    assert_eq!(text(&result(&running, &call("joins", more)).await), "Hello, name!");
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

/// A question that lost a race is not waited for any more, so the round does not end with it; one that is waited for
/// twice is, until both have given up.
#[tokio::test]
async fn what_lost_a_race_is_not_asked() {
    let tool = Tool::new("races", async |ask: Ask, Args(Name { name }): Args<Name>| {
        let waiting = ask.form::<Name>("k", "Who?");
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            _ = ask.form::<Name>("k", "Who?") => {}
            () = ask.come_back("b") => {}
            _ = &mut waiting, if name == "twice" => {}
            () = async {} => {}
        }
        tokio::task::yield_now().await;
        "went on"
    });
    let running = start(builder().tool(tool)).await;
    let call = |name: &str| call("races", json!({ "arguments": { "name": name } }));
    assert_eq!(text(&result(&running, &call("once")).await), "went on");
    assert_eq!(result(&running, &call("twice")).await["resultType"], "input_required");
}

/// M5: a round without a question: what is known goes along, and the client comes back with it, maybe to another instance.
#[tokio::test]
async fn a_client_is_sent_away_to_come_back() {
    let began = Arc::new(AtomicUsize::new(0));
    let sends = || {
        let count = Arc::clone(&began);
        Tool::new("sends", move |ask: Ask, Args(Name { name }): Args<Name>| {
            let count = Arc::clone(&count);
            async move {
                let kept =
                    ask.remember("kept", async { count.fetch_add(1, Ordering::SeqCst) }).await;
                ask.come_back("busy").await;
                if name == "endless" {
                    ask.again("busy");
                    ask.come_back("busy").await;
                }
                let ((), said) = tokio::join!(ask.come_back("again"), greet(ask.clone()));
                format!("{said} {kept}")
            }
        })
    };
    let instances = [start(builder().tool(sends())).await, start(builder().tool(sends())).await];
    let ask = async |instance: usize, name: &str, more: &Value| {
        let mut more = more.clone();
        more["arguments"] = json!({ "name": name });
        instances[instance].ask(&call("sends", more)).await
    };
    let asked = ask(0, "Ada", &json!({})).await.result();
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("inputRequests").is_none(), "{asked}");
    let asked = ask(1, "Ada", &round(&asked, &[])).await.result();
    // Joined with a question it goes in one round with it.
    let done = ask(0, "Ada", &round(&asked, &["name"])).await.result();
    assert_eq!(text(&done), "Hello, name! 0");
    assert_eq!(began.load(Ordering::SeqCst), 1);

    let mut more = json!({});
    for n in 0.. {
        let reply = ask(n % 2, "endless", &more).await;
        if let Some(code) = reply.code() {
            assert_eq!((code, u32::try_from(n).unwrap()), (-32603, mcp_server::ask::MAX_ROUNDS));
            break;
        }
        more = round(&reply.result(), &[]);
    }
}

/// M6: to sample with tools takes a capability of its own.
#[tokio::test]
async fn sampling_with_tools_has_its_own_flag() {
    let tool = Tool::new("samples", async |ask: Ask| {
        let tools = vec![mcp_server::types::Tool::new("t", json!({ "type": "object" }))];
        let params = CreateMessageParams {
            tools: Some(tools),
            ..CreateMessageParams::new(vec![SamplingMessage::user("Use it")], 10)
        };
        ask.sample("s", params).await.model
    });
    let running = start(builder().tool(tool)).await;
    for (declared, code) in
        [(json!({ "sampling": {} }), Some(-32021)), (json!({ "sampling": { "tools": {} } }), None)]
    {
        let meta = capable(declared);
        let post = Post::rpc("tools/call", json!({ "name": "samples", "_meta": meta }));
        let reply = running.ask(&post).await;
        assert_eq!(reply.code(), code);
        match code {
            Some(_) => assert_eq!(
                reply.message()["error"]["data"]["requiredCapabilities"],
                json!({ "sampling": { "tools": {} } })
            ),
            None => {
                assert_eq!(reply.result()["inputRequests"]["s"]["params"]["tools"][0]["name"], "t")
            }
        }
    }
}

/// M7: what belongs to a prompt or a resource opens for nothing else.
#[tokio::test]
async fn prompts_and_resources_have_rounds_too() {
    async fn twice(ask: Ask) -> String {
        format!("{} {}", greet(ask.clone()).await, {
            let more = ask.form::<Name>("more", "Who else?").await.accepted();
            more.map_or_else(String::new, |name| name.name)
        })
    }
    let prompt = Prompt::new("p", async |ask: Ask, Args(Name { name }): Args<Name>| {
        twice(ask).await + &name
    });
    let running = start(
        builder()
            .prompt(prompt)
            .resource_template(ResourceTemplate::new("x:{name}", "x", twice))
            .tool(Tool::new("p", twice)),
    )
    .await;
    let with = |params: &Value, more: &Value| {
        let mut params = params.clone();
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for (method, params, others) in [
        (
            "prompts/get",
            json!({ "name": "p", "arguments": { "name": "a" } }),
            [
                ("prompts/get", json!({ "name": "p", "arguments": { "name": "b" } })),
                ("tools/call", json!({ "name": "p", "arguments": { "name": "a" } })),
            ],
        ),
        (
            "resources/read",
            json!({ "uri": "x:a" }),
            [
                ("resources/read", json!({ "uri": "x:b" })),
                ("prompts/get", json!({ "name": "p", "arguments": { "name": "a" } })),
            ],
        ),
    ] {
        let asked = result(&running, &post(method, params.clone())).await;
        let more = round(&asked, &["name"]);
        let asked = result(&running, &post(method, with(&params, &more))).await;
        let more = round(&asked, &["more"]);
        for (method, params) in others {
            let reply = running.ask(&post(method, with(&params, &more))).await;
            assert_eq!((reply.status, reply.code()), (400, Some(-32602)), "{method} {params}");
        }
        let done = result(&running, &post(method, with(&params, &more))).await;
        assert!(done.to_string().contains("Hello, name! more"), "{done}");
    }
}

/// M5: by hand, too, a round may ask for nothing but to come back, whatever is asked for.
#[tokio::test]
async fn states_alone_by_hand() {
    use mcp_server::types::{
        CallToolResult, ErrorObject, GetPromptResult, InputRequired, Outcome, ReadResourceResult,
    };
    use mcp_server::{IntoPromptResult, IntoResourceResult, IntoToolResult, ResourceInfo};

    struct Raw(Option<String>);
    impl Raw {
        fn or_away<T>(
            self,
            done: impl FnOnce(String) -> Result<Outcome<T>, ErrorObject>,
        ) -> Result<Outcome<T>, ErrorObject> {
            match self.0 {
                Some(state) => done(state),
                None => Ok(Outcome::InputRequired(InputRequired::retry("later".into()))),
            }
        }
    }
    impl IntoToolResult for Raw {
        fn into_tool_result(self) -> Result<Outcome<CallToolResult>, ErrorObject> {
            self.or_away(String::into_tool_result)
        }
    }
    impl IntoPromptResult for Raw {
        fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>, ErrorObject> {
            self.or_away(String::into_prompt_result)
        }
    }
    impl IntoResourceResult for Raw {
        fn into_resource_result(
            self,
            info: ResourceInfo<'_>,
        ) -> Result<Outcome<ReadResourceResult>, ErrorObject> {
            self.or_away(|state| state.into_resource_result(info))
        }
    }
    async fn raw(answers: Answers) -> Raw {
        Raw(answers.state.map(|state| state.as_str().to_owned()))
    }
    let running = start(
        builder()
            .tool(Tool::new("t", raw))
            .prompt(Prompt::new("p", raw))
            .resource(Resource::new("x:r", "r", raw)),
    )
    .await;
    for (method, params) in [
        ("tools/call", json!({ "name": "t" })),
        ("prompts/get", json!({ "name": "p" })),
        ("resources/read", json!({ "uri": "x:r" })),
    ] {
        let away = result(&running, &post(method, params.clone())).await;
        assert_eq!(away["resultType"], "input_required");
        assert!(away.get("inputRequests").is_none());
        let mut params = params;
        params["requestState"] = away["requestState"].clone();
        let done = result(&running, &post(method, params)).await;
        assert!(done["resultType"] == "complete" && done.to_string().contains("later"), "{done}");
    }
}

/// A form that no client could show is found when the server is built, if the handler says what it asks.
#[test]
fn forms_are_checked_when_the_server_is_built() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "never asked for")]
    struct Nested {
        inner: Name,
    }
    let resource = || Resource::new("x:r", "r", greet);
    let template = || ResourceTemplate::new("x:{a}", "x", greet);
    for (built, handler) in [
        (builder().tool(Tool::new("t", greet).asks::<Name>().asks::<Nested>()), "t"),
        (builder().prompt(Prompt::new("p", greet).asks::<Nested>()), "p"),
        (builder().resource(resource().asks::<Nested>()), "x:r"),
        (builder().resource_template(template().asks::<Nested>()), "x:{a}"),
    ] {
        let error = built.build().unwrap_err();
        assert!(error.to_string().contains(handler), "{error}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("Nested") && source.contains("inner"), "{source}");
    }
    let flat = builder().tool(Tool::new("t", greet).asks::<Name>());
    let server = flat.resource(resource().asks::<Name>()).build().unwrap();
    // Or when it is changed.
    let nested = Tool::new("n", greet).asks::<Nested>();
    assert!(matches!(server.edit().add_tool(nested).apply(), Err(BuildError::Form { .. })));
}

/// T16: nor does a handler hang that has a task of its own ask, whether that asks at once or after a while.
#[tokio::test]
async fn to_ask_in_a_task_fails_at_once() {
    let (begun, go) = (Bell::new(), Bell::new());
    let (rings, waits) = (begun.clone(), go.clone());
    let spawns = Tool::new("spawns", move |ask: Ask, Args(Name { name }): Args<Name>| {
        let (begun, go) = (rings.clone(), waits.clone());
        async move {
            let asks = async move {
                begun.ring();
                if name == "later" {
                    go.wait().await;
                }
                greet(ask).await
            };
            tokio::spawn(asks).await.unwrap()
        }
    });
    let running = start(builder().tool(spawns)).await;
    for name in ["at once", "later"] {
        let mut conn = running.connect().await;
        let call = call("spawns", json!({ "arguments": { "name": name } }));
        conn.send(&call.bytes()).await;
        begun.rung().await;
        if name == "later" {
            go.ring();
        }
        assert_eq!(conn.reply().await.code(), Some(-32603), "{name}");
    }
}

/// T16: a handler that hides that it asks fails at once, and does not wait for an answer that nobody brings.
#[tokio::test]
async fn to_ask_in_hiding_fails_at_once() {
    struct Hidden(Ask);
    impl FromContext for Hidden {
        fn from_context(context: &Context) -> Result<Self, HandlerError> {
            Ask::from_context(context).map(Self)
        }
    }
    let hides = Tool::new("hides", async |Hidden(ask): Hidden| greet(ask).await);
    let running = start(builder().tool(hides)).await;
    assert_eq!(result(&running, &call("hides", json!({}))).await["isError"], true);
}

/// What a handler says before it asks is sent, and the question ends the stream; a payment may ask as well. T16: where
/// there is no stream, it is asked all the same.
#[tokio::test]
async fn whatever_carries_the_reply() {
    async fn reports(progress: Progress, ask: Ask) -> String {
        progress.report(1);
        greet(ask).await
    }
    let pays = Tool::new("pays", reports).run_to_completion();
    let running = start(builder().tools([Tool::new("tells", reports), pays])).await;
    for tool in ["tells", "pays"] {
        let mut more = json!({});
        for last in ["input_required", "complete"] {
            let mut params = json!({ "name": tool, "_meta": capable_of_everything() });
            params["_meta"]["progressToken"] = json!("t");
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let events = running.ask(&Post::rpc("tools/call", params)).await.events();
            assert_eq!(events.len(), 2, "{tool}");
            assert_eq!(events[0]["params"]["progress"], 1);
            assert_eq!(events[1]["result"]["resultType"], last);
            more = json!({ "inputResponses": { "name": accept(json!({ "name": "Ada" })) } });
        }
    }
    for mode in [ResponseMode::Auto, ResponseMode::Sse, ResponseMode::Json] {
        let running = start(builder().tool(Tool::new("tells", reports)).response_mode(mode)).await;
        for accept in ["application/json", "text/event-stream"] {
            let reply = running.ask(&call("tells", json!({})).set("Accept", accept)).await;
            assert_eq!(reply.result()["resultType"], "input_required", "{mode:?} {accept}");
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Size {
    Small,
    Large,
}
#[derive(Debug, Deserialize, JsonSchema)]
enum Taste {
    /// As sugar.
    Sweet,
    /// As a lemon.
    Sour,
}
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "is shown whole")]
struct Order {
    text: String,
    number: f64,
    count: i32,
    sure: bool,
    size: Size,
    taste: Taste,
    sizes: Vec<Size>,
    tastes: Vec<Taste>,
    more: Option<bool>,
}

async fn orders() -> Running {
    let orders = Tool::new("orders", async |ask: Ask| {
        format!("{:?}", ask.form::<Order>("order", "What?").await.accepted().unwrap())
    });
    start(builder().tool(orders.asks::<Order>())).await
}

/// M9: each kind of field is asked for as what it is.
#[tokio::test]
async fn every_kind_of_field_is_asked_for() {
    let running = orders().await;
    let asked = result(&running, &call("orders", json!({}))).await;
    let schema = &asked["inputRequests"]["order"]["params"]["requestedSchema"];
    let titles = json!([{ "const": "Sweet", "title": "As sugar." }, { "const": "Sour", "title": "As a lemon." }]);
    let of = |name: &str| &schema["properties"][name];
    for (name, kind) in [
        ("text", "string"),
        ("number", "number"),
        ("count", "integer"),
        ("sure", "boolean"),
        ("size", "string"),
        ("taste", "string"),
        ("sizes", "array"),
        ("tastes", "array"),
        ("more", "boolean"),
    ] {
        assert_eq!(of(name)["type"], kind, "{name}");
    }
    assert_eq!(of("size")["enum"], json!(["Small", "Large"]));
    assert_eq!(of("taste")["oneOf"], titles);
    assert_eq!(of("sizes")["items"]["enum"], json!(["Small", "Large"]));
    assert_eq!(of("tastes")["items"]["anyOf"], titles);
    assert!(!schema["required"].as_array().unwrap().contains(&json!("more")));
}

/// M9: and comes back as what it is.
#[tokio::test]
async fn every_kind_of_field_comes_back() {
    let running = orders().await;
    let order = json!({
        "text": "t", "number": 1.5, "count": 2, "sure": true, "size": "Large", "taste": "Sour",
        "sizes": ["Small"], "tastes": [], "more": false,
    });
    let answer = async |order: &Value| {
        let more = json!({ "inputResponses": { "order": accept(order.clone()) } });
        result(&running, &call("orders", more)).await
    };
    assert_eq!(
        text(&answer(&order).await),
        "Order { text: \"t\", number: 1.5, count: 2, sure: true, size: Large, taste: Sour, sizes: [Small], \
         tastes: [], more: Some(false) }"
    );
    // However the client writes its numbers.
    let mut floats = order.clone();
    (floats["count"], floats["number"]) = (json!(2.0), json!(1.5));
    assert_eq!(text(&answer(&floats).await), text(&answer(&order).await));
    for (member, wrong) in [
        ("sure", json!("true")),
        ("count", json!(2.5)),
        ("count", json!("2")),
        ("size", json!("Medium")),
        ("taste", json!("As sugar.")),
        ("sizes", json!("Small")),
        ("text", json!(null)),
    ] {
        let mut order = order.clone();
        order[member] = wrong;
        assert_eq!(answer(&order).await["resultType"], "input_required", "{member}");
    }
}

/// What is remembered comes back as it was, an error as well; what would not is an error, rather than made again
/// and again.
#[tokio::test]
async fn what_is_remembered_survives() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let fails = Tool::new("fails", move |ask: Ask| {
        let tries = Arc::clone(&counted);
        async move {
            let attempt = async { Err::<u8, usize>(tries.fetch_add(1, Ordering::SeqCst)) };
            let kept = ask.remember("kept", attempt).await;
            format!("{} {kept:?}", greet(ask).await)
        }
    });
    let lossy = Tool::new("lossy", async |ask: Ask| {
        let kept = ask.remember("kept", async { f64::NAN }).await;
        format!("{} {kept}", greet(ask).await)
    });
    let running = start(builder().tools([fails, lossy])).await;
    let asked = result(&running, &call("fails", json!({}))).await;
    let mut more = round(&asked, &["name"]);
    more["inputResponses"]["name"] = accept(json!({ "name": "Ada" }));
    assert_eq!(text(&result(&running, &call("fails", more)).await), "Hello, Ada! Err(0)");
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    assert_eq!(running.ask(&call("lossy", json!({}))).await.code(), Some(-32603));
}

/// An answer belongs to the question that was put, also when its tool is another by the next round.
#[tokio::test]
async fn a_tool_may_be_replaced_between_two_rounds() {
    let asks = |question: &'static str| {
        Tool::new("t", move |ask: Ask| async move {
            let kept = ask.remember("kept", async { question.to_owned() }).await;
            let name = ask.form::<Name>("name", question).await.accepted().unwrap().name;
            format!("{name} {kept}")
        })
    };
    let server = builder().tool(asks("One?")).build().unwrap();
    let running = Running::start(server.clone()).await;
    let asked = result(&running, &call("t", json!({}))).await;
    let mut more = json!({ "requestState": asked["requestState"] });
    more["inputResponses"] = json!({ "name": accept(json!({ "name": "Ada" })) });
    server.edit().replace_tool(asks("Two?")).apply().unwrap();
    let anew = result(&running, &call("t", more.clone())).await;
    assert_eq!(anew["inputRequests"]["name"]["params"]["message"], "Two?");
    server.edit().replace_tool(asks("One?")).apply().unwrap();
    assert_eq!(text(&result(&running, &call("t", more.clone())).await), "Ada One?");
    server.edit().replace_tool(Tool::new("t", async || "asks nothing")).apply().unwrap();
    assert_eq!(text(&result(&running, &call("t", more.clone())).await), "asks nothing");
    server.edit().remove_tool("t").apply().unwrap();
    assert_eq!(running.ask(&call("t", more)).await.code(), Some(-32602));
}

/// What depends on answers is good for nobody else. Specification: Caching, Cache Key.
#[tokio::test]
async fn what_was_answered_is_not_cached() {
    let public = |resource: Resource| resource.cache(Duration::from_secs(1), CacheScope::Public);
    async fn by_hand(_: Answers) -> &'static str {
        "read"
    }
    async fn perhaps(ask: Ask, ResourceUri(uri): ResourceUri) -> String {
        if uri == "x:asks" { greet(ask).await } else { uri }
    }
    let running = start(
        builder()
            .resource(public(Resource::new("x:asks", "r", perhaps)))
            .resource(public(Resource::new("x:does-not", "r", perhaps)))
            .resource(public(Resource::new("x:by-hand", "r", by_hand)))
            .resource(public(Resource::text("x:never", "r", "read"))),
    )
    .await;
    let (public, private) = (json!([1000, "public"]), json!([0, "private"]));
    let answers = json!({ "name": accept(json!({ "name": "Ada" })) });
    for (uri, more, hint) in [
        ("x:asks", json!({ "inputResponses": answers }), &private),
        ("x:does-not", json!({}), &public),
        ("x:does-not", json!({ "inputResponses": {} }), &public),
        ("x:by-hand", json!({}), &public),
        ("x:by-hand", json!({ "inputResponses": answers }), &private),
        ("x:by-hand", json!({ "requestState": "s" }), &private),
        ("x:never", json!({ "inputResponses": answers }), &public),
    ] {
        let mut params = more;
        params["uri"] = json!(uri);
        let read = result(&running, &post("resources/read", params)).await;
        assert_eq!(json!([read["ttlMs"], read["cacheScope"]]), *hint, "{uri}");
    }
}
