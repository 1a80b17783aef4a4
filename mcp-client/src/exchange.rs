//! One call's whole story, and the file to read first: fill in `_meta`, mirror the headers, encode, post,
//! receive; and again, at most once each, in another version or with fresh tool definitions.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use mcp_transport::header::{ParamHeaders, StandardHeaders};
use mcp_transport::json::{Message, Notification};
use mcp_types::{
    CallToolParams, ErrorCode, LogMessageParams, NotificationMethod, PaginatedParams,
    ProgressParams, ProgressToken, RequestId, request,
};

use crate::call::{LogCallback, Options, ProgressCallback};
use crate::client::Shared;
use crate::deadline::Deadline;
use crate::error::{Error, excerpt};
use crate::limits::Limits;
use crate::outgoing::{Outgoing, Typed};
use crate::receive::{Answer, Observer, Receiver};

/// The future of an answer; it does all its work where it is polled.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

/// Calls. Not generic over the method, so that it is compiled here and not in each crate that calls.
pub(crate) fn run(
    shared: Arc<Shared>,
    request: Result<Box<dyn Outgoing>, Error>,
    options: Options,
) -> Answering {
    Box::pin(async move {
        let mut request = request?;
        let deadline = Deadline::start(options.timeouts);
        let mut exchange = Exchange { shared: &shared, options, deadline };
        exchange.run(&mut *request).await
    })
}

struct Exchange<'a> {
    shared: &'a Shared,
    options: Options,
    deadline: Deadline,
}

impl Exchange<'_> {
    async fn run(&mut self, request: &mut dyn Outgoing) -> Result<Answer, Error> {
        let own = Own::new(request, &self.options);
        let (mut renegotiated, mut refreshed) = (false, false);
        loop {
            let error = match self.round(request, own).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !renegotiated && own.version && self.renegotiate(&error) {
                renegotiated = true;
            } else if !refreshed && is_mismatch(&error) && request.tool_call().is_some() {
                refreshed = true;
                if let Err(failed) = self.refresh(request).await {
                    tracing::debug!(%failed, "the tools could not be listed again");
                    return Err(error);
                }
            } else {
                return Err(error);
            }
        }
    }

    /// Sends the request under a new id and awaits its answer.
    async fn round(&mut self, request: &mut dyn Outgoing, own: Own) -> Result<Answer, Error> {
        let shared = self.shared;
        let id = shared.next_id();
        let token = self.fill_in(request, own, id);
        let id = RequestId::from(id);
        let body = request.encode(&id).map_err(|error| {
            Error::usage("the parameters have no form in JSON").caused_by(error)
        })?;
        let plan = request.tool_call().and_then(|call| shared.catalog.plan(&call.name));
        let body = Bytes::from(body);

        let request = &*request;
        let extra = &self.options.headers;
        let headers = move || {
            let mut headers = shared.endpoint.headers();
            extra.apply(&mut headers);
            mirror(request, plan.as_deref(), &mut headers)?;
            Ok(headers)
        };
        let response = shared.endpoint.post(&headers, &body, &mut self.deadline).await?;
        let mut listener = Listener {
            token: token.as_ref(),
            resets: self.options.reset_on_progress,
            on_progress: self.options.on_progress.as_mut(),
            on_log: self.options.on_log.as_mut().map(|(_, callback)| callback),
        };
        let receiver = Receiver {
            limits: &shared.limits,
            url: &|| shared.endpoint.shown(),
            deadline: &mut self.deadline,
            observer: &mut listener,
        };
        receiver.answer(response, &id).await
    }

    /// Writes what every request says of itself, and returns the token of its progress. What the caller
    /// wrote stays. Specification: Overview, `_meta`.
    fn fill_in(&self, request: &mut dyn Outgoing, own: Own, id: i64) -> Option<ProgressToken> {
        let meta = request.meta_mut();
        if own.version {
            meta.protocol_version = Some(self.shared.version());
        }
        if own.token {
            meta.progress_token = Some(id.into());
        }
        if meta.client_info.is_none() {
            meta.client_info.clone_from(&self.shared.info);
        }
        if meta.client_capabilities.is_none() {
            meta.client_capabilities = Some(self.shared.capabilities.clone());
        }
        if let Some((level, _)) = &self.options.on_log {
            meta.log_level = Some(*level);
        }
        meta.progress_token.clone()
    }

    /// Whether the server named a version that both speak, which then is the client's.
    fn renegotiate(&self, error: &Error) -> bool {
        let refused = error.rpc().and_then(|error| error.as_unsupported_version());
        refused.is_some_and(|refused| self.shared.choose_version(&refused.supported))
    }

    /// Lists tools until the one called has come by. Specification: Streamable HTTP, Client Behavior.
    async fn refresh(&mut self, request: &dyn Outgoing) -> Result<(), Error> {
        let name = request.tool_call().map(|call| call.name.clone());
        // What the caller wants to hear is about the call, not about the list.
        let heard = (self.options.on_progress.take(), self.options.on_log.take());
        let listed = self.list_until(name.as_deref()).await;
        (self.options.on_progress, self.options.on_log) = heard;
        listed
    }

    async fn list_until(&mut self, tool: Option<&str>) -> Result<(), Error> {
        let mut params = PaginatedParams::default();
        for _ in 0..Limits::REFRESH_PAGES {
            let mut list = Typed::<request::ListTools>(params);
            let own = Own { version: true, token: false };
            let answer = self.round(&mut list, own).await?;
            let Some(mut page) = answer.found.outcome::<request::ListTools>()?.complete() else {
                break;
            };
            let found = page.tools.iter().any(|listed| Some(&*listed.name) == tool);
            self.shared.catalog.admit(&mut page);
            match page.next_cursor {
                Some(cursor) if !found => {
                    params = PaginatedParams { cursor: Some(cursor), ..PaginatedParams::default() };
                }
                _ => break,
            }
        }
        Ok(())
    }
}

/// Which members of `_meta` are the client's to fill in anew for every round.
#[derive(Clone, Copy)]
struct Own {
    version: bool,
    token: bool,
}

impl Own {
    fn new(request: &dyn Outgoing, options: &Options) -> Self {
        let meta = request.meta();
        let wants_progress = options.on_progress.is_some() || options.reset_on_progress;
        Self {
            version: meta.protocol_version.is_none(),
            token: meta.progress_token.is_none() && wants_progress,
        }
    }
}

/// Sets the headers that repeat the message. Specification: Streamable HTTP, Request Metadata.
fn mirror(
    request: &dyn Outgoing,
    plan: Option<&ParamHeaders>,
    headers: &mut HeaderMap,
) -> Result<(), Error> {
    let version = request.meta().protocol_version.as_ref();
    let standard = StandardHeaders {
        version: version.map_or("", |version| version.as_str()),
        method: request.method(),
        name: request.mcp_name(),
    };
    standard
        .apply(headers)
        .map_err(|error| Error::usage("the request cannot be sent over HTTP").caused_by(error))?;
    if let (Some(plan), Some(CallToolParams { arguments, .. })) = (plan, request.tool_call()) {
        plan.mirror(arguments.as_ref().map(|arguments| arguments.get()), headers).map_err(
            |error| Error::usage("an argument has no place in a header").caused_by(error),
        )?;
    }
    Ok(())
}

fn is_mismatch(error: &Error) -> bool {
    error.rpc().is_some_and(|error| error.code == ErrorCode::HEADER_MISMATCH)
}

/// Hands the notifications of one round to the caller.
struct Listener<'a> {
    token: Option<&'a ProgressToken>,
    resets: bool,
    on_progress: Option<&'a mut ProgressCallback>,
    on_log: Option<&'a mut LogCallback>,
}

impl Observer for Listener<'_> {
    fn see(&mut self, _raw: &Bytes, message: &Message<'_>) -> bool {
        let Message::Notification(notification) = message else {
            return false;
        };
        match NotificationMethod::from_name(&notification.method) {
            Some(NotificationMethod::Progress) => self.progress(notification),
            Some(NotificationMethod::LogMessage) => {
                self.log(notification);
                false
            }
            _ => {
                let method = excerpt(notification.method.as_bytes());
                tracing::debug!(method, "a notification nobody waits for");
                false
            }
        }
    }
}

impl Listener<'_> {
    fn progress(&mut self, notification: &Notification<'_>) -> bool {
        if self.on_progress.is_none() && !self.resets {
            return false;
        }
        match serde_json::from_str::<ProgressParams>(notification.params.raw()) {
            // A token of another type, or of another call, is none of ours.
            Ok(progress) if Some(&progress.progress_token) == self.token => {
                if let Some(callback) = &mut self.on_progress {
                    callback(progress);
                }
                self.resets
            }
            Ok(_) => {
                tracing::debug!("progress of something else");
                false
            }
            Err(error) => {
                tracing::trace!(%error, "progress that cannot be read");
                false
            }
        }
    }

    fn log(&mut self, notification: &Notification<'_>) {
        let Some(callback) = &mut self.on_log else {
            return;
        };
        match serde_json::from_str::<LogMessageParams>(notification.params.raw()) {
            Ok(message) => callback(message),
            Err(error) => tracing::trace!(%error, "a log message that cannot be read"),
        }
    }
}
