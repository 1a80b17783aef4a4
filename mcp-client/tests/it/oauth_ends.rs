//! Sign-ins and renewals that end before they are done: by a sign-out, or with the runtime that they run on.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use mcp_client::oauth::{
    AuthorizationUrl, Credentials, MemoryStore, OAuth, Redirect, RedirectHandler, TokenStore,
};
use mcp_client::types::SubscriptionFilter;
use mcp_client::{Backoff, BoxError, BoxFuture, Client, End};
use tokio::runtime::{self, Runtime};
use tokio::sync::Semaphore;

use crate::support::{Robot, Step, World, call, story, visit};

/// A user who takes a while.
#[derive(Clone)]
struct Slow {
    asked: Arc<Semaphore>,
    comes_back: Arc<Semaphore>,
}

impl Slow {
    fn new() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { asked: none(), comes_back: none() }
    }

    async fn is_asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }
}

impl RedirectHandler for Slow {
    fn prepare<'a>(
        &'a self,
        _registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Redirect>) })
    }
}

impl Redirect for Slow {
    fn uri(&self) -> &str {
        "http://127.0.0.1:1/callback"
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move {
            self.asked.add_permits(1);
            self.comes_back.acquire().await?.forget();
            visit(url.as_str()).await
        })
    }
}

#[tokio::test]
async fn who_signs_out_while_the_user_is_asked_is_not_signed_in_afterwards() {
    for was_signed_in in [false, true] {
        let (world, user) = (World::start().await, Slow::new());
        let store = Arc::new(MemoryStore::new());
        let oauth = OAuth::sign_in(user.clone()).store(Arc::clone(&store));
        let client = world.builder().oauth(oauth).build().unwrap();
        let calling = || {
            tokio::spawn({
                let client = client.clone();
                async move { call(&client).await }
            })
        };
        if was_signed_in {
            user.comes_back.add_permits(1);
            call(&client).await.unwrap();
            user.is_asked().await;
            world.expire_all();
            world.revoke_all();
        }
        let first = calling();
        user.is_asked().await;
        // It does not wait for the user, who may never come back.
        client.sign_out().await.unwrap();
        let error = first.await.unwrap().unwrap_err();
        assert!(error.oauth().unwrap().is_redirect(), "{}", story(&error));
        user.comes_back.add_permits(1);
        let stored = store.load(&world.url).await.unwrap();
        assert!(stored.is_none_or(|it| it.granted.is_none()));
        // The user said nothing, and is asked again by the next call that needs it.
        assert_eq!(call(&client).await.unwrap(), "ok");
        user.is_asked().await;
    }
}

/// Whatever is on its way to the authorization server arrives, so that nothing is left half done; but it is not used.
#[tokio::test]
async fn who_signs_out_before_or_after_the_user_is_asked_is_not_signed_in_either() {
    for place in ["GET /.well-known/oauth-protected-resource/mcp", "POST /as/token"] {
        let (world, store) = (World::start().await, Arc::new(MemoryStore::new()));
        let oauth = OAuth::sign_in(Robot).store(Arc::clone(&store));
        let client = world.builder().oauth(oauth).build().unwrap();
        let permit = world.hold(place);
        let first = tokio::spawn({
            let client = client.clone();
            async move { client.sign_in().await }
        });
        world.until(place, 1).await;
        let out = tokio::spawn({
            let client = client.clone();
            async move { client.sign_out().await }
        });
        // Polled once at least.
        tokio::task::yield_now().await;
        permit.add_permits(1);
        out.await.unwrap().unwrap();
        let _ = first.await.unwrap();
        let stored = store.load(&world.url).await.unwrap();
        assert!(stored.is_none_or(|it| it.granted.is_none()), "{place}");
        assert_eq!(call(&client).await.unwrap(), "ok");
        assert_eq!(world.called_with().first(), Some(&None), "{place}");
    }
}

/// What one user said no to may be what the next one says yes to.
#[tokio::test]
async fn a_refusal_is_over_when_its_user_has_signed_out() {
    let world = World::start().await;
    let client = world.client();
    call(&client).await.unwrap();
    let wants = r#"Bearer error="insufficient_scope", scope="admin""#;
    let denied = |world: &World| {
        world.next("POST /mcp", Step::challenge("403 Forbidden", wants));
        let page = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/callback?error=no\r\ncontent-length: 0\r\n\r\n";
        world.next("GET /as/authorize", Step::Raw(page.to_owned()));
    };
    denied(&world);
    call(&client).await.unwrap_err();
    let asked = world.count("GET /as/authorize");
    world.plan().forget_steps();
    world.next("POST /mcp", Step::challenge("403 Forbidden", wants));
    call(&client).await.unwrap_err();
    assert_eq!(world.count("GET /as/authorize"), asked);
    client.sign_out().await.unwrap();
    world.plan().challenge = Some("admin".to_owned());
    assert_eq!(call(&client).await.unwrap(), "ok");
    assert_eq!(world.count("GET /as/authorize"), asked + 1);
}

/// Polls so often at the most.
async fn for_polls(count: usize, future: impl Future) -> bool {
    let (mut future, mut left) = (pin!(future), count);
    poll_fn(|cx| {
        let Some(one_less) = left.checked_sub(1) else { return Poll::Ready(false) };
        left = one_less;
        future.as_mut().poll(cx).map(|_| true)
    })
    .await
}

#[tokio::test]
async fn a_call_may_be_dropped_wherever_it_waits() {
    for is_signed_in in [false, true] {
        for count in 0.. {
            assert!(count < 1000, "it does not end");
            let world = World::start().await;
            let client = world.client();
            if is_signed_in {
                call(&client).await.unwrap();
                world.expire_all();
            }
            let ended = for_polls(count, call(&client)).await;
            succeeds(&client).await;
            assert!(world.refreshes() <= 1 && world.count("GET /as/authorize") == 1);
            // As often as the client is told to, it signs out and in again.
            for_polls(count, client.sign_out()).await;
            client.sign_out().await.unwrap();
            succeeds(&client).await;
            if ended {
                break;
            }
        }
    }
}

fn one_thread() -> Runtime {
    runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server on a runtime of its own, and a client for it.
fn elsewhere(oauth: OAuth) -> (Runtime, World, Client) {
    let mut serving = runtime::Builder::new_multi_thread();
    let serving = serving.worker_threads(1).enable_all().build().unwrap();
    let world = serving.block_on(World::start());
    let client = world.builder().oauth(oauth).build().unwrap();
    (serving, world, client)
}

async fn polled_once(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

async fn succeeds(client: &Client) {
    let called = tokio::time::timeout(Duration::from_secs(30), call(client)).await;
    assert_eq!(called.unwrap().unwrap(), "ok");
}

#[test]
fn what_a_runtime_leaves_undone_another_does() {
    let (_serving, world, client) = elsewhere(OAuth::sign_in(Robot));
    // Not begun at all.
    one_thread().block_on(polled_once(call(&client)));
    one_thread().block_on(succeeds(&client));
    // Under way.
    world.expire_all();
    let _never = world.hold("POST /as/token");
    one_thread().block_on(async {
        let calling = tokio::spawn({
            let client = client.clone();
            async move { call(&client).await }
        });
        world.until("POST /as/token", 2).await;
        calling.abort();
    });
    one_thread().block_on(succeeds(&client));
}

/// Gives no answer to the first who asks.
#[derive(Default)]
struct Stuck {
    store: MemoryStore,
    asked: AtomicBool,
}

impl TokenStore for Stuck {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        if self.asked.swap(true, Ordering::Relaxed) {
            return self.store.load(server);
        }
        Box::pin(pending())
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        self.store.save(server, credentials)
    }

    fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        self.store.delete(server)
    }
}

#[test]
fn who_waits_for_a_runtime_that_ends_does_it_in_its_place() {
    let (_serving, _world, client) = elsewhere(OAuth::sign_in(Robot).store(Stuck::default()));
    let (first, second) = (one_thread(), one_thread());
    first.block_on(async {
        polled_once(&mut Box::pin(call(&client))).await;
        tokio::task::yield_now().await;
    });
    let mut waiting = Box::pin(succeeds(&client));
    second.block_on(polled_once(&mut waiting));
    drop(first);
    second.block_on(waiting);
}

#[test]
fn a_runtime_that_has_ended_locks_nobody_out() {
    let (_serving, _world, client) = elsewhere(OAuth::sign_in(Robot));
    let ended = one_thread();
    let handle = ended.handle().clone();
    drop(ended);
    let entered = handle.enter();
    // What is spawned there is dropped at once.
    let mut signing_in = client.sign_in();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..3 {
        if let Poll::Ready(signed_in) = signing_in.as_mut().poll(&mut cx) {
            assert!(signed_in.unwrap_err().is_auth());
            break;
        }
    }
    drop((signing_in, entered));
    one_thread().block_on(succeeds(&client));
}

/// What changes for one user is nothing that whoever comes behind should hear of.
#[tokio::test]
async fn subscriptions_end_with_their_user() {
    let acknowledged = r#"data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#;
    let acknowledged = format!("{acknowledged}\n\n");
    let open = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{acknowledged}\r\n",
        acknowledged.len()
    );
    // One that is open, and one that is about to be opened again: the server here ends it at once.
    for is_open in [true, false] {
        let world = World::start().await;
        let client = world.client();
        call(&client).await.unwrap();
        if is_open {
            world.next("POST /mcp", Step::Raw(open.clone()));
        }
        let hour = Backoff::new().first(Duration::from_secs(3600)).most(Duration::from_secs(3600));
        let listen = client.listen(SubscriptionFilter::new().tools()).relisten(hour);
        let mut changes = listen.await.unwrap();
        let reading = tokio::spawn(async move {
            let change = changes.next().await;
            (change, changes)
        });
        // Polled once at least.
        tokio::task::yield_now().await;
        client.sign_out().await.unwrap();
        let (change, changes) = reading.await.unwrap();
        assert_eq!(change, None);
        assert!(matches!(changes.end(), Some(End::Closed)), "{:?}", changes.end());
        assert_eq!(world.count("POST /mcp"), 3);
        // That of the next user is another one.
        world.next("POST /mcp", Step::challenge("401 Unauthorized", "Bearer"));
        world.next("POST /mcp", Step::Raw(open.clone()));
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        let quiet = poll_fn(|cx| Poll::Ready(changes.poll_next(cx)));
        assert!(quiet.await.is_pending());
    }
}
