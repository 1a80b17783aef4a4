//! HTTP and connections of the caller's own, and layers around calls.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Pool, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_client::testing::{Reply as Scripted, Script};
use mcp_client::types::SubscriptionFilter;
use mcp_client::{CallRequest, CallResponse, CallService, Client, Error as CallError};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower::layer::layer_fn;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;
use tower_service::Service;

use crate::support::{Memory, OK, Piece, Reply, Server, call, error, result};

type Boxed<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Connects to one server, whatever the address.
#[derive(Clone)]
struct Always(String);

impl Service<Uri> for Always {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = Boxed<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let host = self.0.clone();
        Box::pin(async move { TcpStream::connect(host).await.map(TokioIo::new) })
    }
}

#[tokio::test]
async fn a_connector_makes_the_connections() {
    let server = Server::start([Reply::json(&result(OK)), Reply::json(&result(OK))]).await;
    // What TLS is to an address, this is to one of HTTPS.
    let builder = Client::builder("https://example.com/mcp").connector(Always(server.host.clone()));
    let client = builder.build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.requests()[0].header("host"), Some("example.com"));
    assert_eq!(server.connections(), 1);

    let nowhere = Client::builder("https://example.com/").connector(Always("127.0.0.1:0".into()));
    assert!(call(&nowhere.build().unwrap()).await.unwrap_err().is_connect());
}

/// Notes what passes, and adds a header, as a layer would.
#[derive(Clone)]
struct Noting {
    inner: Pool<HttpConnector, Full<Bytes>>,
    noted: Arc<Mutex<Vec<(String, serde_json::Value)>>>,
}

impl Service<Request<Full<Bytes>>> for Noting {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = Boxed<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<Full<Bytes>>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let (mut inner, noted) = (self.inner.clone(), Arc::clone(&self.noted));
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let version = head.headers["mcp-protocol-version"].to_str().unwrap().to_owned();
            noted.lock().unwrap().push((version, serde_json::from_slice(&body).unwrap()));
            head.headers.insert("x-layer", "1".parse().unwrap());
            inner.call(Request::from_parts(head, Full::new(body))).await
        })
    }
}

// H8: a layer in between sees the whole message, whose header and body agree.
#[tokio::test]
async fn a_service_is_the_http_layer() {
    let server = Server::start([Reply::json(&result(OK)), Reply::sse(&[&result(OK)])]).await;
    let inner = Pool::builder(TokioExecutor::new()).build_http();
    let noting = Noting { inner, noted: Arc::default() };
    let client = Client::builder(&server.url).service(noting.clone()).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(server.requests()[1].header("x-layer"), Some("1"));
    let noted = noting.noted.lock().unwrap();
    assert_eq!(noted.len(), 2);
    for (header, message) in &*noted {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], *header);
    }
}

/// Who makes a call, given along with it.
#[derive(Clone)]
struct Caller(&'static str);

/// Notes what comes by, and says who calls.
#[derive(Clone)]
struct Signing {
    inner: CallService,
    name: &'static str,
    noted: Arc<Mutex<Vec<String>>>,
}

impl Service<CallRequest> for Signing {
    type Response = CallResponse;
    type Error = CallError;
    type Future = Boxed<CallResponse, CallError>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: CallRequest) -> Self::Future {
        let caller = request.extensions().get::<Caller>().map_or("nobody", |caller| caller.0);
        let called = format!("{}: {} {:?}", self.name, request.method(), request.target());
        self.noted.lock().unwrap().push(called);
        request.set_header(format!("x-{}", self.name), caller).unwrap();
        assert!(request.set_header("mcp-name", "forged").unwrap_err().is_usage());
        request.meta_mut().other.insert(format!("org.example/{}", self.name), json!(caller).into());
        let (made, noted) = (self.inner.call(request), Arc::clone(&self.noted));
        Box::pin(async move {
            let response = made.await?;
            if response.is_tool_error() {
                noted.lock().unwrap().push("failed".to_owned());
            }
            Ok(response)
        })
    }
}

#[tokio::test]
async fn layers_see_every_call_and_may_change_it() {
    let ack = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#;
    let page = |more: &str| Reply::json(&result(&format!(r#"{{"prompts":[]{more}}}"#)));
    let mismatch = Reply::body("400 Bad Request", "application/json", &error(-32020, "null"));
    let asking = result(r#"{"resultType":"input_required","requestState":"s"}"#);
    let server = Server::start([
        Reply::json(&result(r#"{"isError":true,"content":[]}"#)),
        page(r#","nextCursor":"2""#),
        page(""),
        Reply::open_sse(&[ack]),
        // The legs of one call.
        mismatch,
        Reply::json(&result(r#"{"tools":[]}"#)),
        Reply::json(&asking),
        Reply::json(&result(OK)),
    ])
    .await;
    let noted = Arc::<Mutex<Vec<String>>>::default();
    let signing = |name| {
        let noted = Arc::clone(&noted);
        layer_fn(move |inner| Signing { inner, name, noted: Arc::clone(&noted) })
    };
    let client = server.builder().layer(signing("inner")).layer(signing("outer")).build().unwrap();
    client.call_tool("t", ()).extension(Caller("ann")).await.unwrap();
    client.list_prompts().extension(Caller("bob")).all().await.unwrap();
    // O11: a subscription is opened through them, too.
    let changes = client.listen(SubscriptionFilter::new()).await.unwrap();
    client.call_tool("t", ()).extension(Caller("eve")).await.unwrap();
    drop(changes);

    let pair = |call: &str| [format!("outer: {call}"), format!("inner: {call}")];
    let tool = r#"tools/call Some("t")"#;
    let mut expected = pair(tool).to_vec();
    expected.extend(["failed".to_owned(), "failed".to_owned()]);
    for call in ["prompts/list None", "prompts/list None", "subscriptions/listen None", tool] {
        expected.extend(pair(call));
    }
    assert_eq!(*noted.lock().unwrap(), expected);
    let callers = ["ann", "bob", "bob", "nobody", "eve", "eve", "eve", "eve"];
    for (request, caller) in server.requests().iter().zip(callers) {
        for layer in ["inner", "outer"] {
            assert_eq!(request.header(&format!("x-{layer}")), Some(caller));
        }
        let meta = &request.json()["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        // The list for the headers is the client's own.
        if request.header("mcp-method") != Some("tools/list") {
            assert_eq!(meta["org.example/inner"], caller);
        }
    }
    assert_eq!(server.requests().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn towers_own_layers_can_be_used() {
    let second = Duration::from_secs(1);
    let silent = || Scripted::stream().then_hang();
    let script = Script::new([silent(), Scripted::result(&json!({ "content": [] })), silent()]);
    let client = script
        .builder()
        .layer(TimeoutLayer::new(3 * second))
        .layer(ConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let since = Instant::now();
    // The second waits for the first.
    let (late, made) = tokio::join!(
        client.call_tool("t", ()).into_future(),
        client.call_tool("t", ()).into_future()
    );
    made.unwrap();
    let error = late.unwrap_err();
    assert!(error.is_layer() && !error.is_timeout(), "{error:?}");
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.is::<tower::timeout::error::Elapsed>(), "{source:?}");
    assert_eq!(since.elapsed().as_secs(), 3);
    // An error from below comes through as it is.
    let error = client.call_tool("t", ()).timeout(second).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_in_a_layer_is_waiting() {
    let second = Duration::from_secs(1);
    let hang = ("text/event-stream", vec![Piece::Hang]);
    let ok = ("application/json", vec![Piece::Data(result(OK))]);
    let memory = Memory::new([hang, ok]);
    let client = memory.builder().layer(ConcurrencyLimitLayer::new(1)).build().unwrap();
    let first = tokio::spawn(client.call_tool("t", ()).timeout(9 * second).into_future());
    tokio::task::yield_now().await;
    let since = Instant::now();
    let waiting = client.call_tool("t", ()).total_timeout(4 * second);
    assert!(waiting.await.unwrap_err().is_timeout());
    assert_eq!(since.elapsed(), 4 * second);
    // What waited for too long is not made any more, though it could be.
    let waiting = client.call_tool("t", ()).timeout(4 * second);
    assert!(waiting.await.unwrap_err().is_timeout());
    assert_eq!(since.elapsed(), 8 * second);
    assert!(first.await.unwrap().unwrap_err().is_timeout());
    assert_eq!(call(&client).await.unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn no_more_are_in_flight_than_may_be() {
    let second = Duration::from_secs(1);
    let slow = || ("application/json", vec![Piece::Wait(second), Piece::Data(result(OK))]);
    let memory = Memory::new((0..7).map(|_| slow()));
    let client = memory.builder().max_in_flight(2).build().unwrap();
    let done = Arc::<Mutex<Vec<(usize, u64)>>>::default();
    let since = Instant::now();
    let calls = (0..6).map(|nth| {
        let (client, done) = (client.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            call(&client).await.unwrap();
            done.lock().unwrap().push((nth, since.elapsed().as_secs()));
        })
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        call.await.unwrap();
    }
    // Two by two, in their order.
    let mut done = done.lock().unwrap();
    done.sort_unstable();
    assert_eq!(*done, [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3)]);
    assert!(memory.builder().max_in_flight(0).build().unwrap_err().is_usage());
    assert!(memory.builder().max_in_flight(usize::MAX).build().is_ok());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_counts_and_the_user_holds_none() {
    let second = Duration::from_secs(1);
    let data = |text: String| ("application/json", vec![Piece::Data(text)]);
    let form = r#"{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#;
    let hang = ("text/event-stream", vec![Piece::Hang]);
    let memory = Memory::new([data(result(form)), data(result(OK)), data(result(OK)), hang]);
    let client = memory
        .builder()
        .max_in_flight(1)
        .on_roots(move || async move {
            tokio::time::sleep(60 * second).await;
            Vec::new()
        })
        .build()
        .unwrap();
    let asked = tokio::spawn(client.call_tool("t", ()).into_future());
    tokio::task::yield_now().await;
    let since = Instant::now();
    // Not a second is waited for the user of the other call.
    client.call_tool("t", ()).timeout(second).await.unwrap();
    assert_eq!(since.elapsed().as_secs(), 0);
    asked.await.unwrap().unwrap();

    let first = tokio::spawn(client.call_tool("t", ()).timeout(9 * second).into_future());
    tokio::task::yield_now().await;
    let error = client.call_tool("t", ()).timeout(second).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    // One that waits may be dropped.
    let waiting = tokio::time::timeout(second, client.call_tool("t", ()).into_future());
    waiting.await.unwrap_err();
    assert!(first.await.unwrap().unwrap_err().is_timeout());
}

/// A layer that is a function.
#[derive(Clone)]
struct Calling<F>(F);

impl<F, Fut> Service<CallRequest> for Calling<F>
where
    F: Fn(CallRequest) -> Fut,
    Fut: Future<Output = Result<CallResponse, CallError>>,
{
    type Response = CallResponse;
    type Error = CallError;
    type Future = Fut;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Fut {
        (self.0)(request)
    }
}

/// Never makes a call.
#[derive(Clone)]
struct Black {
    hole: Arc<Mutex<Vec<CallRequest>>>,
    is_ready: bool,
    keeps: bool,
}

impl Service<CallRequest> for Black {
    type Response = CallResponse;
    type Error = CallError;
    type Future = std::future::Pending<Result<CallResponse, CallError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        if self.is_ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        if self.keeps {
            self.hole.lock().unwrap().push(request);
        }
        std::future::pending()
    }
}

// A layer that is never ready, keeps a call, or drops it, lasts no longer than a server that does not answer.
#[tokio::test(start_paused = true)]
async fn no_layer_lasts_for_ever() {
    let second = Duration::from_secs(1);
    for (is_ready, keeps) in [(false, false), (true, false), (true, true)] {
        let black = Black { hole: Arc::default(), is_ready, keeps };
        let client = Memory::new([]).builder().layer(layer_fn(move |_| black.clone()));
        let client = client.timeout(7 * second).build().unwrap();
        let since = Instant::now();
        assert!(call(&client).await.unwrap_err().is_timeout());
        assert!(client.list_prompts().all().await.unwrap_err().is_timeout());
        let listen = client.listen(SubscriptionFilter::new().tools());
        assert!(listen.await.unwrap_err().is_timeout());
        assert_eq!(since.elapsed(), 21 * second);
    }
}

// A layer that calls the client again holds no turn meanwhile.
#[tokio::test(start_paused = true)]
async fn a_layer_may_call_the_client() {
    let ok = || ("application/json", vec![Piece::Data(result(OK))]);
    let memory = Memory::new([ok(), ok()]);
    let inner = memory.builder().max_in_flight(1).build().unwrap();
    let client = memory.builder().max_in_flight(1).layer(layer_fn(move |below: CallService| {
        let inner = inner.clone();
        Calling(move |request: CallRequest| {
            let (mut below, inner) = (below.clone(), inner.clone());
            async move {
                call(&inner).await?;
                below.call(request).await
            }
        })
    }));
    assert_eq!(call(&client.build().unwrap()).await.unwrap(), "ok");
}

// What layers make of a call decides what it may be served, of a list that is read as a whole as well.
#[tokio::test]
async fn lists_from_the_cache_pass_the_layers() {
    let page = |name: &str, more: &str| {
        let page = format!(r#"{{"prompts":[{{"name":"{name}"}}],"ttlMs":3600000{more}}}"#);
        Reply::json(&result(&page))
    };
    let more = r#","nextCursor":"2""#;
    let server = Server::start([
        page("a1", more),
        page("a2", ""),
        page("b1", more),
        page("b2", ""),
        // The first page is asked for anew, and is not to be kept.
        Reply::json(&result(r#"{"prompts":[],"nextCursor":"2"}"#)),
        // So it is once more, and what is in the cache does not go with it.
        page("b3", more),
        page("b4", more),
        page("b5", ""),
    ])
    .await;
    let passed = Arc::<Mutex<usize>>::default();
    let counted = Arc::clone(&passed);
    // Says who calls by a header, so that private answers are those of each caller alone.
    let client = server.builder().layer(layer_fn(move |below: CallService| {
        let passed = Arc::clone(&passed);
        Calling(move |mut request: CallRequest| {
            *passed.lock().unwrap() += 1;
            if let Some(Caller(name)) = request.extensions().get().cloned() {
                request.set_header("authorization", name).unwrap();
            }
            below.clone().call(request)
        })
    }));
    let client = client.build().unwrap();
    let all = |caller: Option<&'static str>| {
        let call = client.list_prompts();
        let call = if let Some(name) = caller { call.extension(Caller(name)) } else { call };
        async {
            call.all().await.unwrap().into_iter().map(|prompt| prompt.name).collect::<String>()
        }
    };
    assert_eq!(all(None).await, "a1a2");
    assert_eq!(all(Some("bob")).await, "b1b2");
    assert_eq!([all(None).await, all(Some("bob")).await], ["a1a2", "b1b2"]);
    assert_eq!((server.requests().len(), *counted.lock().unwrap()), (4, 8));

    client.list_prompts().extension(Caller("bob")).refresh_cache().await.unwrap();
    assert_eq!(all(Some("bob")).await, "b4b5");
    assert_eq!([all(None).await, all(Some("bob")).await], ["a1a2", "b4b5"]);
    assert_eq!(server.requests().len(), 8);
}
