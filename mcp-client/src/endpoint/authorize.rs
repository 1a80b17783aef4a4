//! What a request goes through at a server that wants access tokens. Specification: Authorization, Access Token Usage.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Response, StatusCode};
use mcp_transport::auth::Challenge;

use super::{Endpoint, Headers, ReplyBody};
use crate::body::skip;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::limits::Limits;
use crate::oauth::{Keeper, OAuthError, Tries};

/// Posts `body` with the token there is, and again with a better one where the server wants that. While a token is got
/// nobody waits for the server: the idle time stands still, the total goes on.
pub(super) async fn post(
    endpoint: &Endpoint,
    keeper: &Keeper,
    headers: &Headers<'_>,
    body: &Bytes,
    deadline: &mut Deadline,
) -> Result<Response<ReplyBody>, Error> {
    let mut tries = Tries::default();
    let mut token = aside(deadline, keeper.token()).await??;
    for _ in 0..Limits::TOKENS {
        let signed = || {
            let mut headers = headers()?;
            if let Some(token) = &token {
                token.apply(&mut headers);
            }
            Ok(headers)
        };
        let response = endpoint.send(&signed, body, deadline).await?;
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
        let challenges = bearer(&response);
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
                bearer(response).iter().any(is_about_scopes).then_some(Self::Scopes)
            }
            _ => None,
        }
    }
}

/// The challenges that a token answers.
fn bearer(response: &Response<ReplyBody>) -> Vec<Challenge> {
    let mut challenges = Challenge::read(response.headers());
    challenges.retain(|challenge| challenge.is("Bearer"));
    challenges
}

async fn aside<T>(deadline: &mut Deadline, work: impl Future<Output = T>) -> Result<T, Error> {
    deadline.pause();
    let done = deadline.race(work).await?;
    deadline.extend();
    Ok(done)
}
