//! Where credentials are kept.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::oauth::{Credentials, FileStore, MemoryStore, OAuth, TokenStore};
use mcp_client::{BoxError, BoxFuture, Client};

use crate::support::{Log, Robot, World, call, hear};

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-oauth-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn store(&self) -> FileStore {
        FileStore::new(&self.0).unwrap()
    }

    /// The files with this ending.
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn client(world: &World, store: impl TokenStore) -> Client {
    world.builder().oauth(OAuth::sign_in(Robot).store(store)).build().unwrap()
}

/// What a server gives, as a store would keep it.
async fn credentials(name: &str) -> Credentials {
    let world = World::start().await;
    let store = Arc::new(MemoryStore::new());
    call(&client(&world, Arc::clone(&store))).await.unwrap();
    let mut found = store.load(&world.url).await.unwrap().unwrap();
    found.sign_in = name.to_owned();
    found
}

#[tokio::test]
async fn what_is_kept_is_found() {
    let folder = Folder::new("found");
    let stores: [Box<dyn TokenStore>; 2] = [Box::new(MemoryStore::new()), Box::new(folder.store())];
    let (one, other) = (credentials("one").await, credentials("other").await);
    for store in stores {
        assert_eq!(store.load("https://a/mcp").await.unwrap(), None);
        store.save("https://a/mcp", &one).await.unwrap();
        store.save("https://a/mcp?t=1", &other).await.unwrap();
        assert_eq!(store.load("https://a/mcp").await.unwrap().as_ref(), Some(&one));
        assert_eq!(store.load("https://a/mcp?t=1").await.unwrap().as_ref(), Some(&other));
        assert_eq!(store.load("https://a/").await.unwrap(), None);
        store.save("https://a/mcp", &other).await.unwrap();
        assert_eq!(store.load("https://a/mcp").await.unwrap().as_ref(), Some(&other));
        for _ in 0..2 {
            store.delete("https://a/mcp").await.unwrap();
        }
        assert_eq!(store.load("https://a/mcp").await.unwrap(), None);
        assert_eq!(store.load("https://a/mcp?t=1").await.unwrap().as_ref(), Some(&other));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("rights");
    let store = folder.store();
    store.save("https://a/mcp", &credentials("one").await).await.unwrap();
    drop(store.hold("https://a/mcp").await.unwrap());
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    for ending in ["json", "lock"] {
        let files = folder.files(ending);
        assert_eq!(files.iter().map(mode).collect::<Vec<_>>(), [0o600], "{ending}");
    }
    assert!(folder.files("tmp").is_empty());
}

#[tokio::test]
async fn one_holds_and_others_wait() {
    let folder = Folder::new("hold");
    let memory = Arc::new(MemoryStore::new());
    let pairs: [(Box<dyn TokenStore>, Box<dyn TokenStore>); 2] = [
        (Box::new(Arc::clone(&memory)), Box::new(memory)),
        (Box::new(folder.store()), Box::new(folder.store())),
    ];
    for (one, other) in pairs {
        let held = one.hold("https://a/mcp").await.unwrap();
        let waiting = tokio::spawn(async move {
            let _held = other.hold("https://a/mcp").await.unwrap();
        });
        // Those of other servers do not wait.
        drop(one.hold("https://b/mcp").await.unwrap());
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let folder = Folder::new("patience");
    let _held = folder.store().hold("https://a/mcp").await.unwrap();
    assert!(folder.store().hold("https://a/mcp").await.is_err());
}

#[tokio::test]
async fn two_processes_renew_a_token_once() {
    let (world, folder) = (World::start().await, Folder::new("processes"));
    let (one, other) = (client(&world, folder.store()), client(&world, folder.store()));
    call(&one).await.unwrap();
    call(&other).await.unwrap();
    assert_eq!(world.count("GET /as/authorize"), 1);
    for turn in 1..=3 {
        world.expire_all();
        let (first, second) = tokio::join!(call(&one), call(&other));
        assert_eq!((first.unwrap(), second.unwrap()), ("ok".to_owned(), "ok".to_owned()));
        assert_eq!(world.refreshes(), turn);
    }
    // Whoever signs out does so for both.
    one.sign_out().await.unwrap();
    world.expire_all();
    call(&other).await.unwrap();
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (3, 2));
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_costs_a_sign_in() {
    let log = Log::default();
    let _hears = hear(log.clone());
    let (world, folder) = (World::start().await, Folder::new("broken"));
    call(&client(&world, folder.store())).await.unwrap();
    for text in ["", "{\"granted\":\"access-3-s3cret", "[]", "\u{0}"] {
        fs::write(&folder.files("json")[0], text).unwrap();
        call(&client(&world, folder.store())).await.unwrap();
    }
    assert_eq!(world.count("GET /as/authorize"), 5);
    let warnings = log.warnings();
    assert!(!warnings.is_empty() && !warnings.iter().any(|line| line.contains("s3cret")));
}

/// Fails at everything.
struct Broken;

impl TokenStore for Broken {
    fn load<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        Box::pin(async { Err("the keychain is locked".into()) })
    }

    fn save<'a>(&'a self, _: &'a str, _: &'a Credentials) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Err("the keychain is locked".into()) })
    }

    fn delete<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Err("the keychain is locked".into()) })
    }
}

#[tokio::test]
async fn a_store_that_fails_stops_nobody() {
    let log = Log::default();
    let _hears = hear(log.clone());
    let world = World::start().await;
    let client = client(&world, Broken);
    for _ in 0..3 {
        assert_eq!(call(&client).await.unwrap(), "ok");
        world.expire_all();
    }
    assert_eq!((world.refreshes(), world.count("GET /as/authorize")), (2, 1));
    assert!(log.warnings().iter().any(|line| line.contains("keychain is locked")));
}
