//! The grant, with an issuer, a user and a registry in memory.

use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use mcp_transport::auth::Scopes;
use serde_json::{Value, json};

use super::*;
use crate::endpoint::{HttpService, Sent};
use crate::error::BoxError;
use crate::oauth::client_id::ClientId;
use crate::oauth::flow::AuthorizationUrl;
use crate::oauth::form;
use crate::oauth::grant::Registry;
use crate::oauth::http::Fetcher;
use crate::oauth::identity::ClientMetadata;
use crate::oauth::parameters::Parameters;
use crate::oauth::policy::Policy;

const SERVER: &str = "https://mcp.example/mcp";

/// A server that names these issuers, and they themselves: each knows the clients that it has registered.
#[derive(Default)]
struct World {
    issuers: Mutex<Vec<&'static str>>,
    /// Clients by their issuer and number.
    clients: Mutex<Vec<String>>,
    asked: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl World {
    fn of(issuers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { issuers: Mutex::new(issuers.to_vec()), ..Self::default() })
    }

    fn fetcher(self: &Arc<Self>) -> Fetcher {
        let service: Arc<dyn HttpService> = Arc::new(Wire(Arc::clone(self)));
        Fetcher::over(service, SERVER, Policy::new()).unwrap()
    }

    fn answer(&self, url: &str, body: &str) -> (StatusCode, Value) {
        let rest = url.strip_prefix("https://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        lock(&self.asked).push(format!("{host} {}", path.rsplit('/').next().unwrap()));
        let issuer = format!("https://{host}");
        let known = || lock(&self.clients).clone();
        match path {
            ".well-known/oauth-protected-resource/mcp" => {
                let issuers = lock(&self.issuers).clone();
                (StatusCode::OK, json!({ "resource": SERVER, "authorization_servers": issuers }))
            }
            ".well-known/oauth-authorization-server" => (
                StatusCode::OK,
                json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                }),
            ),
            "register" => {
                let client = format!("{host}-{}", known().len());
                lock(&self.clients).push(client.clone());
                (StatusCode::CREATED, json!({ "client_id": client }))
            }
            "token" => {
                let params = form::decode(body);
                let client = params.iter().find(|(name, _)| name == "client_id");
                let client = client.map(|(_, client)| client.clone()).unwrap_or_default();
                if known().contains(&client) {
                    (
                        StatusCode::OK,
                        json!({ "access_token": format!("of-{client}"), "refresh_token": "r" }),
                    )
                } else {
                    (StatusCode::UNAUTHORIZED, json!({ "error": "invalid_client" }))
                }
            }
            _ => (StatusCode::NOT_FOUND, json!({})),
        }
    }

    /// What was asked since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.asked))
    }
}

struct Wire(Arc<World>);

impl HttpService for Wire {
    fn send(&self, request: Request<Full<Bytes>>) -> Sent {
        let world = Arc::clone(&self.0);
        Box::pin(async move {
            let url = request.uri().to_string();
            let body = request.into_body().collect().await?.to_bytes();
            let (status, answer) = world.answer(&url, str::from_utf8(&body)?);
            let body = Full::from(answer.to_string()).map_err(Into::<BoxError>::into);
            let mut response = Response::new(body.boxed_unsync());
            *response.status_mut() = status;
            Ok(response)
        })
    }
}

/// A user who says yes, and comes back to this place unless another is known.
#[derive(Default)]
struct User {
    port: Mutex<u16>,
    prepared: Mutex<Vec<Vec<String>>>,
    refuses: bool,
}

impl RedirectHandler for User {
    fn prepare<'a>(
        &'a self,
        registered: &'a [String],
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, BoxError>> {
        lock(&self.prepared).push(registered.to_vec());
        let fresh = format!("http://127.0.0.1:{}/", lock(&self.port));
        let is_fixed = *lock(&self.port) > 0;
        let uri = registered.first().filter(|_| !is_fixed).cloned().unwrap_or(fresh);
        let way = Way { uri, refuses: self.refuses };
        Box::pin(async move { Ok(Box::new(way) as Box<dyn Redirect>) })
    }
}

struct Way {
    uri: String,
    refuses: bool,
}

impl Redirect for Way {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn authorize(
        self: Box<Self>,
        url: AuthorizationUrl,
    ) -> BoxFuture<'static, Result<String, BoxError>> {
        Box::pin(async move {
            if self.refuses {
                return Err("the window was closed".into());
            }
            Ok(format!("{}?code=c&state={}", self.uri, url.state()))
        })
    }
}

#[derive(Default)]
struct Memory(Mutex<Vec<Registration>>);

impl Registry for Memory {
    fn find<'a>(
        &'a self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<Registration>, OAuthError>> {
        let found = lock(&self.0).iter().find(|known| known.issuer == issuer).cloned();
        Box::pin(async { Ok(found) })
    }

    fn save<'a>(&'a self, registration: &'a Registration) -> BoxFuture<'a, Result<(), OAuthError>> {
        let mut known = lock(&self.0);
        known.retain(|known| known.issuer != registration.issuer);
        known.push(registration.clone());
        Box::pin(async { Ok(()) })
    }

    fn forget<'a>(
        &'a self,
        registration: &'a Registration,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        lock(&self.0).retain(|known| known != registration);
        Box::pin(async { Ok(()) })
    }
}

fn grant(user: &Arc<User>, identity: Identity) -> AuthorizationCode {
    let handler: Arc<dyn RedirectHandler> = Arc::clone(user) as Arc<dyn RedirectHandler>;
    AuthorizationCode {
        handler,
        identity,
        choose: None,
        binds: false,
        parameters: Parameters::default(),
    }
}

fn dynamic() -> Identity {
    Identity::new().dynamic(ClientMetadata::new("Test"))
}

async fn obtain(
    grant: &AuthorizationCode,
    world: &Arc<World>,
    registry: &Memory,
) -> Result<Granted, OAuthError> {
    let (fetcher, scopes) = (world.fetcher(), Scopes::default());
    let need = Need { fetcher: &fetcher, challenges: &[], scopes: &scopes, registry };
    grant.obtain(need).await
}

const ONE: &str = "https://one.example";
const TWO: &str = "https://two.example";

#[tokio::test]
async fn a_client_registers_once() {
    let (world, registry, user) = (World::of(&[ONE]), Memory::default(), Arc::default());
    let grant = grant(&user, dynamic());
    let first = obtain(&grant, &world, &registry).await.unwrap();
    assert_eq!(first.tokens.access_token.expose(), "of-one.example-0");
    let place = "mcp.example mcp";
    let metadata = "one.example oauth-authorization-server";
    let asked = world.asked();
    assert_eq!(asked, [place, metadata, "one.example register", "one.example token"]);
    obtain(&grant, &world, &registry).await.unwrap();
    assert_eq!(world.asked(), [place, metadata, "one.example token"]);
    // The handler hears where the client may be sent back to.
    assert_eq!(*lock(&user.prepared), [vec![], vec!["http://127.0.0.1:0/".to_owned()]]);

    // A place that is not registered, or a secret that has expired, is registered.
    *lock(&user.port) = 9;
    obtain(&grant, &world, &registry).await.unwrap();
    assert!(world.asked().contains(&"one.example register".to_owned()));
    lock(&registry.0)[0].expires_at = Some(std::time::SystemTime::UNIX_EPOCH);
    obtain(&grant, &world, &registry).await.unwrap();
    assert!(world.asked().contains(&"one.example register".to_owned()));
}

#[tokio::test]
async fn a_client_that_was_forgotten_registers_again() {
    let (world, registry, user) = (World::of(&[ONE]), Memory::default(), Arc::default());
    let grant = grant(&user, dynamic());
    let granted = obtain(&grant, &world, &registry).await.unwrap();
    lock(&world.clients).insert(0, "somebody".to_owned());
    lock(&world.clients).retain(|client| client == "somebody");
    let second = obtain(&grant, &world, &registry).await.unwrap();
    assert_eq!(second.tokens.access_token.expose(), "of-one.example-1");
    assert_eq!(lock(&registry.0).len(), 1);

    // A refresh finds it out as well, and the next sign-in registers.
    lock(&world.clients).clear();
    let (fetcher, scopes) = (world.fetcher(), Scopes::default());
    let registry_now: &dyn Registry = &registry;
    let need = Need { fetcher: &fetcher, challenges: &[], scopes: &scopes, registry: registry_now };
    assert!(grant.can_refresh(&second));
    assert!(grant.refresh(need, &second).await.unwrap_err().is_invalid_client());
    assert!(lock(&registry.0).is_empty());
    // What is older than what is known does no harm.
    registry.save(&second.registration).await.unwrap();
    assert!(grant.refresh(need, &granted).await.is_err());
    assert_eq!(lock(&registry.0).len(), 1);
}

// One that is not known, and was just registered, is no reason to go on.
#[tokio::test]
async fn an_issuer_that_knows_nobody_is_not_asked_for_ever() {
    let (world, registry, user) = (World::of(&[ONE]), Memory::default(), Arc::default());
    let grant = grant(&user, Identity::new().registered(ONE, ClientId::public("unknown")));
    let error = obtain(&grant, &world, &registry).await.unwrap_err();
    assert!(error.is_invalid_client());
    assert_eq!(lock(&user.prepared).len(), 1);
    assert!(lock(&registry.0).is_empty());
}

#[tokio::test]
async fn of_several_issuers_the_one_that_knows_the_client_is_asked() {
    let asked_of = async |identity: Identity, registry: &Memory, choose: Option<Choose>| {
        let world = World::of(&[ONE, TWO]);
        lock(&world.clients).push("known".to_owned());
        let grant = AuthorizationCode { choose, ..grant(&Arc::default(), identity) };
        obtain(&grant, &world, registry).await.map(|granted| granted.issuer)
    };
    let registry = Memory::default();
    assert_eq!(asked_of(dynamic(), &registry, None).await.unwrap(), ONE);
    let known = dynamic().registered(TWO, ClientId::public("known"));
    assert_eq!(asked_of(known.clone(), &registry, None).await.unwrap(), TWO);
    lock(&registry.0).clear();
    let choose: Choose = Arc::new(|issuers| issuers.last().cloned());
    assert_eq!(asked_of(dynamic(), &registry, Some(choose)).await.unwrap(), TWO);
    // Which is known from then on.
    assert_eq!(asked_of(dynamic(), &registry, None).await.unwrap(), TWO);
    let choose: Choose = Arc::new(|_| Some("https://evil.example".to_owned()));
    assert!(asked_of(dynamic(), &registry, Some(choose)).await.unwrap_err().is_usage());
}

// O13: nothing of the old issuer goes to the new one.
#[tokio::test]
async fn a_server_that_moves_gets_a_new_client() {
    let (world, registry, user) = (World::of(&[ONE]), Memory::default(), Arc::default());
    let grant = grant(&user, dynamic());
    obtain(&grant, &world, &registry).await.unwrap();
    *lock(&world.issuers) = vec![TWO];
    world.asked();
    let moved = obtain(&grant, &world, &registry).await.unwrap();
    assert_eq!(moved.registration.client.id(), "two.example-1");
    assert!(world.asked().iter().all(|asked| !asked.starts_with("one.example")));
}

// Whoever does not come back has cost one registration, which the next one uses.
#[tokio::test]
async fn a_user_who_does_not_come_back() {
    let (world, registry) = (World::of(&[ONE]), Memory::default());
    let user = Arc::new(User { refuses: true, ..User::default() });
    let error = obtain(&grant(&user, dynamic()), &world, &registry).await.unwrap_err();
    assert!(error.is_redirect());
    assert_eq!(lock(&registry.0).len(), 1);
    world.asked();
    obtain(&grant(&Arc::default(), dynamic()), &world, &registry).await.unwrap();
    assert!(!world.asked().contains(&"one.example register".to_owned()));
}
