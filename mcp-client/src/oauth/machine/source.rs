//! Where the assertions of a workload come from.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_transport::auth::Scopes;

use crate::error::BoxError;
use crate::future::BoxFuture;
use crate::oauth::error::{Kind, OAuthError};
use crate::oauth::secret::Secret;

/// Where a workload's assertions come from: JWTs by which its platform says what it is. A cheap clone.
#[derive(Clone)]
pub struct AssertionSource(Arc<Get>);

type Get = dyn Fn(AssertionRequest) -> BoxFuture<'static, Result<Secret, BoxError>> + Send + Sync;

/// What an assertion is for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AssertionRequest {
    /// Who is to take it, by what they call themselves: the audience of the assertion, unless it was agreed otherwise.
    pub issuer: String,
    /// The server that the token will be for.
    pub resource: String,
    /// What the token will be good for.
    pub scopes: Scopes,
}

impl AssertionSource {
    /// 64 KiB of a file: tokens have some KiB, and what has more is another file.
    pub const FILE_BYTES: usize = 64 * 1024;

    /// Calls `get` for every token. Its future may be dropped.
    ///
    /// ```
    /// use mcp_client::oauth::{AssertionSource, Secret};
    ///
    /// # async fn from_metadata_server(audience: &str) -> Result<String, std::io::Error> { unimplemented!() }
    /// let source = AssertionSource::new(|request| async move {
    ///     from_metadata_server(&request.issuer).await
    /// });
    /// ```
    pub fn new<F, Fut, T, E>(get: F) -> Self
    where
        F: Fn(AssertionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<Secret>,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |request| {
            let got = get(request);
            Box::pin(async move { got.await.map(Into::into).map_err(Into::into) })
        }))
    }

    /// Reads a file for every token, as platforms replace it before what is in it expires. White space around it is left
    /// out.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::new(move |_| {
            let path = path.clone();
            async move { tokio::task::spawn_blocking(move || read(&path)).await? }
        })
    }

    /// # Errors
    /// When there is none, or it is empty.
    pub(super) async fn get(&self, request: AssertionRequest) -> Result<Secret, OAuthError> {
        let failed = |error: BoxError| {
            OAuthError::new(Kind::Assertion, "the workload has no assertion").caused_by(error)
        };
        let assertion = (self.0)(request).await.map_err(failed)?;
        if assertion.expose().is_empty() {
            return Err(failed("it is empty".into()));
        }
        Ok(assertion)
    }
}

impl fmt::Debug for AssertionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssertionSource").finish_non_exhaustive()
    }
}

fn read(path: &PathBuf) -> Result<Secret, BoxError> {
    let mut text = String::new();
    let most = AssertionSource::FILE_BYTES;
    let told = |error: &dyn fmt::Display| BoxError::from(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| told(&error))?;
    // One byte more tells whether it ends.
    let read = file.take(most as u64 + 1).read_to_string(&mut text);
    if read.map_err(|error| told(&error))? > most {
        return Err(told(&format_args!("it has more than {most} bytes")));
    }
    Ok(text.trim().into())
}
