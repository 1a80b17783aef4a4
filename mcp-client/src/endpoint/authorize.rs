//! What a request goes through at a server that wants access tokens. Specification: Authorization, Access Token Usage.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Response, StatusCode, Uri};
use mcp_transport::auth::Challenge;

use super::{Endpoint, Headers, ReplyBody};
use crate::body::skip;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::limits::Limits;
use crate::oauth::{Keeper, OAuthError, Tries};

/// Posts `body` with the token there is, and again with a better one, or a better proof, where the server wants that.
/// While a token is got nobody waits for the server: the idle time stands still, the total goes on.
pub(super) async fn post(
    endpoint: &Endpoint,
    keeper: &Keeper,
    headers: &Headers<'_>,
    body: &Bytes,
    deadline: &mut Deadline,
) -> Result<Response<ReplyBody>, Error> {
    let mut tries = Tries::default();
    let mut token = aside(deadline, keeper.token(&mut tries)).await??;
    let mut has_nonce = false;
    for _ in 0..Limits::TOKENS {
        let signed = |uri: &Uri| {
            let mut headers = headers()?;
            if let Some(token) = &token {
                token.apply(&mut headers, &uri.to_string(), keeper.nonces())?;
            }
            Ok(headers)
        };
        let response = endpoint.send(&signed, body, deadline).await?;
        let is_bound = token.as_ref().is_some_and(|token| token.is_bound());
        let gives_nonce = is_bound && keeper.note_nonce(response.headers());
        let wants = Wants::of(&response);
        if let Some(token) = &token
            && wants != Some(Wants::Token)
        {
            token.is_taken();
        }
        let Some(wants) =
            wants.filter(|_| !headers().is_ok_and(|it| it.contains_key(AUTHORIZATION)))
        else {
            return Ok(response);
        };
        // It has not looked at the token yet. RFC 9449, section 9.
        if gives_nonce && wants == Wants::Token && !has_nonce && wants_nonce(&response) {
            has_nonce = true;
            skip(response.into_body()).await;
            continue;
        }
        let challenges = ours(response.headers());
        let better = match (wants, &token) {
            (Wants::Token, _) => {
                aside(deadline, keeper.renewed(token.as_ref(), challenges, &mut tries)).await?
            }
            (Wants::Scopes, Some(had)) => {
                aside(deadline, keeper.widened(had, challenges, &mut tries)).await?
            }
            // It is about nothing that was sent from here.
            (Wants::Scopes, None) => return Ok(response),
        };
        let (head, rest) = response.into_parts();
        token = better.map_err(|error| Error::from(error).with_head(head.status, head.headers))?;
        skip(rest).await;
    }
    Err(OAuthError::unsettled().into())
}

/// What a server wants to see instead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// Another token, or one at all.
    Token,
    /// One with more scopes.
    Scopes,
}

impl Wants {
    fn of(response: &Response<ReplyBody>) -> Option<Self> {
        match response.status() {
            StatusCode::UNAUTHORIZED => Some(Self::Token),
            StatusCode::FORBIDDEN => {
                let is_about_scopes = |it: &Challenge| it.error() == Some("insufficient_scope");
                ours(response.headers()).iter().any(is_about_scopes).then_some(Self::Scopes)
            }
            _ => None,
        }
    }
}

/// Whether it wants a proof with the nonce that it sends along.
fn wants_nonce(response: &Response<ReplyBody>) -> bool {
    let is_about_nonce = |it: &Challenge| it.is("DPoP") && it.error() == Some("use_dpop_nonce");
    ours(response.headers()).iter().any(is_about_nonce)
}

/// The challenges that a token answers.
fn ours(headers: &HeaderMap) -> Vec<Challenge> {
    let mut challenges = Challenge::read(headers);
    challenges.retain(|challenge| challenge.is("Bearer") || challenge.is("DPoP"));
    challenges
}

async fn aside<T>(deadline: &mut Deadline, work: impl Future<Output = T>) -> Result<T, Error> {
    deadline.pause();
    let done = deadline.race(work).await?;
    deadline.extend();
    Ok(done)
}
