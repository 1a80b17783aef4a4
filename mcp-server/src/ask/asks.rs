//! `Asks`: what one request has asked, what it knows already, and how both travel to the next round.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_types::{
    ErrorObject, InputRequest, InputRequests, InputRequired, InputResponses, RawJson, RequestState,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::seal::{Binding, LIFETIME, Payload, SealError, Sealer};
use super::spent::StateId;

/// How often one request may come back for answers: more than any dialogue that a person bears. Loops of answers that
/// never fit end here.
pub const MAX_ROUNDS: u32 = 16;

/// What binds the rounds of a request together.
pub(crate) struct Request {
    pub(crate) principal: Option<Box<str>>,
    pub(crate) method: Box<str>,
    pub(crate) target: Box<str>,
    /// The JSON text of the arguments.
    pub(crate) arguments: Box<str>,
}

/// The questions and answers of one request.
pub(crate) struct Asks {
    request: Request,
    /// The state that the request came with, and when it expires, in seconds since the Unix epoch.
    brought: Option<(StateId, u64)>,
    /// Whether answers count only once, and so only with a state.
    single_use: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many rounds came before, as far as a sealed state told.
    round: u32,
    /// Whether the client answered something: then this is not the first round, whatever it says.
    answered: bool,
    carried: Carried,
    /// The answers that came with this request.
    responses: BTreeMap<String, RawJson>,
    /// What is waited for in this round, in order.
    open: Vec<Open>,
    /// The questions of this round by their keys.
    questions: BTreeMap<String, u64>,
    fault: Option<String>,
    /// Whether the state was found not to have been used.
    claimed: bool,
    /// Who polls the handler, and whether that is under way.
    waker: Option<Waker>,
    polled: bool,
}

/// Something that the client is to bring.
struct Open {
    key: String,
    /// `None` asks for nothing but to come back.
    question: Option<InputRequest>,
    /// How many futures wait for it.
    waiting: usize,
}

/// What a sealed state holds.
#[derive(Default, Serialize, Deserialize)]
struct Carried {
    /// Answers, each with the question it answers.
    #[serde(rename = "a")]
    answers: BTreeMap<String, (u64, RawJson)>,
    /// Remembered values.
    #[serde(rename = "m")]
    remembered: BTreeMap<String, RawJson>,
    /// The questions that were put to the client.
    #[serde(rename = "q")]
    pending: BTreeMap<String, u64>,
}

impl Asks {
    /// Takes up a request, and what its client brought back.
    ///
    /// # Errors
    /// When the state does not open for this request.
    pub(crate) fn open(
        sealer: &Sealer,
        request: Request,
        responses: &InputResponses,
        sealed: Option<&str>,
        single_use: bool,
    ) -> Result<Self, SealError> {
        let mut state = State::default();
        let mut brought = None;
        if let Some(text) = sealed {
            let opened = sealer.open(&request.binding(), text, now())?;
            state.round = opened.round;
            state.carried = serde_json::from_slice(&opened.data).or(Err(SealError::Malformed))?;
            brought = Some((StateId::of(opened.tag), opened.expires));
        }
        // Without a state nothing would tell an answer that is given for the second time.
        if brought.is_some() || !single_use {
            state.answered = !responses.is_empty();
            state.responses =
                responses.iter().map(|(key, json)| (key.into(), json.clone())).collect();
        }
        Ok(Self { request, brought, single_use, state: Mutex::new(state) })
    }

    /// The state that is still to be claimed, and when it expires, in seconds since the Unix epoch.
    pub(super) fn unclaimed(&self) -> Option<(StateId, u64)> {
        self.brought.filter(|_| !self.lock().claimed)
    }

    /// Whether the client brought something back that is heeded.
    pub(crate) fn is_retry(&self) -> bool {
        self.brought.is_some() || self.lock().answered
    }

    /// Lets the handler run, again as well: a layer may try more than once.
    pub(super) fn is_claimed(&self) {
        self.lock().claimed = true;
    }

    /// The answer to `question`, if there is one that `read` can make something of.
    pub(super) fn answer<T>(
        &self,
        key: &str,
        question: &InputRequest,
        read: fn(&InputRequest, &RawJson) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        let digest = state.put(key, Some(question))?;
        if let Some((asked, response)) = state.carried.answers.get(key)
            && *asked == digest
            && let Some(answer) = read(question, response)
        {
            return Some(answer);
        }
        // Without a state nothing tells what the client was asked; then what fits is taken.
        let asked = state.carried.pending.get(key).is_none_or(|asked| *asked == digest);
        if asked
            && let Some(response) = state.responses.get(key)
            && let Some(answer) = read(question, response)
        {
            let response = response.clone();
            state.carried.answers.insert(key.to_owned(), (digest, response));
            return Some(answer);
        }
        None
    }

    /// Whether the client has come back since `key` sent it away.
    pub(super) fn came_back(&self, key: &str) -> bool {
        let mut state = self.lock();
        let Some(digest) = state.put(key, None) else { return false };
        let carried = &mut state.carried;
        if carried.answers.get(key).is_some_and(|(sent, _)| *sent == digest) {
            return true;
        }
        if carried.pending.get(key) == Some(&digest) {
            carried.answers.insert(key.to_owned(), (digest, serde_json::Value::Null.into()));
            return true;
        }
        false
    }

    /// Has the round end with this, for as long as somebody waits for it.
    pub(super) fn wait(&self, key: &str, question: Option<&InputRequest>) {
        let mut state = self.lock();
        match state.open.iter_mut().find(|open| open.key == key) {
            Some(open) => open.waiting += 1,
            None => {
                let question = question.cloned();
                state.open.push(Open { key: key.to_owned(), question, waiting: 1 });
            }
        }
        if !state.polled {
            // Nobody would look before the call has taken too long, and the task would be there for ever.
            state.fail(format!("{key:?} is awaited outside of the handler, in a task of its own"));
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Notes that the handler is polled, until [`end_round`](Self::end_round).
    pub(crate) fn begin_poll(&self, waker: &Waker) {
        let mut state = self.lock();
        state.polled = true;
        state.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
    }

    /// One who waited has given up.
    pub(super) fn give_up(&self, key: &str) {
        self.lock().open.retain_mut(|open| {
            if open.key == key {
                open.waiting -= 1;
            }
            open.waiting > 0
        });
    }

    pub(super) fn remembered<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.lock().carried.remembered.get(key)?.decode().ok()
    }

    pub(super) fn remember<T: Serialize + DeserializeOwned>(&self, key: &str, value: &T) {
        // What cannot be read would be made again in every round, in silence.
        let kept = RawJson::new(value).and_then(|json| json.decode::<T>().map(|_| json));
        let mut state = self.lock();
        match kept {
            Ok(json) => drop(state.carried.remembered.insert(key.to_owned(), json)),
            Err(error) => {
                state.fail(format!("what {key:?} remembers does not survive as JSON: {error}"));
            }
        }
    }

    pub(super) fn forget(&self, key: &str) {
        let mut state = self.lock();
        state.carried.answers.remove(key);
        state.carried.pending.remove(key);
        state.responses.remove(key);
    }

    /// Ends the request with an error: the handler asks for something impossible.
    pub(super) fn fail(&self, key: &str, why: impl fmt::Display) {
        self.lock().fail(format!("{key:?}: {why}"));
    }

    /// Forgets what was asked in this round: the handler runs anew.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.open.clear();
        state.questions.clear();
        state.fault = None;
    }

    /// What a handler that waits ends its round with; `None` when it waits for something else.
    pub(crate) fn end_round(&self, sealer: &Sealer) -> Option<Result<InputRequired, ErrorObject>> {
        let mut state = self.lock();
        state.polled = false;
        if let Some(fault) = state.fault.take() {
            tracing::error!(target = &*self.request.target, fault, "a handler cannot ask that");
            return Some(Err(ErrorObject::internal_error("Internal error")));
        }
        if state.open.is_empty() {
            return None;
        }
        if state.round >= MAX_ROUNDS {
            return Some(Err(ErrorObject::internal_error(format!(
                "No answers that fit came in {MAX_ROUNDS} rounds"
            ))));
        }
        let sealed = state.seal(&self.request, sealer, self.single_use);
        let open = std::mem::take(&mut state.open).into_iter();
        let requests: InputRequests =
            open.filter_map(|open| Some((open.key, open.question?))).collect();
        Some(sealed.and_then(|sealed| {
            // Where there is no open question there is a state, so it is not empty.
            InputRequired::new(requests, sealed)
                .map_err(|error| ErrorObject::internal_error(error.to_string()))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // `read` runs code of a user under the lock, but nothing is changed before it returns.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// Notes what has the key in this round; the digest of the question. `None` if it is another one's already.
    fn put(&mut self, key: &str, question: Option<&InputRequest>) -> Option<u64> {
        let digest = digest(question);
        if *self.questions.entry(key.to_owned()).or_insert(digest) != digest {
            self.fail(format!("two questions have the key {key:?}"));
            return None;
        }
        Some(digest)
    }

    /// The state for the next round. A first round that only asks does without, unless states are counted: then the
    /// client may come back to any instance, whatever its keys.
    fn seal(
        &mut self,
        request: &Request,
        sealer: &Sealer,
        single_use: bool,
    ) -> Result<Option<RequestState>, ErrorObject> {
        let keeps = !self.carried.answers.is_empty() || !self.carried.remembered.is_empty();
        let only_asks = self.open.iter().all(|open| open.question.is_some());
        if self.round == 0 && !self.answered && !keeps && only_asks && !single_use {
            return Ok(None);
        }
        let questions =
            self.open.iter().map(|open| (open.key.clone(), digest(open.question.as_ref())));
        self.carried.pending = questions.collect();
        let data = serde_json::to_vec(&self.carried).map_err(|error| {
            tracing::error!(%error, "a request state has no form in JSON");
            ErrorObject::internal_error("Internal error")
        })?;
        let payload =
            Payload { round: self.round + 1, expires: now().saturating_add(LIFETIME), data: &data };
        match sealer.seal(&request.binding(), &payload) {
            Ok(sealed) => Ok(Some(sealed.into())),
            Err(error) => {
                let key = self.carried.largest();
                tracing::error!(target = &*request.target, key, %error, "a request keeps too much");
                Err(ErrorObject::internal_error(format!("What {key:?} keeps is too large")))
            }
        }
    }
}

impl Carried {
    /// The key that keeps most.
    fn largest(&self) -> &str {
        let answers = self.answers.iter().map(|(key, (_, json))| (key, json));
        let all = answers.chain(&self.remembered);
        all.max_by_key(|(_, json)| json.get().len()).map_or("", |(key, _)| key)
    }
}

impl Request {
    fn binding(&self) -> Binding<'_> {
        Binding {
            principal: self.principal.as_deref(),
            method: &self.method,
            target: &self.target,
            arguments: &self.arguments,
        }
    }
}

/// Tells questions apart, the same on every instance. FNV-1a: what it guards is sealed, so nobody can choose it.
fn digest(question: Option<&InputRequest>) -> u64 {
    // Questions are strings, numbers and JSON, which always encode.
    let json = serde_json::to_vec(&question).unwrap_or_default();
    json.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Answers are the user's.
        f.debug_struct("Asks").finish_non_exhaustive()
    }
}
