//! Tokens that are renewed, kept and lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_client::oauth::{
    AuthorizationUrl, MemoryStore, OAuth, Redirect, RedirectHandler, TokenStore,
};
use mcp_client::{BoxError, BoxFuture, Client, Error};
use tokio::task::JoinSet;

use crate::support::{Robot, Step, World, call, param, story, visit};

/// A client that is signed in, its store, and a server that has called for that once.
async fn signed_in(world: &World) -> (Client, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let client = with_store(world, &store);
    call(&client).await.unwrap();
    (client, store)
}

fn with_store<S: TokenStore>(world: &World, store: &Arc<S>) -> Client {
    let oauth = OAuth::sign_in(Robot).store(Arc::clone(store));
    world.builder().oauth(oauth).build().unwrap()
}

async fn calls(client: &Client, count: usize) -> Vec<Result<String, Error>> {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let client = client.clone();
        calls.spawn(async move { call(&client).await });
    }
    calls.join_all().await
}

async fn has_tokens(world: &World, store: &MemoryStore) -> bool {
    let credentials = store.load(&world.url).await.unwrap();
    credentials.is_some_and(|it| it.granted.is_some())
}

#[tokio::test]
async fn many_calls_sign_in_once() {
    let world = World::start().await;
    for result in calls(&world.client(), 10).await {
        assert_eq!(result.unwrap(), "ok");
    }
    assert_eq!(world.count("GET /as/authorize"), 1);
    assert_eq!(world.count("POST /as/register"), 1);
}

#[tokio::test]
async fn many_calls_renew_a_token_once() {
    // Known to have expired, and refused by the server.
    for is_known in [true, false] {
        let world = World::start().await;
        world.plan().expires_in = is_known.then_some(0);
        let (client, _) = signed_in(&world).await;
        world.plan().expires_in = None;
        world.expire_all();
        for result in calls(&client, 10).await {
            assert_eq!(result.unwrap(), "ok");
        }
        assert_eq!(world.refreshes(), 1, "{is_known}");
        assert_eq!(world.count("GET /as/authorize"), 1);
    }
}

/// O14.
#[tokio::test]
async fn a_call_that_is_dropped_does_not_take_the_token_with_it() {
    let world = World::start().await;
    let (client, _) = signed_in(&world).await;
    world.expire_all();
    let permit = world.hold("POST /as/token");
    let first = tokio::spawn({
        let client = client.clone();
        async move { call(&client).await }
    });
    world.until("POST /as/token", 2).await;
    let second = tokio::spawn({
        let client = client.clone();
        async move { call(&client).await }
    });
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    permit.add_permits(1);
    assert_eq!(second.await.unwrap().unwrap(), "ok");
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.refreshes(), 1);
}

/// O14: even when nobody is left, what a rotated refresh token was spent for is not lost.
#[tokio::test]
async fn the_last_call_that_is_dropped_does_not_either() {
    let world = World::start().await;
    let (client, _) = signed_in(&world).await;
    world.expire_all();
    let permit = world.hold("POST /as/token");
    let only = tokio::spawn({
        let client = client.clone();
        async move { call(&client).await }
    });
    world.until("POST /as/token", 2).await;
    only.abort();
    let _ = only.await;
    permit.add_permits(1);
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (1, 1));
}

/// O7.
#[tokio::test]
async fn what_may_pass_costs_a_call_and_no_credentials() {
    let steps: [fn() -> Step; 5] = [
        || Step::json("503 Service Unavailable", ""),
        || Step::json("503 Service Unavailable", r#"{"error":"overloaded"}"#),
        || Step::json("429 Too Many Requests", r#"{"error":"slow_down"}"#),
        || Step::json("200 OK", "<html>Please log in to the wireless network</html>"),
        || Step::Close,
    ];
    for step in steps {
        let world = World::start().await;
        let (client, store) = signed_in(&world).await;
        world.expire_all();
        // A pool tries again when a connection that it had kept is closed without an answer.
        for _ in 0..3 {
            world.next("POST /as/token", step());
        }
        let error = call(&client).await.unwrap_err();
        assert!(error.is_auth(), "{error:?}");
        assert!(has_tokens(&world, &store).await);
        world.plan().forget_steps();
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(world.count("GET /as/authorize"), 1);
    }
}

/// O7.
#[tokio::test(start_paused = true)]
async fn a_token_endpoint_that_never_answers_costs_a_call_and_no_credentials() {
    let world = World::start().await;
    let (client, store) = signed_in(&world).await;
    world.expire_all();
    world.hold("POST /as/token");
    let error = call(&client).await.unwrap_err();
    assert!(error.is_auth() && error.oauth().unwrap().is_transport(), "{error:?}");
    assert!(has_tokens(&world, &store).await);
    assert_eq!(call(&client).await.unwrap(), "ok");
}

#[tokio::test]
async fn many_calls_fail_together_and_once() {
    let world = World::start().await;
    let (client, _) = signed_in(&world).await;
    world.expire_all();
    let permit = world.hold("POST /as/token");
    let calling = tokio::spawn(async move { calls(&client, 10).await });
    // All have been refused before the one refresh goes wrong.
    world.until("POST /mcp", 12).await;
    world.until("POST /as/token", 2).await;
    world.revoke_all();
    world.next("GET /as/authorize", Step::json("200 OK", "no"));
    permit.add_permits(1);
    for result in calling.await.unwrap() {
        assert!(result.unwrap_err().oauth().unwrap().is_redirect());
    }
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (1, 2));
}

#[tokio::test]
async fn a_dead_refresh_token_is_forgotten_and_the_user_signs_in() {
    let world = World::start().await;
    let (client, store) = signed_in(&world).await;
    world.expire_all();
    world.revoke_all();
    world.next("GET /as/authorize", Step::json("200 OK", "no"));
    let error = call(&client).await.unwrap_err();
    assert!(error.oauth().unwrap().is_redirect(), "{error:?}");
    assert!(!has_tokens(&world, &store).await);
    client.sign_in().await.unwrap();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert!(has_tokens(&world, &store).await);
    // With the identity that it had.
    assert_eq!(world.count("POST /as/register"), 1);
}

/// O7: another process has got a better one meanwhile, and could not be waited for.
#[tokio::test]
async fn a_dead_refresh_token_takes_no_other_with_it() {
    struct Deaf(MemoryStore);
    impl TokenStore for Deaf {
        fn load<'a>(
            &'a self,
            server: &'a str,
        ) -> BoxFuture<'a, Result<Option<mcp_client::oauth::Credentials>, BoxError>> {
            self.0.load(server)
        }
        fn save<'a>(
            &'a self,
            server: &'a str,
            credentials: &'a mcp_client::oauth::Credentials,
        ) -> BoxFuture<'a, Result<(), BoxError>> {
            self.0.save(server, credentials)
        }
        fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
            self.0.delete(server)
        }
    }
    let world = World::start().await;
    let store = Arc::new(Deaf(MemoryStore::new()));
    let (one, other) = (with_store(&world, &store), with_store(&world, &store));
    call(&one).await.unwrap();
    call(&other).await.unwrap();
    assert_eq!(world.count("GET /as/authorize"), 1);
    world.expire_all();
    // Both ask with the same refresh token; what the first gets is there when the second hears that it is dead.
    let permit = world.hold("POST /as/token");
    let slow = tokio::spawn(async move { call(&one).await });
    world.until("POST /as/token", 2).await;
    assert_eq!(call(&other).await.unwrap(), "ok");
    permit.add_permits(1);
    assert_eq!(slow.await.unwrap().unwrap(), "ok");
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (2, 1));
}

#[tokio::test]
async fn clients_with_one_store_renew_once() {
    let world = World::start().await;
    let (one, store) = signed_in(&world).await;
    let other = with_store(&world, &store);
    assert_eq!(call(&other).await.unwrap(), "ok");
    for _ in 0..2 {
        world.expire_all();
        let (first, second) = tokio::join!(call(&one), call(&other));
        assert_eq!((first.unwrap(), second.unwrap()), ("ok".to_owned(), "ok".to_owned()));
    }
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (2, 1));
}

/// O8.
#[tokio::test]
async fn a_refresh_token_that_is_not_replaced_stays() {
    let world = World::start().await;
    world.plan().rotates = false;
    let (client, _) = signed_in(&world).await;
    for _ in 0..3 {
        world.expire_all();
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (3, 1));
    for request in &world.at("POST /as/token")[1..] {
        assert_eq!(param(&request.body, "refresh_token").unwrap(), "refresh-3-s3cret");
        assert_eq!(param(&request.body, "resource").unwrap(), world.url);
    }
}

#[tokio::test]
async fn without_a_refresh_token_the_user_signs_in_again() {
    let world = World::start().await;
    world.plan().gives_refresh_tokens = false;
    let (client, _) = signed_in(&world).await;
    world.expire_all();
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (0, 2));
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let world = World::start().await;
    // Within the margin of one whose life is not known, as of one that was loaded.
    world.plan().expires_in = Some(20);
    let (client, store) = signed_in(&world).await;
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.refreshes(), 0);
    let late = with_store(&world, &store);
    world.plan().expires_in = Some(3600);
    let refusals = || world.called_with().iter().filter(|token| token.is_none()).count();
    assert_eq!(call(&late).await.unwrap(), "ok");
    assert_eq!((world.refreshes(), refusals()), (1, 1));
}

#[tokio::test]
async fn a_token_that_is_still_good_is_used_while_it_cannot_be_renewed() {
    let world = World::start().await;
    let store = Arc::new(MemoryStore::new());
    call(&with_store(&world, &store)).await.unwrap();
    let mut credentials = store.load(&world.url).await.unwrap().unwrap();
    let soon = std::time::SystemTime::now() + Duration::from_secs(20);
    credentials.granted.as_mut().unwrap().tokens.expires_at = Some(soon);
    store.save(&world.url, &credentials).await.unwrap();
    let client = with_store(&world, &store);
    for _ in 0..2 {
        world.next("POST /as/token", Step::json("503 Service Unavailable", ""));
        assert_eq!(call(&client).await.unwrap(), "ok");
    }
    // It is not tried with every call.
    assert_eq!(world.count("POST /as/token"), 2);
}

/// O16.
#[tokio::test]
async fn a_user_who_says_no_is_not_asked_again_by_itself() {
    let world = World::start().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let oauth = OAuth::sign_in(Refusing { asked: Arc::clone(&asked) });
    let client = world.builder().oauth(oauth).build().unwrap();
    for _ in 0..3 {
        let error = call(&client).await.unwrap_err();
        assert!(error.is_auth() && error.oauth().unwrap().is_denied(), "{error:?}");
        assert!(story(&error).contains("not today"), "{error:?}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // When the application wants it they are.
    assert!(client.sign_in().await.unwrap_err().oauth().unwrap().is_denied());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(world.count("POST /as/token"), 0);
}

/// Comes back with a no.
struct Refusing {
    asked: Arc<AtomicUsize>,
}

impl RedirectHandler for Refusing {
    fn prepare<'a>(
        &'a self,
        _registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        let asked = Arc::clone(&self.asked);
        Box::pin(async { Ok(Box::new(Self { asked }) as Box<dyn Redirect>) })
    }
}

impl Redirect for Refusing {
    fn uri(&self) -> &str {
        "http://127.0.0.1:1/callback"
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let back = visit(url.as_str()).await?;
            let denied =
                back.replace("code=", "error=access_denied&error_description=not+today&x=");
            Ok(denied)
        })
    }
}

/// The user's time is not the server's.
#[tokio::test(start_paused = true)]
async fn a_sign_in_may_take_longer_than_an_answer() {
    let world = World::start().await;
    let oauth = OAuth::sign_in(Robot);
    let client = world.builder().oauth(oauth).timeout(Duration::from_secs(1)).build().unwrap();
    let permit = world.hold("GET /as/authorize");
    let calling = tokio::spawn(async move { call(&client).await });
    world.until("GET /as/authorize", 1).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    permit.add_permits(1);
    assert_eq!(calling.await.unwrap().unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn the_total_time_of_a_call_goes_on() {
    let world = World::start().await;
    let client = world.client();
    let permit = world.hold("GET /as/authorize");
    let error = client.call_tool("t", ()).total_timeout(Duration::from_secs(60)).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    // The user comes back later, for the next call.
    permit.add_permits(1);
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.count("GET /as/authorize"), 1);
}

#[tokio::test]
async fn private_answers_belong_to_a_sign_in() {
    let world = World::start().await;
    world.plan().list =
        r#"{"resultType":"complete","tools":[],"ttlMs":3600000,"cacheScope":"private"}"#.into();
    let (client, store) = signed_in(&world).await;
    let lists = || {
        let calls = world.at("POST /mcp");
        calls.iter().filter(|it| it.body.contains("tools/list")).count()
    };
    for _ in 0..2 {
        client.list_tools().await.unwrap();
    }
    // Renewing the token changes nothing.
    world.expire_all();
    call(&client).await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!((world.refreshes(), lists()), (1, 1));
    // Another sign-in does.
    client.sign_in().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(lists(), 2);
    client.sign_out().await.unwrap();
    assert!(!has_tokens(&world, &store).await);
    client.list_tools().await.unwrap();
    assert_eq!(lists(), 4);
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    // The answer to the call that signed in was not kept: it was nobody's when it was asked for.
    assert_eq!(lists(), 5);
}

#[tokio::test]
async fn an_answer_for_another_user_is_not_kept_for_the_first() {
    let world = World::start().await;
    world.plan().list =
        r#"{"resultType":"complete","tools":[],"ttlMs":3600000,"cacheScope":"private"}"#.into();
    let (client, _) = signed_in(&world).await;
    // Somebody else signs in while the list is on its way.
    let permit = world.hold("POST /mcp");
    let listing = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    world.until("POST /mcp", 3).await;
    client.sign_in().await.unwrap();
    permit.add_permits(1);
    listing.await.unwrap().unwrap();
    let before = world.count("POST /mcp");
    client.list_tools().await.unwrap();
    assert_eq!(world.count("POST /mcp"), before + 1);
}

#[tokio::test]
async fn a_context_that_the_application_names_is_not_that_of_all_its_users() {
    let world = World::start().await;
    world.plan().list =
        r#"{"resultType":"complete","tools":[],"ttlMs":3600000,"cacheScope":"private"}"#.into();
    let oauth = OAuth::sign_in(Robot);
    let client = world.builder().cache_context("the application").oauth(oauth).build().unwrap();
    let asked = async || {
        let before = world.count("POST /mcp");
        client.list_tools().await.unwrap();
        world.count("POST /mcp") - before
    };
    client.sign_in().await.unwrap();
    assert_eq!((asked().await, asked().await), (1, 0));
    world.expire_all();
    assert_eq!(asked().await, 0);
    client.sign_in().await.unwrap();
    assert_eq!((asked().await, asked().await), (1, 0));
    client.sign_out().await.unwrap();
    assert_eq!(asked().await, 2);
}
