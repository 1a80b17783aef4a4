//! `State`: what the authorization servers of a world have given out.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::visit::Place;

/// What was given out, and what became of it.
#[derive(Default)]
pub(super) struct State {
    given: usize,
    served: usize,
    visits: HashMap<Place, usize>,
    codes: HashMap<String, (String, String)>,
    refresh: HashMap<String, (String, String)>,
    tokens: HashMap<String, Token>,
}

/// A token that was given out.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    /// The path of its issuer.
    pub(super) issuer: String,
    pub(super) scope: String,
    /// How many requests were served that came with it.
    pub(super) uses: usize,
}

impl State {
    /// How many came there before.
    pub(super) fn visit(&mut self, place: Place) -> usize {
        let visits = self.visits.entry(place).or_default();
        *visits += 1;
        *visits - 1
    }

    /// The token that a header has.
    pub(super) fn token(&self, header: Option<&str>) -> Option<Token> {
        let (scheme, token) = header?.split_once(' ')?;
        self.tokens.get(token).filter(|_| scheme.eq_ignore_ascii_case("bearer")).cloned()
    }

    pub(super) fn serve(&mut self, token: &str) {
        self.served += 1;
        if let Some(token) = self.tokens.get_mut(token) {
            token.uses += 1;
        }
    }

    pub(super) fn has_served(&self) -> bool {
        self.served > 0
    }

    fn name(&mut self, issuer: &str, kind: &str) -> String {
        self.given += 1;
        let issuer = issuer.trim_start_matches('/').replace('/', "-");
        let mark = if issuer.is_empty() { "" } else { "-" };
        format!("{issuer}{mark}{kind}-{}-s3cret", self.given)
    }

    /// The id and the secret of a client.
    pub(super) fn client(&mut self, issuer: &str) -> (String, String) {
        (self.name(issuer, "client"), self.name(issuer, "password"))
    }

    pub(super) fn code(&mut self, issuer: &str, scope: &str) -> String {
        let code = self.name(issuer, "code");
        self.codes.insert(code.clone(), (issuer.to_owned(), scope.to_owned()));
        code
    }

    /// What a code is good for, once.
    pub(super) fn redeem(&mut self, issuer: &str, code: &str) -> Option<Value> {
        let (of, scope) = self.codes.remove(code)?;
        (of == issuer).then(|| self.grant(issuer, &scope))
    }

    /// What a refresh token is good for. The next is given with it; the old one stays good, for where that is kept back.
    pub(super) fn renew(&mut self, refresh: &str) -> Option<Value> {
        let (issuer, scope) = self.refresh.get(refresh)?.clone();
        Some(self.grant(&issuer, &scope))
    }

    pub(super) fn grant(&mut self, issuer: &str, scope: &str) -> Value {
        let (text, refresh) = (self.name(issuer, "access"), self.name(issuer, "refresh"));
        self.refresh.insert(refresh.clone(), (issuer.to_owned(), scope.to_owned()));
        let token = Token {
            text: text.clone(),
            issuer: issuer.to_owned(),
            scope: scope.to_owned(),
            uses: 0,
        };
        self.tokens.insert(text.clone(), token);
        let mut granted = json!({
            "access_token": text, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": refresh,
        });
        if let Some(members) = granted.as_object_mut().filter(|_| !scope.is_empty()) {
            members.insert("scope".to_owned(), scope.into());
        }
        granted
    }
}
