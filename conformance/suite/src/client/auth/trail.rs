//! `Trail`: what a client did in a `World`.

use std::ops::Deref;

use super::super::{Played, Seen};
use super::params::Params;
use super::visit::{Place, path};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{cut, shown};

/// What was seen.
pub(super) struct Trail(Played);

impl Deref for Trail {
    type Target = Played;

    fn deref(&self) -> &Played {
        &self.0
    }
}

impl Trail {
    pub(super) fn of(played: Played) -> Self {
        Self(played)
    }

    /// The requests to a place.
    pub(super) fn at(&self, place: Place) -> impl DoubleEndedIterator<Item = &Seen> {
        self.requests.iter().filter(move |seen| Place::of(seen) == place)
    }

    /// The paths of the requests to a place, without those that come again.
    pub(super) fn paths(&self, place: Place) -> Vec<&str> {
        let mut paths = Vec::new();
        for seen in self.at(place) {
            if !paths.contains(&seen.target()) {
                paths.push(seen.target());
            }
        }
        paths
    }

    /// What the authorization requests asked for.
    pub(super) fn authorizations(&self) -> Vec<Params> {
        self.at(Place::Authorize).map(Params::of_query).collect()
    }

    /// The authorization request of this number, which has to be there.
    pub(super) fn authorization(&self, number: usize) -> Verdict<Params> {
        let seen = self.at(Place::Authorize).nth(number).map(Params::of_query);
        let expected = format!("{} authorization requests", number + 1);
        seen.ok_or_else(|| Stop::fail(expected, self.way()))
    }

    /// What the token requests with this grant said.
    pub(super) fn exchanges(&self, grant: &str) -> Vec<Params> {
        let forms = self.at(Place::Token).map(Params::of_form);
        forms.filter(|form| form.text("grant_type") == grant).collect()
    }

    /// The first token request, which has to be there.
    pub(super) fn token_request(&self) -> Verdict<&Seen> {
        self.at(Place::Token).next().ok_or_else(|| Stop::fail("a token request", self.way()))
    }

    /// The client has signed in, and all that it was told to do was done.
    pub(super) fn went_on(&self, after: &str) -> Verdict {
        let signed_in = self.at(Place::Token).next().is_some();
        let seen = || format!("after {after}: {}", self.way());
        expect(signed_in, "a sign-in that goes on", seen())?;
        let failed = self.told.iter().find(|told| told.get("error").is_some());
        let seen = || format!("after {after}: {}", failed.map(shown).unwrap_or_default());
        expect(failed.is_none() && !self.told.is_empty(), "results once signed in", seen())
    }

    /// The client has ended by itself.
    pub(super) fn ended(&self, after: &str) -> Verdict {
        let seen = format!("after {after} it had to be killed: {}", self.way());
        expect(self.exit.is_some(), "an end of the client", seen)
    }

    /// The client went as far as `place`, and then neither asked for authorization nor for a token.
    pub(super) fn stopped_at(&self, place: Place, after: &str) -> Verdict {
        self.came_to(place, after)?;
        let stops = self.at(Place::Authorize).chain(self.at(Place::Token)).next().is_none();
        let seen = || format!("after {after}: {}", self.way());
        expect(stops, "neither an authorization request nor a token request", seen())?;
        let tokens = self.at(Place::Mcp).filter(|seen| seen.header("Authorization").is_some());
        expect(tokens.count() == 0, "no token for the server", seen())?;
        self.ended(after)
    }

    /// The client asked for authorization, and brought the code of the answer nowhere.
    pub(super) fn dropped_the_answer(&self, after: &str) -> Verdict {
        self.came_to(Place::Authorize, after)?;
        let exchanged = self.at(Place::Token).next();
        let seen = || format!("after {after}: {}", self.way());
        expect(exchanged.is_none(), "no token request", seen())?;
        self.ended(after)
    }

    pub(super) fn came_to(&self, place: Place, after: &str) -> Verdict {
        let seen = || format!("after {after}: {}", self.way());
        expect(self.at(place).next().is_some(), format!("a request to {place:?}"), seen())
    }

    /// The way of the client, on one line.
    pub(super) fn way(&self) -> String {
        let way = self.requests.iter().map(|seen| {
            let mark = if seen.header("Authorization").is_some() { " (authorized)" } else { "" };
            format!("{} {}{mark}", seen.http_method(), path(seen))
        });
        let way = way.collect::<Vec<_>>().join(", ");
        cut(if way.is_empty() { "no request" } else { &way })
    }
}

impl Seen {
    /// Whether this stands anywhere in the request.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let headers = self.head.iter().flat_map(|head| head.headers());
        let mut headers = headers.map(|(_, value)| value);
        let body = String::from_utf8_lossy(&self.body);
        self.target().contains(text) || headers.any(|it| it.contains(text)) || body.contains(text)
    }
}
