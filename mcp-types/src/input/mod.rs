//! What a server asks of a client before it can finish a request. Specification: Multi Round-Trip
//! Requests.

mod elicitation;
mod elicitation_schema;
mod required;
mod roots;
mod sampling;

use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use elicitation::{
    ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
};
pub use elicitation_schema::{
    BooleanSchema, ElicitationSchema, FormError, MultiSelectSchema, NumberSchema, PrimitiveSchema,
    SelectOption, SelectOptions, SingleSelectSchema, StringFormat, StringSchema,
};
pub use roots::{ListRootsParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, SamplingContent, SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
    ToolResultContent, ToolUseContent,
};

use crate::meta::has_meta;
use crate::tagged::{Tagged, deserialize_tagged};
use crate::{JsonMap, Map, RawJson, ResultMeta};

/// The result that ends a round of a request: what the server asks for, and what the client is to
/// bring back when it retries. Schema `InputRequiredResult`.
///
/// At least one of the two is there: a result with neither, or with an empty map of requests and no
/// state, can be neither built nor read, because the retry would be the same request again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "InputRequiredWire")]
pub struct InputRequired {
    /// What travels beside the payload.
    #[serde(rename = "_meta", skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    #[serde(skip_serializing_if = "Map::is_empty")]
    input_requests: InputRequests,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<RequestState>,
}

impl InputRequired {
    /// What `resultType` says of such a result.
    pub const RESULT_TYPE: &str = "input_required";

    /// Asks for `requests`, and has `state` brought back with the answers.
    ///
    /// # Errors
    /// [`NothingRequired`] when there are no requests and no state.
    pub fn new(
        requests: InputRequests,
        state: Option<RequestState>,
    ) -> Result<Self, NothingRequired> {
        if requests.is_empty() && state.is_none() {
            return Err(NothingRequired);
        }
        Ok(Self { meta: ResultMeta::default(), input_requests: requests, request_state: state })
    }

    /// Asks for nothing but the same request again, with `state`.
    pub fn retry(state: RequestState) -> Self {
        Self {
            meta: ResultMeta::default(),
            input_requests: InputRequests::new(),
            request_state: Some(state),
        }
    }

    /// What the server asks for, by keys that the answers repeat.
    pub const fn input_requests(&self) -> &InputRequests {
        &self.input_requests
    }

    /// What the client brings back, exactly as it is.
    pub const fn request_state(&self) -> Option<&RequestState> {
        self.request_state.as_ref()
    }

    /// Both, taken out.
    pub fn into_parts(self) -> (InputRequests, Option<RequestState>) {
        (self.input_requests, self.request_state)
    }
}

/// Neither something to ask for nor a state to bring back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an input_required result needs `inputRequests` or `requestState`")]
pub struct NothingRequired;

/// How the result is read, before it is known that it says anything.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequiredWire {
    #[serde(rename = "_meta", default)]
    meta: ResultMeta,
    input_requests: Option<InputRequests>,
    request_state: Option<RequestState>,
}

impl TryFrom<InputRequiredWire> for InputRequired {
    type Error = NothingRequired;

    fn try_from(wire: InputRequiredWire) -> Result<Self, NothingRequired> {
        let requests = wire.input_requests.unwrap_or_default();
        Self::new(requests, wire.request_state).map(|input| Self { meta: wire.meta, ..input })
    }
}

/// What a server asks for, by keys of its choice, in its order. Schema `InputRequests`.
pub type InputRequests = Map<InputRequest>;

/// One thing that a server asks of a client. Schema `InputRequest`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputRequest {
    /// To ask the user.
    Elicit(ElicitParams),
    /// To sample from a model. Deprecated by this revision.
    CreateMessage(Box<CreateMessageParams>),
    /// To list its roots. Deprecated by this revision.
    ListRoots(ListRootsParams),
}

impl InputRequest {
    /// The method by which it is asked for.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Elicit(_) => ELICIT,
            Self::CreateMessage(_) => CREATE_MESSAGE,
            Self::ListRoots(_) => LIST_ROOTS,
        }
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("InputRequest", 2)?;
        object.serialize_field("method", self.method())?;
        match self {
            Self::Elicit(params) => object.serialize_field("params", params)?,
            Self::CreateMessage(params) => object.serialize_field("params", params)?,
            Self::ListRoots(params) if params.meta.is_empty() => object.skip_field("params")?,
            Self::ListRoots(params) => object.serialize_field("params", params)?,
        }
        object.end()
    }
}

const ELICIT: &str = "elicitation/create";
const CREATE_MESSAGE: &str = "sampling/createMessage";
const LIST_ROOTS: &str = "roots/list";

impl Tagged for InputRequest {
    const TAG: &'static str = "method";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Params<T> {
            params: T,
        }
        #[derive(Deserialize)]
        struct OptionalParams {
            params: Option<ListRootsParams>,
        }
        match tag {
            ELICIT => Params::deserialize(members).map(|p| Self::Elicit(p.params)),
            CREATE_MESSAGE => Params::deserialize(members).map(|p| Self::CreateMessage(p.params)),
            LIST_ROOTS => OptionalParams::deserialize(members)
                .map(|p| Self::ListRoots(p.params.unwrap_or_default())),
            other => Err(D::Error::unknown_variant(other, &[ELICIT, CREATE_MESSAGE, LIST_ROOTS])),
        }
    }
}

deserialize_tagged!(InputRequest);

/// The answers to [`InputRequests`], by the same keys. Schema `InputResponses`.
///
/// An answer does not say of what kind it is; who asked knows. So they stay JSON, each an object, until
/// they are taken by their kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct InputResponses(JsonMap);

impl InputResponses {
    /// No answers.
    pub const fn new() -> Self {
        Self(JsonMap::new())
    }

    /// The user's answer under `key`; `None` when there is none.
    pub fn elicitation(&self, key: &str) -> Option<serde_json::Result<ElicitResult>> {
        self.decode(key)
    }

    /// The model's answer under `key`; `None` when there is none. Deprecated by this revision.
    pub fn sampling(&self, key: &str) -> Option<serde_json::Result<CreateMessageResult>> {
        self.decode(key)
    }

    /// The client's roots under `key`; `None` when there are none. Deprecated by this revision.
    pub fn roots(&self, key: &str) -> Option<serde_json::Result<ListRootsResult>> {
        self.decode(key)
    }

    /// The answer under `key` as it came.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// Puts the answer `result` under `key`.
    ///
    /// # Errors
    /// When `result` is not an object in JSON.
    pub fn insert<T: Serialize + ?Sized>(
        &mut self,
        key: &str,
        result: &T,
    ) -> serde_json::Result<()> {
        let result = RawJson::new(result)?;
        if !result.is_object() {
            return Err(serde_json::Error::custom(NOT_AN_OBJECT));
        }
        self.0.insert(key, result);
        Ok(())
    }

    /// The answers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter()
    }

    /// How many answers there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn decode<T: DeserializeOwned>(&self, key: &str) -> Option<serde_json::Result<T>> {
        self.0.get(key).map(RawJson::decode)
    }
}

const NOT_AN_OBJECT: &str = "an input response must be an object";

impl<'de> Deserialize<'de> for InputResponses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let responses = JsonMap::deserialize(deserializer)?;
        if let Some((key, _)) = responses.iter().find(|(_, response)| !response.is_object()) {
            return Err(D::Error::custom(format_args!("{key:?}: {NOT_AN_OBJECT}")));
        }
        Ok(Self(responses))
    }
}

/// What a server gives a client to bring back with a retry: a text that only the server understands.
///
/// `Debug` does not show it. A server must treat what comes back as written by an attacker.
///
/// Specification: Multi Round-Trip Requests, Server Requirements.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestState(String);

impl RequestState {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for RequestState {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for RequestState {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestState({} bytes)", self.0.len())
    }
}

has_meta!(ResultMeta: InputRequired);

#[cfg(test)]
mod tests;
