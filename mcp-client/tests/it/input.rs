//! Servers that ask for input first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{
    CallToolParams, ClientCapabilities, CreateMessageResult, ElicitAction, ElicitFormParams,
    ElicitResult, InputResponses, Outcome, RequestState, Root, SamplingCapability, request,
};
use mcp_client::{BoxError, BoxFuture, Client, ClientBuilder, Error, InputHandler, Limits};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Memory, OK, Piece, Reply, Server, call, error, result};

const FORM: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"string","enum":["S","L"],"default":"L"}}}}}"#;
const URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://a.example/?x=1"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"maxTokens":5,"messages":[{"role":"user","content":{"type":"text","text":"2+2"}}]}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

/// A result that asks for these, and has the state, as JSON, brought back.
fn asking(requests: &[(&str, &str)], state: Option<&str>) -> String {
    let members: Vec<_> = requests.iter().map(|(k, v)| format!(r#""{k}":{v}"#)).collect();
    let requests = if members.is_empty() {
        String::new()
    } else {
        format!(r#","inputRequests":{{{}}}"#, members.join(","))
    };
    let state = state.map_or_else(String::new, |state| format!(r#","requestState":{state}"#));
    result(&format!(r#"{{"resultType":"input_required"{requests}{state}}}"#))
}

#[expect(clippy::needless_pass_by_value, reason = "a handler gets the form")]
fn accept(form: ElicitFormParams) -> std::future::Ready<Result<ElicitResult, BoxError>> {
    std::future::ready(form.accept(&json!({"name": "Bob"})).map_err(Into::into))
}

/// What a request says beyond `_meta`.
fn said(server: &Server, nth: usize) -> Value {
    let mut params = server.requests()[nth].json()["params"].take();
    params.as_object_mut().unwrap().remove("_meta").unwrap();
    params
}

fn ids(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|request| request.json()["id"].clone()).collect()
}

// M1, M5
#[tokio::test]
async fn everything_that_is_asked_is_answered() {
    let all = [("f ö", FORM), ("u", URL), ("s", SAMPLE), ("r", ROOTS)];
    let server = Server::start([
        Reply::json(&asking(&all, Some(r#""\u0061\"\\ ☃=\/""#))),
        Reply::sse(&[&asking(&[("f ö", FORM)], None)]),
        Reply::json(&result(OK)),
    ])
    .await;
    let client = server
        .builder()
        .on_elicit(accept)
        .on_elicit_url(async |page| {
            assert_eq!(page.url, "https://a.example/?x=1");
            // A page has no content, whatever a handler says.
            ElicitResult::accept(&json!({"secret": 1}))
        })
        .on_sample(async |params| {
            assert_eq!(params.max_tokens, 5);
            let message = json!({"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"});
            serde_json::from_value::<CreateMessageResult>(message)
        })
        .on_roots(async || vec![Root::new("file:///a")])
        .build()
        .unwrap();
    let call = client.call_tool("t", json!({"a": 1}));
    call.await.unwrap();

    let arguments = json!({"a": 1});
    assert_eq!(said(&server, 0), json!({"name": "t", "arguments": arguments}));
    let form = json!({"action": "accept", "content": {"name": "Bob", "size": "L"}});
    let answers = json!({
        "f ö": form,
        "u": {"action": "accept"},
        "s": {"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"},
        "r": {"roots": [{"uri": "file:///a"}]},
    });
    let expected = json!({"name": "t", "arguments": arguments, "inputResponses": answers,
        "requestState": "a\"\\ ☃=/"});
    assert_eq!(said(&server, 1), expected);
    // The state of a round is for that round alone, and so are its answers.
    let expected = json!({"name": "t", "arguments": arguments, "inputResponses": {"f ö": form}});
    assert_eq!(said(&server, 2), expected);
    assert_eq!(ids(&server), [1, 2, 3]);
    for request in server.requests() {
        assert_eq!(request.header("mcp-name"), Some("t"));
        let capabilities =
            &request.json()["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let declared = json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}});
        assert_eq!(*capabilities, declared);
    }
}

fn declared(builder: ClientBuilder) -> String {
    let memory = Memory::new([("application/json", vec![Piece::Data(result(OK))])]);
    let seen = Arc::new(Mutex::new(String::new()));
    let see = Arc::clone(&seen);
    let transport = builder.service(Seeing { inner: memory, see }).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(call(&transport)).unwrap();
    seen.lock().unwrap().clone()
}

/// Notes the capabilities that requests declare.
#[derive(Clone)]
struct Seeing {
    inner: Memory,
    see: Arc<Mutex<String>>,
}

impl tower_service::Service<http::Request<http_body_util::Full<bytes::Bytes>>> for Seeing {
    type Response = <Memory as tower_service::Service<
        http::Request<http_body_util::Full<bytes::Bytes>>,
    >>::Response;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<http_body_util::Full<bytes::Bytes>>) -> Self::Future {
        use http_body_util::BodyExt;
        let (mut inner, see) = (self.inner.clone(), Arc::clone(&self.see));
        Box::pin(async move {
            let body = request.into_body().collect().await?.to_bytes();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let meta = &message["params"]["_meta"];
            *see.lock().unwrap() = meta["io.modelcontextprotocol/clientCapabilities"].to_string();
            inner.call(http::Request::new(http_body_util::Full::new(body))).await
        })
    }
}

/// Sends forms as they stand, and has one root.
struct Handler(ClientCapabilities);

impl InputHandler for Handler {
    fn capabilities(&self) -> ClientCapabilities {
        self.0.clone()
    }

    fn elicit(&self, form: ElicitFormParams) -> BoxFuture<'_, Result<ElicitResult, BoxError>> {
        Box::pin(accept(form))
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, BoxError>> {
        Box::pin(async { Ok(vec![Root::new("file:///a")]) })
    }
}

fn capabilities(text: &str) -> ClientCapabilities {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_has_a_handler_is_declared() {
    let builder = || Client::builder("http://memory/");
    let url = async |_| ElicitResult::of(ElicitAction::Decline);
    let with_tools = SamplingCapability { tools: Some(Default::default()), ..Default::default() };
    let own = ClientCapabilities { sampling: Some(with_tools), ..Default::default() };
    let table = [
        (builder(), "{}"),
        (builder().on_elicit(accept), r#"{"elicitation":{"form":{}}}"#),
        (builder().on_elicit_url(url), r#"{"elicitation":{"url":{}}}"#),
        (builder().on_elicit(accept).on_elicit_url(url), r#"{"elicitation":{"form":{},"url":{}}}"#),
        (builder().on_roots(async || Vec::new()), r#"{"roots":{}}"#),
        // An empty one stands for forms.
        (
            builder().capabilities(capabilities(r#"{"elicitation":{}}"#)).on_elicit_url(url),
            r#"{"elicitation":{"form":{},"url":{}}}"#,
        ),
        (
            builder().capabilities(own).on_roots(async || Vec::new()),
            r#"{"roots":{},"sampling":{"tools":{}}}"#,
        ),
        (
            builder().input_handler(Handler(capabilities(r#"{"elicitation":{},"roots":{}}"#))),
            r#"{"elicitation":{"form":{}},"roots":{}}"#,
        ),
        (
            builder().input_handler(Handler(capabilities(r#"{"sampling":{"tools":{}}}"#))),
            r#"{"sampling":{"tools":{}}}"#,
        ),
    ];
    for (builder, expected) in table {
        let expected: Value = serde_json::from_str(expected).unwrap();
        let found: Value = serde_json::from_str(&declared(builder)).unwrap();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_handler_can_be_one_type() {
    let requests = [("f", FORM), ("r", ROOTS)];
    let ask = Reply::json(&asking(&requests, None));
    let server = Server::start([ask, Reply::json(&result(OK))]).await;
    let handler = Handler(capabilities(r#"{"elicitation":{},"roots":{}}"#));
    call(&server.builder().input_handler(handler).build().unwrap()).await.unwrap();
    assert_eq!(said(&server, 1)["inputResponses"]["r"]["roots"][0]["uri"], "file:///a");
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let ask = || Reply::json(&asking(&[("f", FORM)], Some(r#""s""#)));
    let prompt = r#"{"messages":[]}"#;
    let contents = r#"{"contents":[]}"#;
    let replies = [ask(), Reply::json(&result(prompt)), ask(), Reply::json(&result(contents))];
    let server = Server::start(replies).await;
    let client = server.builder().on_elicit(accept).build().unwrap();
    client.get_prompt("p", ()).await.unwrap();
    client.read_resource("a:b").await.unwrap();
    for nth in [1, 3] {
        assert_eq!(said(&server, nth)["requestState"], "s");
        assert_eq!(said(&server, nth)["inputResponses"]["f"]["action"], "accept");
    }
    assert_eq!(said(&server, 3)["uri"], "a:b");
}

// M6: nobody is asked when one thing cannot be answered.
#[tokio::test]
async fn what_nobody_answers_is_handed_over() {
    let tools = SAMPLE.replace(r#""maxTokens""#, r#""tools":[],"maxTokens""#);
    for other in [ROOTS, URL, &tools] {
        let ask = Reply::json(&asking(&[("f", FORM), ("o", other)], None));
        let server = Server::start([ask]).await;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let client = server
            .builder()
            .on_elicit(move |form| {
                count.fetch_add(1, Ordering::Relaxed);
                accept(form)
            })
            .on_sample(async |_| Err::<CreateMessageResult, _>("not asked"))
            .build()
            .unwrap();
        let error = call(&client).await.unwrap_err();
        assert_eq!(error.input_required().unwrap().input_requests().len(), 2);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert_eq!(server.requests().len(), 1);
    }
}

// M3
#[tokio::test]
async fn a_caller_can_answer() {
    let ask = Reply::json(&asking(&[("f", FORM)], Some(r#""s""#)));
    let server = Server::start([ask, Reply::json(&result(OK))]).await;
    let client = server.builder().on_elicit(accept).build().unwrap();
    let params = CallToolParams::new("t");
    let outcome = client.call::<request::CallTool>(params.clone()).await.unwrap();
    let Outcome::InputRequired(input) = outcome else { panic!("{outcome:?}") };
    let (_, state) = input.into_parts();
    assert_eq!(state, Some(RequestState::from("s")));
    let mut responses = InputResponses::new();
    responses.insert("f", &ElicitResult::of(ElicitAction::Cancel)).unwrap();
    let params =
        CallToolParams { input_responses: Some(responses), request_state: state, ..params };
    let outcome = client.call::<request::CallTool>(params).await.unwrap();
    assert!(outcome.complete().is_some());
    assert_eq!(said(&server, 1)["inputResponses"]["f"], json!({"action": "cancel"}));
}

async fn fails_with(result: Result<ElicitResult, BoxError>) -> Error {
    let ask = Reply::json(&asking(&[("f", FORM)], None));
    let server = Server::start([ask]).await;
    let result = Mutex::new(Some(result));
    let answer = move |_| std::future::ready(result.lock().unwrap().take().unwrap());
    let client = server.builder().on_elicit(answer).build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
    error
}

#[tokio::test]
async fn a_wrong_answer_is_not_sent() {
    let table = [
        (ElicitResult::accept(&json!({"name": 5})), "\"name\" must be a text"),
        (ElicitResult::accept(&json!({"size": "S"})), "\"name\" must be filled in"),
        (Ok(ElicitResult::of(ElicitAction::Accept)), "\"name\" must be filled in"),
        (ElicitResult::accept(&json!({"name": "Bob", "size": "M"})), "one of the options"),
    ];
    for (answer, part) in table {
        let error = fails_with(Ok(answer.unwrap())).await;
        assert!(error.is_input() && !error.is_protocol(), "{error:?}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(part), "{source}");
    }
    let error = fails_with(Err("the screen is gone".into())).await;
    assert!(error.is_input() && error.status().is_some());
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the screen is gone");
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    for action in [ElicitAction::Decline, ElicitAction::Cancel] {
        let ask = Reply::json(&asking(&[("f", FORM)], None));
        let server = Server::start([ask, Reply::json(&result(OK))]).await;
        // Nothing that was filled in until then leaves the client.
        let filled =
            ElicitResult { action, ..ElicitResult::accept(&json!({"name": "B"})).unwrap() };
        let answer = move |_| std::future::ready(filled.clone());
        call(&server.builder().on_elicit(answer).build().unwrap()).await.unwrap();
        let action = serde_json::to_value(action).unwrap();
        assert_eq!(said(&server, 1)["inputResponses"]["f"], json!({"action": action}));
    }
}

fn memory(replies: impl IntoIterator<Item = String>) -> Memory {
    let reply = |text| ("application/json", vec![Piece::Data(text)]);
    Memory::new(replies.into_iter().map(reply))
}

// M5
#[tokio::test(start_paused = true)]
async fn a_state_alone_is_brought_back_after_a_pause() {
    let memory = memory([asking(&[], Some(r#""1""#)), asking(&[], Some(r#""""#)), result(OK)]);
    let since = Instant::now();
    // No handler is needed for it.
    assert_eq!(call(&memory.client()).await.unwrap(), "ok");
    assert_eq!(since.elapsed(), 2 * Limits::STATE_PAUSE);
    assert!(since.elapsed() >= Duration::from_millis(500));
}

#[tokio::test]
async fn a_retry_without_requests_has_no_answers() {
    let asks = [asking(&[("f", FORM)], Some(r#""1""#)), asking(&[], Some(r#""2""#)), result(OK)];
    let server = Server::start(asks.map(|ask| Reply::json(&ask))).await;
    call(&server.builder().on_elicit(accept).build().unwrap()).await.unwrap();
    assert_eq!(said(&server, 2), json!({"name": "t", "requestState": "2"}));
}

// M5
#[tokio::test(start_paused = true)]
async fn a_server_that_always_asks_is_stopped() {
    let mut limits = Limits::default();
    for (rounds, expected) in [(None, 11), (Some(3), 4), (Some(0), 1)] {
        limits.input_rounds = rounds.unwrap_or(Limits::INPUT_ROUNDS);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let memory = memory((0..20).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            asking(&[("f", FORM)], Some(r#""s""#))
        }));
        let shown = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&shown);
        let show = move |form| {
            count.fetch_add(1, Ordering::Relaxed);
            accept(form)
        };
        let client = memory.builder().limits(limits).on_elicit(show).build().unwrap();
        let error = call(&client).await.unwrap_err();
        assert_eq!(error.input_required().unwrap().request_state(), Some(&"s".into()));
        assert!(
            error.to_string().contains(&format!("after {} rounds", expected - 1)) || expected == 1
        );
        assert_eq!(shown.load(Ordering::Relaxed), expected - 1);
    }
}

#[tokio::test]
async fn a_server_that_asks_too_much_at_once_is_refused() {
    for (count, is_answered) in
        [(Limits::INPUT_REQUESTS, true), (Limits::INPUT_REQUESTS + 1, false)]
    {
        let keys: Vec<String> = (0..count).map(|nth| nth.to_string()).collect();
        let requests: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), FORM)).collect();
        let shown = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&shown);
        let show = move |form| {
            counter.fetch_add(1, Ordering::Relaxed);
            accept(form)
        };
        let memory = memory([asking(&requests, None), result(OK)]);
        let client = memory.builder().on_elicit(show).build().unwrap();
        let answer = call(&client).await;
        assert_eq!(answer.is_ok(), is_answered, "{count}");
        assert_eq!(shown.load(Ordering::Relaxed), if is_answered { count } else { 0 });
        if let Err(error) = answer {
            assert_eq!(error.input_required().unwrap().input_requests().len(), count);
            assert!(error.to_string().contains("65 things"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_total_counts_while_the_user_thinks() {
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let thinking = move |form| async move {
        tokio::time::sleep(minutes(3)).await;
        accept(form).await
    };
    let ask = || asking(&[("f", FORM)], None);
    let client = memory([ask(), ask(), result(OK)]).builder().on_elicit(thinking).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");

    let memory = memory([ask(), ask(), ask(), ask(), result(OK)]);
    let client = memory.builder().on_elicit(thinking).build().unwrap();
    let since = Instant::now();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(since.elapsed(), minutes(10));

    // Behind the user, the server has its time again.
    let client = self::memory([ask()]).builder().on_elicit(thinking).build().unwrap();
    let since = Instant::now();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(since.elapsed(), minutes(4));
}

#[tokio::test]
async fn dropping_the_call_drops_the_question() {
    struct Shown(Option<tokio::sync::oneshot::Sender<()>>);
    impl Drop for Shown {
        fn drop(&mut self) {
            self.0.take().unwrap().send(()).unwrap();
        }
    }
    let server = Server::start([Reply::json(&asking(&[("f", FORM)], None))]).await;
    let (shown, gone) = tokio::sync::oneshot::channel();
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let asked = Mutex::new(Some((Shown(Some(shown)), asked)));
    let client = server
        .builder()
        .on_elicit(move |_| {
            let (shown, asked) = asked.lock().unwrap().take().unwrap();
            async move {
                let _shown = shown;
                asked.send(()).unwrap();
                std::future::pending::<ElicitResult>().await
            }
        })
        .build()
        .unwrap();
    let call = tokio::spawn(client.call_tool("t", ()).into_future());
    is_asked.await.unwrap();
    call.abort();
    gone.await.unwrap();
    assert_eq!(server.requests().len(), 1);
}

// H7 on a retry leg: headers are mirrored on every leg.
#[tokio::test]
async fn every_leg_has_the_headers() {
    let tool = r#"{"name":"t","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}"#;
    let list = || Reply::json(&result(&format!(r#"{{"tools":[{tool}]}}"#)));
    let ask = || Reply::json(&asking(&[("f", FORM)], None));
    let mismatch = Reply::body("400 Bad Request", "application/json", &error(-32020, "null"));
    let server = Server::start([list(), ask(), mismatch, list(), Reply::json(&result(OK))]).await;
    let client = server.builder().on_elicit(accept).build().unwrap();
    client.list_tools().await.unwrap();
    client.call_tool("t", json!({"r": "x"})).header("x-own", "1").await.unwrap();
    for nth in [1, 2, 4] {
        assert_eq!(server.requests()[nth].header("mcp-param-r"), Some("x"));
        assert_eq!(server.requests()[nth].header("x-own"), Some("1"));
    }
    assert_eq!(said(&server, 4)["inputResponses"]["f"]["action"], "accept");
    assert_eq!(ids(&server), [1, 2, 3, 4, 5]);
}

// M10: what is complete is complete, whatever else it has.
#[tokio::test]
async fn a_result_without_a_type_is_complete() {
    let odd = r#"{"content":[{"type":"text","text":"ok"}],"requestState":"s","inputRequests":{}}"#;
    let server = Server::start([Reply::json(&result(odd))]).await;
    call(&server.builder().on_elicit(accept).build().unwrap()).await.unwrap();
    assert_eq!(server.requests().len(), 1);
    // Neither requests nor state: the retry would be the same request again.
    let server = Server::start([Reply::json(&asking(&[], None))]).await;
    let error = call(&server.client()).await.unwrap_err();
    assert!(error.is_protocol(), "{error:?}");
}

// Specification: Roots, Security Considerations.
#[tokio::test]
async fn no_root_leads_elsewhere() {
    for uri in ["https://a.example/", "file:///a/../b", "file:///a/%2e%2E/b", "file:///a%00"] {
        let server = Server::start([Reply::json(&asking(&[("r", ROOTS)], None))]).await;
        let client = server.builder().on_roots(move || std::future::ready(vec![Root::new(uri)]));
        let error = call(&client.build().unwrap()).await.unwrap_err();
        assert!(error.is_input(), "{error:?}");
        assert_eq!(server.requests().len(), 1, "{uri}");
    }
}

// Specification: Sampling, Message Content Constraints.
#[tokio::test]
async fn no_model_is_asked_what_is_no_conversation() {
    let lonely = SAMPLE.replace(
        r#"{"type":"text","text":"2+2"}"#,
        r#"{"type":"tool_result","toolUseId":"1","content":[]}"#,
    );
    let server = Server::start([Reply::json(&asking(&[("s", &lonely)], None))]).await;
    let client = server.builder().on_sample(async |_| -> Result<CreateMessageResult, BoxError> {
        panic!("the request is wrong")
    });
    let error = call(&client.build().unwrap()).await.unwrap_err();
    assert!(error.is_input(), "{error:?}");
    assert_eq!(server.requests().len(), 1);
}
