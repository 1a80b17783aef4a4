//! `Parameters`: what an application adds to the page where users sign in.

use std::fmt;

use super::error::{Kind, OAuthError};
use super::url::shown;

/// Parameters of authorization requests beside those that the flow consists of.
#[derive(Clone, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Sets one, in place of another of that name.
    ///
    /// # Errors
    /// When it has no name, or is the flow's own.
    pub(crate) fn set(&mut self, name: String, value: String) -> Result<(), OAuthError> {
        if name.is_empty() || OWN.contains(&&*name) {
            let text = format!("{:?} is no parameter for applications to set", shown(&name));
            return Err(OAuthError::new(Kind::Usage, text));
        }
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value));
        Ok(())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// Names alone: a value may say who the user is.
impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What the flow rests on, and what would have the user come back in another way or take all of it from elsewhere.
const OWN: [&str; 12] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "redirect_uri",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
];
