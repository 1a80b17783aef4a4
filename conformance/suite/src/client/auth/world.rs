//! `World`: a server that wants tokens, and the authorization servers that give them, all at one address.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::super::asking::{call, with};
use super::super::{Answer, Cx, Seen, good};
use super::params::Params;
use super::state::State;
use super::trail::Trail;
use super::visit::{Form, Place, Visit};
use crate::verdict::{Stop, Verdict};
use crate::wire::json::at;

/// How everybody behaves. It makes no mistakes unless a check bends it.
///
/// The server is at `/mcp`. Whatever a path says before `/authorize`, `/token` and `/register` is the issuer's. In all texts
/// `{origin}` stands for the address. What is given out has names such as `access-3-s3cret`, behind the
/// issuer's path if it has one: `/one` gives `one-access-3-s3cret`.
#[derive(Clone)]
pub(super) struct World {
    /// Paths of the issuers that the server names.
    issuers: Vec<String>,
    /// The issuer that it names in their place once it has taken a token.
    next_issuer: Option<String>,
    form: Form,
    resource_at: &'static str,
    challenges: Vec<String>,
    resource: Value,
    metadata: Value,
    token: Value,
    renewed: Value,
    bends: Vec<(Place, Bend)>,
    callback: Option<Callback>,
    auth: Value,
    steps: Value,
}

/// What is answered in place of the usual.
type Bend = Arc<dyn Fn(&Visit<'_>) -> Option<Answer> + Send + Sync>;
/// The query with which the user comes back.
type Callback = Arc<dyn Fn(&Visit<'_>, Params) -> String + Send + Sync>;

impl World {
    pub(super) fn new() -> Self {
        Self {
            issuers: vec![String::new()],
            next_issuer: None,
            form: Form::OAuth,
            resource_at: WELL_KNOWN,
            challenges: vec![format!("Bearer resource_metadata=\"{{origin}}{WELL_KNOWN}\"")],
            resource: json!({ "resource": "{origin}/mcp" }),
            metadata: json!({}),
            token: json!({}),
            renewed: json!({}),
            bends: Vec::new(),
            callback: None,
            auth: json!({}),
            steps: json!([{ "do": "tools/list" }, call("echo")]),
        }
    }

    /// The paths of the issuers that the server names.
    pub(super) fn issuers(mut self, paths: &[&str]) -> Self {
        self.issuers = paths.iter().map(|&path| path.to_owned()).collect();
        self
    }

    /// Once the server has taken a token it names this issuer, and takes no tokens of others.
    pub(super) fn then_issuer(mut self, path: &str) -> Self {
        self.next_issuer = Some(path.to_owned());
        self
    }

    /// Where issuers have their metadata.
    pub(super) fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// Where the server has its metadata.
    pub(super) fn resource_at(mut self, path: &'static str) -> Self {
        self.resource_at = path;
        self
    }

    /// The lines of `WWW-Authenticate`.
    pub(super) fn challenges<S: Into<String>>(
        mut self,
        lines: impl IntoIterator<Item = S>,
    ) -> Self {
        self.challenges = lines.into_iter().map(Into::into).collect();
        self
    }

    /// The usual challenge, with a scope.
    pub(super) fn challenged_scope(self, scope: &str) -> Self {
        let line =
            format!("Bearer resource_metadata=\"{{origin}}{WELL_KNOWN}\", scope=\"{scope}\"");
        self.challenges([line])
    }

    /// Members of the server's metadata. Here and below null takes a member away, and `"{null}"` makes it null.
    pub(super) fn resource(mut self, members: Value) -> Self {
        self.resource = with(Some(self.resource), members);
        self
    }

    /// Members of the issuers' metadata.
    pub(super) fn metadata(mut self, members: Value) -> Self {
        self.metadata = and(self.metadata, members);
        self
    }

    /// Members of the answer to whoever brings a code.
    pub(super) fn token(mut self, members: Value) -> Self {
        self.token = members;
        self
    }

    /// Members of the answer to whoever brings a refresh token.
    pub(super) fn renewed(mut self, members: Value) -> Self {
        self.renewed = members;
        self
    }

    /// Another answer at `place`, where there is one.
    pub(super) fn bend(
        mut self,
        place: Place,
        bend: impl Fn(&Visit<'_>) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        self.bends.push((place, Arc::new(bend)));
        self
    }

    /// Another query with which the user comes back, made of the usual one.
    pub(super) fn callback(
        mut self,
        callback: impl Fn(&Visit<'_>, Params) -> String + Send + Sync + 'static,
    ) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// What the client is told of itself.
    pub(super) fn told(mut self, auth: Value) -> Self {
        self.auth = auth;
        self
    }

    pub(super) fn steps(mut self, steps: Value) -> Self {
        self.steps = steps;
        self
    }

    /// Has the client go through its steps in this world.
    pub(super) async fn play(&self, cx: &Cx) -> Verdict<Trail> {
        let (world, state) = (self.clone(), Mutex::new(State::default()));
        let context = json!({ "steps": self.steps, "auth": self.auth });
        let part = move |seen: &Seen| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            world.answer(&mut state, seen)
        };
        Ok(Trail::of(cx.play_with(context, part).await?))
    }

    fn answer(&self, state: &mut State, seen: &Seen) -> Answer {
        let place = Place::of(seen);
        let visit = Visit {
            seen,
            turn: state.visit(place),
            issuer: Place::issuer(seen),
            token: state.token(seen.header("Authorization")),
        };
        let bends = self.bends.iter().filter(|(bent, _)| *bent == place);
        if let Some(answer) = bends.rev().find_map(|(_, bend)| bend(&visit)) {
            return answer;
        }
        let nothing = Answer::bytes("text/plain", "not here").status(404);
        match place {
            Place::Mcp => self.mcp(state, &visit),
            Place::Resource if seen.target() == self.resource_at => {
                self.resource_metadata(state, seen)
            }
            Place::Issuer => {
                let issuers = self.issuers.iter().chain(&self.next_issuer);
                let mut found = issuers.filter(|issuer| self.form.path(issuer) == seen.target());
                found.next().map_or(nothing, |issuer| self.issuer_metadata(seen, issuer))
            }
            Place::Register => registered(state, &visit),
            Place::Authorize => self.authorize(state, &visit),
            Place::Token => self.exchange(state, &visit),
            Place::Resource | Place::Elsewhere => nothing,
        }
    }

    fn mcp(&self, state: &mut State, visit: &Visit<'_>) -> Answer {
        let moved = self.next_issuer.as_ref().filter(|_| state.has_served());
        match &visit.token {
            Some(token) if moved.is_none_or(|issuer| *issuer == token.issuer) => {
                state.serve(&token.text);
                good(visit.seen)
            }
            _ => self.refused(visit.seen),
        }
    }

    /// 401.
    pub(super) fn refused(&self, seen: &Seen) -> Answer {
        let mut answer = Answer::bytes("text/plain", "who are you?").status(401);
        for line in &self.challenges {
            let had_token = seen.header("Authorization").is_some() && line.starts_with("Bearer ");
            let error = if had_token { ", error=\"invalid_token\"" } else { "" };
            let line = line.replace("{origin}", &seen.origin);
            answer = answer.header("WWW-Authenticate", format!("{line}{error}"));
        }
        answer
    }

    fn resource_metadata(&self, state: &State, seen: &Seen) -> Answer {
        let moved = self.next_issuer.as_ref().filter(|_| state.has_served());
        let named = moved.map_or(&*self.issuers, std::slice::from_ref);
        let named = named.iter().map(|path| format!("{{origin}}{path}")).collect::<Vec<_>>();
        let members = json!({
            "authorization_servers": named, "bearer_methods_supported": ["header"],
        });
        Answer::json(filled(&with(Some(members), self.resource.clone()), seen))
    }

    fn issuer_metadata(&self, seen: &Seen, issuer: &str) -> Answer {
        let here = |path: &str| format!("{{origin}}{issuer}{path}");
        let members = json!({
            "issuer": here(""),
            "authorization_endpoint": here("/authorize"),
            "token_endpoint": here("/token"),
            "registration_endpoint": here("/register"),
            "jwks_uri": here("/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported":
                ["none", "client_secret_basic", "client_secret_post"],
            "client_id_metadata_document_supported": true,
        });
        Answer::json(filled(&with(Some(members), self.metadata.clone()), seen))
    }

    fn authorize(&self, state: &mut State, visit: &Visit<'_>) -> Answer {
        let asked = Params::of_query(visit.seen);
        let code = state.code(visit.issuer, asked.text("scope"));
        let mut said = Params::default().and("code", &code);
        if let Some(state) = asked.get("state") {
            said = said.and("state", state);
        }
        if at(&self.metadata, "/authorization_response_iss_parameter_supported") == true {
            said = said.and("iss", &visit.issuer_url());
        }
        let query = match &self.callback {
            Some(callback) => callback(visit, said),
            None => said.encode(),
        };
        let uri = asked.text("redirect_uri");
        let mark = if uri.contains('?') { '&' } else { '?' };
        Answer::accepted().status(302).header("Location", format!("{uri}{mark}{query}"))
    }

    fn exchange(&self, state: &mut State, visit: &Visit<'_>) -> Answer {
        let form = Params::of_form(visit.seen);
        let (granted, members) = match form.text("grant_type") {
            "refresh_token" => (state.renew(form.text("refresh_token")), &self.renewed),
            "authorization_code" => (state.redeem(visit.issuer, form.text("code")), &self.token),
            // Who the client is was settled before.
            _ => (Some(state.grant(visit.issuer, form.text("scope"))), &self.token),
        };
        let Some(granted) = granted else {
            return Answer::json(json!({ "error": "invalid_grant" })).status(400);
        };
        let granted = filled(&with(Some(granted), members.clone()), visit.seen);
        Answer::json(granted).header("Cache-Control", "no-store")
    }
}

/// Skips unless the client signs in where everything is as it should be.
pub(super) async fn signs_in(cx: &Cx) -> Verdict {
    let trail = World::new().play(cx).await?;
    if trail.at(Place::Authorize).next().is_none() {
        return Err(Stop::skip("the client does not sign in where a server wants it"));
    }
    Ok(())
}

fn registered(state: &mut State, visit: &Visit<'_>) -> Answer {
    let (id, secret) = state.client(visit.issuer);
    let mut answer = and(visit.seen.message.clone(), json!({ "client_id": id }));
    if at(&visit.seen.message, "/token_endpoint_auth_method") != "none" {
        answer = and(answer, json!({ "client_secret": secret, "client_secret_expires_at": 0 }));
    }
    Answer::json(answer).status(201)
}

/// All members of both, also those that are null.
fn and(members: Value, more: Value) -> Value {
    let all = [members, more].into_iter().filter_map(|it| match it {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(all.flatten().collect())
}

fn filled(value: &Value, seen: &Seen) -> Value {
    let text = value.to_string().replace("{origin}", &seen.origin).replace("\"{null}\"", "null");
    serde_json::from_str(&text).unwrap_or_default()
}

/// Where the server's metadata are, in the form with a path.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource/mcp";
