//! `FileStore`: credentials in a folder, shared by processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::time::Instant;

use super::{Credentials, Held, TokenStore};
use crate::error::BoxError;
use crate::future::BoxFuture;

/// Keeps credentials in files, one for each server, in a folder of their own. Processes may share it: while one
/// of them renews a token, the others wait, and then take what it got.
///
/// On Unix folder and files are the owner's alone to read (0700 and 0600); elsewhere they have the rights that the
/// folder around them gives. They are not encrypted: where the system has a keychain, a [`TokenStore`] over that is
/// the better place. A file is replaced as a whole, so that a crash leaves the old one or the new one. One that
/// cannot be understood counts as absent, with a warning in the log.
///
/// A folder is for one user of the servers. An application in which several people sign in to the same one needs
/// a store for each.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// 40 s that a process waits for another which renews a token: longer than that may take. Then it goes on without,
    /// with a warning in the log.
    pub const PATIENCE: Duration = Duration::from_secs(40);

    /// Keeps them in `folder`, which is made if it is not there. One that is there keeps the rights that it has: whoever
    /// else may write in it could put tokens of their own there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(Self { folder })
    }

    /// The file of a server. Addresses may be longer than names of files, and have what those cannot.
    fn file(&self, server: &str, ending: &str) -> PathBuf {
        let digest = digest(&SHA256, server.as_bytes());
        let name: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.{ending}"))
    }
}

impl TokenStore for FileStore {
    fn load<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Option<Credentials>, BoxError>> {
        let path = self.file(server, "json");
        Box::pin(async move {
            let read = path.clone();
            let text = aside(move || match fs::read(&read) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                other => Ok(Some(other?)),
            });
            Ok(text.await?.and_then(|text| understood(&path, &text)))
        })
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        let path = self.file(server, "json");
        let text = serde_json::to_vec_pretty(credentials);
        Box::pin(async move {
            let text = text?;
            aside(move || Ok(replace(&path, &text)?)).await
        })
    }

    fn delete<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        let path = self.file(server, "json");
        Box::pin(aside(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }))
    }

    fn hold<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Held, BoxError>> {
        // The file stays when it is let go: if it were removed, somebody could wait for one that nobody else sees.
        let path = self.file(server, "lock");
        Box::pin(async move {
            let file = aside(move || Ok(own_file().create(true).write(true).open(&path)?)).await?;
            let until = Instant::now() + Self::PATIENCE;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(Held::until_dropped(file)),
                    Err(TryLockError::WouldBlock) if Instant::now() < until => {
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }
}

/// Does what blocks where it holds nobody up.
async fn aside<T, F>(work: F) -> Result<T, BoxError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, BoxError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await?
}

fn understood(path: &Path, text: &[u8]) -> Option<Credentials> {
    // What serde says may quote what it has read.
    let read = serde_json::from_slice(text).ok();
    if read.is_none() {
        tracing::warn!(path = %path.display(), "a file of credentials cannot be understood");
    }
    read
}

/// Writes a new file beside the old one, and puts it in its place.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let nth = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let fresh = path.with_extension(format!("{}-{nth}.tmp", std::process::id()));
    // Left by a process of the same number that crashed.
    let _ = fs::remove_file(&fresh);
    let written = own_file().create_new(true).write(true).open(&fresh).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&fresh)))
}

/// Opens files that are the owner's alone.
fn own_file() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// How often a lock is looked at that another process has.
const LOOK_AGAIN: Duration = Duration::from_millis(25);
