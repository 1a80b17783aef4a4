//! `Authorization`: who a request is from, and whether it may do what it asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{HeaderValue, StatusCode};
use mcp_transport::auth::{Challenge, Scopes};
use mcp_types::Method;

use super::credentials::{self, Credentials};
use super::denied::Denied;
use super::document::Document;
use super::error::Kind;
use super::required::{Failed, Operation, Required};
use super::{Access, Presented, Scheme, Token, TokenError, TokenVerifier, Verifying};
use crate::caller::{Caller, RequestParts};
use crate::rejection::{MAX_WHY, Reason, cut};

/// A [`ResourceServer`](super::ResourceServer), checked.
pub(crate) struct Authorization {
    pub(super) audience: Arc<str>,
    pub(super) document: Document,
    /// Where the document is, as clients are told.
    pub(super) metadata_url: String,
    pub(super) schemes: Vec<Scheme>,
    /// Those of key proofs.
    pub(super) algorithms: Option<String>,
    pub(super) verifier: Arc<dyn TokenVerifier>,
    pub(super) optional: bool,
    pub(super) verify_time: Duration,
    pub(super) clock: Clock,
    /// What everything needs.
    pub(super) required: Scopes,
    /// What methods need besides.
    pub(super) methods: Vec<(Method, Scopes)>,
    pub(super) implied: Implied,
}

/// What tells the time.
pub(super) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// For each scope those that imply it.
pub(super) type Implied = BTreeMap<Box<str>, BTreeSet<Box<str>>>;

/// A challenge: what is wrong, if anything was presented, and the scopes that are needed.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    error: Option<(&'a str, &'a str)>,
    scopes: &'a Scopes,
}

impl Authorization {
    /// What a request brought is taken out of its head, whatever becomes of it: nobody behind sees a token. Nor does
    /// anybody see who was said to have been authenticated before.
    pub(crate) fn credentials(
        &self,
        head: &mut http::request::Parts,
    ) -> Result<Option<(Scheme, Token)>, Denied> {
        head.extensions.remove::<Access>();
        head.extensions.remove::<Caller>();
        match credentials::take(&mut head.headers) {
            Ok(Credentials::Token(scheme, token)) if self.schemes.contains(&scheme) => {
                Ok(Some((scheme, token)))
            }
            Ok(Credentials::None) if self.optional => Ok(None),
            Ok(Credentials::Token(..) | Credentials::None | Credentials::Foreign) => {
                Err(self.unauthorized("Authorization is required", None, &self.required))
            }
            Err(why) => {
                let error = Some(("invalid_request", why));
                let challenges = self.challenges(None, Wanted { error, scopes: &self.required });
                Err(Denied::new(StatusCode::BAD_REQUEST, why).challenged(challenges))
            }
        }
    }

    /// Has the token verified. The head comes back with the access among its extensions. Dropping the future drops the
    /// verifier's.
    pub(crate) async fn verify(
        &self,
        head: http::request::Parts,
        (scheme, token): (Scheme, Token),
    ) -> Result<(http::request::Parts, Access), Denied> {
        let now = (self.clock)();
        let presented = Presented::new(token, scheme, Arc::clone(&self.audience), now, head);
        let verified = self.ask(presented.clone()).await?;
        let access = match verified {
            Ok(access) if !is_over(&access, now) => access,
            Ok(_) => return Err(self.refused(&TokenError::invalid(EXPIRED), scheme)),
            Err(error) => return Err(self.refused(&error, scheme)),
        };
        let mut head = presented.into_head();
        head.extensions.insert(access.caller().clone());
        head.extensions.insert(access.clone());
        Ok((head, access))
    }

    /// What the verifier says, in time.
    async fn ask(&self, presented: Presented) -> Result<Result<Access, TokenError>, Denied> {
        let panicked = || {
            tracing::error!("the verifier of tokens panicked");
            failed()
        };
        let started = caught(|| self.verifier.verify(presented)).ok_or_else(panicked)?;
        let mut asking = Asking(Some(started));
        // Most tokens need no waiting, and those no timer.
        let at_once = poll_fn(|cx| Poll::Ready(asking.poll(cx))).await;
        let verified = match at_once {
            Poll::Ready(verified) => verified,
            Poll::Pending => {
                let in_time = tokio::time::timeout(self.verify_time, poll_fn(|cx| asking.poll(cx)));
                in_time.await.unwrap_or_else(|_| {
                    tracing::warn!("the verifier of tokens took too long");
                    Some(Err(TokenError::unavailable(TokenError::RETRY_AFTER)))
                })
            }
        };
        verified.ok_or_else(panicked)
    }

    fn refused(&self, error: &TokenError, scheme: Scheme) -> Denied {
        let denied = match error.kind() {
            Kind::Refused { code, description, scheme: of } => {
                tracing::debug!(error = error.source(), code, "a token was refused");
                let error = Some((*code, description.as_str()));
                let wanted = Wanted { error, scopes: &self.required };
                let challenges = self.challenges(Some(of.unwrap_or(scheme)), wanted);
                let message = cut(description, MAX_WHY).into_owned();
                Denied::new(StatusCode::UNAUTHORIZED, message).challenged(challenges)
            }
            Kind::Unavailable { retry_after } => {
                tracing::warn!(error = error.source(), "a token cannot be verified");
                let seconds = retry_after.as_secs().max(1);
                Denied::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).retry_after(seconds)
            }
            Kind::Insufficient { scopes } => {
                let mut all = self.required.clone();
                all.extend(scopes.iter());
                self.insufficient(&all, scheme)
            }
        };
        denied.with(error.response_headers())
    }

    /// Proves that a request may do all of `operations`, of things that require these scopes, wherever it came from.
    ///
    /// Specification: Authorization, Scope Challenge Handling.
    pub(crate) fn permit(
        &self,
        parts: &RequestParts,
        method: &str,
        operations: &[(&Required, Operation<'_>)],
    ) -> Result<(), Reason> {
        let access = parts.extensions.get::<Access>();
        let of_method = self.methods.iter().filter(|(of, _)| of.as_str() == method);
        let mut own: Vec<&Scopes> = of_method.map(|(_, scopes)| scopes).collect();
        own.extend(operations.iter().map(|(required, _)| required.always()));
        let dependent = operations
            .iter()
            .map(|(required, operation)| required.of(&Operation { access, ..*operation }));
        let dependent = dependent.collect::<Result<Vec<_>, _>>();
        let dependent = dependent.map_err(|Failed| denied(failed()))?;
        own.extend(&dependent);
        let needed = || {
            let all = std::iter::once(&self.required).chain(own.iter().copied());
            all.flat_map(Scopes::iter).collect::<Scopes>()
        };
        match access {
            Some(access) if is_over(access, (self.clock)()) => {
                let wanted = Some(("invalid_token", EXPIRED));
                Err(denied(self.unauthorized(EXPIRED, wanted, &needed())))
            }
            Some(access) => {
                let mut all = std::iter::once(&self.required).chain(own.iter().copied());
                if all.all(|scopes| scopes.iter().all(|scope| self.grants(access, scope))) {
                    return Ok(());
                }
                let is_bound = access.key().is_some() && self.schemes.contains(&Scheme::Dpop);
                let scheme = if is_bound { Scheme::Dpop } else { Scheme::Bearer };
                Err(denied(self.insufficient(&needed(), scheme)))
            }
            None if self.optional && own.iter().all(|scopes| scopes.is_empty()) => Ok(()),
            None => Err(denied(self.unauthorized("Authorization is required", None, &needed()))),
        }
    }

    /// Whether there is anybody who may not do with `method` what requires these scopes.
    pub(crate) fn guards(&self, method: Method, required: &Required) -> bool {
        let of_method = self.methods.iter().any(|(of, all)| *of == method && !all.is_empty());
        !self.optional || of_method || !required.is_empty()
    }

    pub(crate) const fn document(&self) -> &Document {
        &self.document
    }

    /// How long from now on `access` lasts.
    pub(crate) fn left(&self, access: &Access) -> Option<Duration> {
        let expires_at = access.expires_at()?;
        Some(expires_at.duration_since((self.clock)()).unwrap_or_default())
    }

    fn grants(&self, access: &Access, scope: &str) -> bool {
        let granted = access.scopes();
        granted.contains(scope)
            || self.implied.get(scope).is_some_and(|by| by.iter().any(|by| granted.contains(by)))
    }

    fn unauthorized(
        &self,
        message: &'static str,
        error: Option<(&str, &str)>,
        scopes: &Scopes,
    ) -> Denied {
        let challenges = self.challenges(None, Wanted { error, scopes });
        Denied::new(StatusCode::UNAUTHORIZED, message).challenged(challenges)
    }

    fn insufficient(&self, scopes: &Scopes, scheme: Scheme) -> Denied {
        let message = format!("This needs a token with the scopes: {scopes}");
        let error = Some(("insufficient_scope", message.as_str()));
        let challenge = self.challenge(scheme, Wanted { error, scopes });
        Denied::new(StatusCode::FORBIDDEN, message).challenged(vec![challenge])
    }

    /// A challenge for each scheme; the error stands in that of `scheme`, or of the first.
    fn challenges(&self, scheme: Option<Scheme>, wanted: Wanted<'_>) -> Vec<HeaderValue> {
        let blamed = scheme.filter(|scheme| self.schemes.contains(scheme));
        let blamed = blamed.or_else(|| self.schemes.first().copied());
        let of = |scheme: &Scheme| {
            let error = wanted.error.filter(|_| Some(*scheme) == blamed);
            self.challenge(*scheme, Wanted { error, ..wanted })
        };
        self.schemes.iter().map(of).collect()
    }

    /// RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1.
    fn challenge(&self, scheme: Scheme, wanted: Wanted<'_>) -> HeaderValue {
        let mut challenge =
            Challenge::new(scheme.as_str()).with("resource_metadata", &self.metadata_url);
        if scheme == Scheme::Dpop
            && let Some(algorithms) = &self.algorithms
        {
            challenge = challenge.with("algs", algorithms);
        }
        if !wanted.scopes.is_empty() {
            challenge = challenge.with("scope", &wanted.scopes.to_string());
        }
        if let Some((code, description)) = wanted.error {
            // Neither quotes nor backslashes may be in there.
            let plain = cut(description, MAX_WHY).replace(['"', '\\'], "'");
            challenge = challenge.with("error", code).with("error_description", &plain);
        }
        challenge.to_header()
    }
}

const EXPIRED: &str = "The token has expired";

fn is_over(access: &Access, now: SystemTime) -> bool {
    access.expires_at().is_some_and(|at| at <= now)
}

fn denied(denied: Denied) -> Reason {
    Reason::Denied(Box::new(denied))
}

#[cold]
fn failed() -> Denied {
    Denied::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error")
}

/// A verifier's future, whose destructor may panic as well as the rest of it.
struct Asking<'a>(Option<Verifying<'a>>);

impl Asking<'_> {
    /// `None` for a panic.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Access, TokenError>>> {
        let Some(future) = &mut self.0 else { return Poll::Ready(None) };
        match caught(|| future.as_mut().poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(verified)) => Poll::Ready(Some(verified)),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let future = self.0.take();
        caught(|| drop(future));
    }
}

/// What `run` comes to; nothing if it panics, so that others who share the connection live.
fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(crate::work::dispose).ok()
}
