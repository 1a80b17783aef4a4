//! Calls to a server that wants access tokens. Specification: Authorization.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::TokioExecutor;
use mcp_client::oauth::{ClientId, OAuth};
use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, Change, Client};
use tower::Service;

use crate::support::{Robot, Step, World, call, param, story};

const INSUFFICIENT: &str = r#"Bearer error="insufficient_scope", scope="#;

fn bearer(n: usize) -> Option<String> {
    Some(format!("Bearer access-{n}-s3cret"))
}

#[tokio::test]
async fn a_user_signs_in_when_the_server_wants_it() {
    let world = World::start().await;
    let client = world.client();
    assert_eq!(world.all().len(), 0);
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    // One is registered, one visits the page, one redeems the code.
    let token = bearer(3);
    assert_eq!(world.called_with(), [None, token.clone(), token]);
    let authorize = &world.at("GET /as/authorize")[0].head;
    let authorize = authorize.split(' ').nth(1).unwrap();
    let redeemed = &world.at("POST /as/token")[0].body;
    for text in [authorize, redeemed] {
        assert_eq!(param(text, "resource").unwrap(), world.url);
        assert_eq!(param(text, "client_id").unwrap(), "client-1");
    }
    assert_eq!(param(authorize, "scope"), None);
    assert_eq!(param(redeemed, "code").unwrap(), "code-2-s3cret");
}

#[tokio::test]
async fn a_page_gets_the_parameters_of_the_application() {
    let world = World::start().await;
    let oauth = OAuth::sign_in(Robot).authorization_parameter("audience", "the api").unwrap();
    let client = world.builder().oauth(oauth).build().unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    let authorize = &world.at("GET /as/authorize")[0].head;
    let authorize = authorize.split(' ').nth(1).unwrap();
    assert_eq!(param(authorize, "audience").unwrap(), "the api");
}

#[tokio::test]
async fn a_token_goes_to_the_server_and_nowhere_else() {
    let world = World::start().await;
    world.plan().expires_in = Some(0);
    let client = world.client();
    for _ in 0..3 {
        call(&client).await.unwrap();
    }
    assert!(world.refreshes() >= 2);
    for request in world.all() {
        let at_server = request.head.starts_with("POST /mcp ");
        assert!(at_server || !request.head.contains("access-"), "{}", request.head);
        assert!(!request.body.contains("access-"), "{}", request.body);
        let at_token_endpoint = request.head.starts_with("POST /as/token ");
        assert!(at_token_endpoint || !request.body.contains("refresh-"), "{}", request.body);
    }
}

#[tokio::test]
async fn a_header_of_the_caller_is_left_as_it_is() {
    let world = World::start().await;
    let client = world.client();
    let error = client.call_tool("t", ()).header("authorization", "Basic x").await.unwrap_err();
    assert_eq!(error.status().unwrap(), 401);
    assert_eq!(world.called_with(), [Some("Basic x".to_owned())]);
    assert_eq!(world.all().len(), 1);
}

/// O11: every leg of a call has the token.
#[tokio::test]
async fn every_round_of_input_has_the_token() {
    let world = World::start().await;
    let client = world.builder().oauth(OAuth::sign_in(Robot)).build().unwrap();
    call(&client).await.unwrap();
    for _ in 0..2 {
        let asks = r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"input_required","requestState":"s"}}"#;
        world.plan().asks(asks);
    }
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.called_with()[1..], [bearer(3), bearer(3), bearer(3), bearer(3)]);
}

#[tokio::test]
async fn a_token_that_expires_between_rounds_is_renewed() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    let asks = r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"input_required","requestState":"s"}}"#;
    world.plan().asks(asks);
    world.plan().expires_after_next = true;
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.called_with()[2..], [bearer(3), bearer(3), bearer(4)]);
}

#[tokio::test]
async fn a_subscription_has_a_token_and_is_opened_again_with_another() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    // Before it is opened.
    world.expire_all();
    let backoff = Backoff::new().first(std::time::Duration::from_millis(1));
    let listening = client.listen(SubscriptionFilter::new().tools()).relisten(backoff);
    let mut changes = listening.await.unwrap();
    assert_eq!(world.called_with()[2..], [bearer(3), bearer(4)]);
    // While it is open; the stream ends at once.
    world.expire_all();
    assert_eq!(changes.next().await, Some(Change::Stale));
    let with = world.called_with();
    assert!(with[4..].starts_with(&[bearer(4), bearer(5)]), "{with:?}");
}

#[tokio::test]
async fn a_transport_has_tokens_too() {
    let world = World::start().await;
    let transport = world.builder().oauth(OAuth::sign_in(Robot)).build_transport().unwrap();
    transport.start().unwrap();
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}"#;
    let heard = Arc::<Mutex<Vec<Bytes>>>::default();
    let hears = Arc::clone(&heard);
    let sent = transport.send(message).on_message(move |it| hears.lock().unwrap().push(it.clone()));
    sent.await.unwrap();
    assert_eq!(world.called_with(), [None, bearer(3)]);
    // What was refused on the way is not heard.
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn scopes_are_those_of_the_challenge_or_else_of_the_metadata() {
    let table = [
        (None, None, None),
        (None, Some("a b"), Some("a b")),
        (Some("c"), Some("a b"), Some("c")),
        (Some("c"), None, Some("c")),
    ];
    for (challenge, listed, expected) in table {
        let world = World::start().await;
        world.plan().challenge = challenge.map(str::to_owned);
        world.plan().scopes = listed.map(|it| it.split(' ').map(str::to_owned).collect());
        call(&world.client()).await.unwrap();
        let page = &world.at("GET /as/authorize")[0].head;
        assert_eq!(param(page.split(' ').nth(1).unwrap(), "scope").as_deref(), expected);
    }
}

/// The scopes that users were asked for, one time after the other.
fn asked_for(world: &World) -> Vec<Option<String>> {
    let pages = world.at("GET /as/authorize");
    pages.iter().map(|page| param(page.head.split(' ').nth(1).unwrap(), "scope")).collect()
}

fn some(scopes: &[&str]) -> Vec<Option<String>> {
    scopes.iter().map(|scope| Some((*scope).to_owned())).collect()
}

#[tokio::test]
async fn more_scopes_are_asked_for_beside_those_there_are() {
    let world = World::start().await;
    world.plan().challenge = Some("a".into());
    let client = world.client();
    call(&client).await.unwrap();
    world.next("POST /mcp", Step::challenge("403 Forbidden", &format!(r#"{INSUFFICIENT}"b""#)));
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(asked_for(&world), some(&["a", "a b"]));
    // All of that is asked for again when nothing is left.
    world.expire_all();
    world.revoke_all();
    call(&client).await.unwrap();
    assert_eq!(asked_for(&world), some(&["a", "a b", "a b"]));
}

/// O16.
#[tokio::test]
async fn a_server_that_always_wants_more_is_given_up() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    for scope in ["a", "b", "c", "d"] {
        let challenge = format!(r#"{INSUFFICIENT}"{scope}", error_description="pay first""#);
        world.next("POST /mcp", Step::challenge("403 Forbidden", &challenge));
    }
    let error = call(&client).await.unwrap_err();
    assert!(error.is_auth() && error.oauth().unwrap().is_refused(), "{error:?}");
    assert_eq!(error.status().unwrap(), 403);
    let story = story(&error);
    assert!(story.contains("`c`") && story.contains("pay first"), "{story}");
    assert_eq!(asked_for(&world)[1..], some(&["a", "a b"]));
}

/// O16.
#[tokio::test]
async fn scopes_that_were_asked_for_in_vain_are_not_asked_for_again() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    for _ in 0..9 {
        let challenge = format!(r#"{INSUFFICIENT}"a""#);
        world.next("POST /mcp", Step::challenge("403 Forbidden", &challenge));
    }
    for _ in 0..3 {
        let error = call(&client).await.unwrap_err();
        assert!(error.oauth().unwrap().is_refused(), "{error:?}");
    }
    // No scopes are named: there is nothing to be asked for.
    world.plan().forget_steps();
    let challenge = r#"Bearer error="insufficient_scope""#;
    world.next("POST /mcp", Step::challenge("403 Forbidden", challenge));
    assert!(call(&client).await.unwrap_err().oauth().unwrap().is_refused());
    assert_eq!(world.count("GET /as/authorize"), 2);
}

#[tokio::test]
async fn what_is_forbidden_for_other_reasons_is_the_callers_to_see() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    for challenge in [r#"Bearer error="other""#, r#"Basic error="insufficient_scope""#] {
        world.next("POST /mcp", Step::challenge("403 Forbidden", challenge));
        let error = call(&client).await.unwrap_err();
        assert!(error.is_auth() && error.oauth().is_none());
    }
    assert_eq!(world.count("GET /as/authorize"), 1);
}

#[tokio::test]
async fn a_fresh_token_that_is_refused_is_an_error_and_no_loop() {
    let world = World::start().await;
    let client = world.client();
    for _ in 0..3 {
        // For the call without a token, and those with one.
        world.next("POST /mcp", Step::challenge("401 Unauthorized", "Bearer"));
    }
    let error = call(&client).await.unwrap_err();
    assert!(error.oauth().unwrap().is_refused(), "{error:?}");
    assert_eq!(error.status().unwrap(), 401);
    assert_eq!(world.count("POST /mcp"), 2);
    // Nor does the next call ask the user; it is taken later.
    call(&client).await.unwrap_err();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.count("GET /as/authorize"), 1);
    assert_eq!(world.refreshes(), 0);
}

#[tokio::test]
async fn a_server_that_moves_to_another_authorization_server() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    world.plan().issuer = "/as2".into();
    world.expire_all();
    world.revoke_all();
    assert_eq!(call(&client).await.unwrap(), "ok");
    // Nothing of the old one is sent to the new one.
    for place in ["POST /as2/register", "GET /as2/authorize", "POST /as2/token"] {
        let requests = world.at(place);
        assert_eq!(requests.len(), 1, "{place}");
        let whole = format!("{}{}", requests[0].head, requests[0].body);
        for old in ["client-1", "refresh-", "access-", "code-2"] {
            assert!(!whole.contains(old), "{place}: {whole}");
        }
    }
    // And when it moves back, the identity there is known still.
    world.plan().issuer = "/as".into();
    world.expire_all();
    world.revoke_all();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.count("POST /as/register"), 1);
}

#[tokio::test]
async fn a_registered_client_is_not_registered_again() {
    let world = World::start().await;
    let issuer = format!("http://{}/as", world.host);
    let oauth = OAuth::sign_in(Robot).registered(issuer, ClientId::public("mine"));
    let client = world.builder().oauth(oauth).build().unwrap();
    call(&client).await.unwrap();
    assert_eq!(world.count("POST /as/register"), 0);
    assert!(world.at("POST /as/token")[0].body.contains("client_id=mine"));
}

/// Sends with a pool of its own, and counts.
#[derive(Clone)]
struct Recorder {
    pool: Pool<hyper_util::client::legacy::connect::HttpConnector, Full<Bytes>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Service<Request<Full<Bytes>>> for Recorder {
    type Response = Response<hyper::body::Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = hyper_util::client::legacy::ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.seen.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
        self.pool.request(request)
    }
}

/// O19.
#[tokio::test]
async fn the_applications_http_sees_every_request() {
    let world = World::start().await;
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let pool = Pool::builder(TokioExecutor::new()).build_http();
    let service = Recorder { pool, seen: Arc::clone(&seen) };
    let client = world.builder().service(service).oauth(OAuth::sign_in(Robot)).build().unwrap();
    call(&client).await.unwrap();
    world.expire_all();
    call(&client).await.unwrap();
    // All but that of the browser.
    let others =
        world.all().into_iter().map(|it| it.head.split(" HTTP").next().unwrap().to_owned());
    let others = others.filter(|it| !it.starts_with("GET /as/authorize"));
    assert_eq!(*seen.lock().unwrap(), others.collect::<Vec<_>>());
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test]
async fn a_client_without_it_says_so() {
    let world = World::start().await;
    let client = Client::http(&world.url).unwrap();
    assert!(client.sign_in().await.unwrap_err().is_usage());
    assert!(client.sign_out().await.unwrap_err().is_usage());
    let error = call(&client).await.unwrap_err();
    assert!(error.is_auth() && error.oauth().is_none());
}
