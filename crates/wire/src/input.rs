//! Input that a server needs before it can complete a request.
//!
//! The server answers with an [`InputRequiredResult`]; the client sends the request again, with the
//! answers and the state.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decode::DecodeError;
use crate::elicitation::{ElicitParams, ElicitRequest, ElicitResult};
use crate::map::Map;
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;
use crate::roots::{ListRootsRequest, ListRootsResult};
use crate::sampling::{CreateMessageParams, CreateMessageRequest, CreateMessageResult};
use crate::tag;

/// A result that asks for input; it has `input_requests`, `request_state` or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// Always asks for input.
    pub result_type: tag::InputRequired,
    /// Input requests; without any, the client just sends the request again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// Opaque state that the client sends back as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Input requests of a server, by keys that it chooses.
pub type InputRequests = Map<InputRequest>;

/// The answers, by the keys of the requests.
pub type InputResponses = Map<InputResponse>;

/// One request for input: a question to the user, to the model or about the roots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputRequest {
    /// Ask the user.
    Elicit(ElicitRequest),
    /// Ask the model.
    CreateMessage(CreateMessageRequest),
    /// List the roots.
    ListRoots(ListRootsRequest),
}

/// One input response; its type depends on the request, so it is read when it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputResponse(RawJson);

impl InputRequiredResult {
    /// Asks for input, and for `request_state` back with it.
    #[must_use]
    pub fn new(input_requests: InputRequests, request_state: Option<String>) -> Self {
        Self {
            result_type: tag::InputRequired::Value,
            input_requests: Some(input_requests),
            request_state,
            meta: None,
        }
    }
}

impl InputRequest {
    /// The method of the request.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Elicit(_) => crate::method::ELICITATION_CREATE,
            Self::CreateMessage(_) => crate::method::SAMPLING_CREATE_MESSAGE,
            Self::ListRoots(_) => crate::method::ROOTS_LIST,
        }
    }

    /// Lists the roots.
    #[must_use]
    pub fn list_roots() -> Self {
        Self::ListRoots(ListRootsRequest::default())
    }
}

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(ElicitRequest::new(params))
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::CreateMessage(CreateMessageRequest::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Elicit(request) => request.serialize(serializer),
            Self::CreateMessage(request) => request.serialize(serializer),
            Self::ListRoots(request) => request.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match peek::tag::<D::Error>(&raw, "method")?.as_str() {
            crate::method::ELICITATION_CREATE => peek::decode(&raw).map(Self::Elicit),
            crate::method::SAMPLING_CREATE_MESSAGE => peek::decode(&raw).map(Self::CreateMessage),
            crate::method::ROOTS_LIST => peek::decode(&raw).map(Self::ListRoots),
            other => Err(D::Error::custom(format_args!(
                "unknown input request `{other}`"
            ))),
        }
    }
}

impl InputResponse {
    /// Reads the answer as what the request asked for: an [`ElicitResult`], a
    /// [`CreateMessageResult`] or a [`ListRootsResult`].
    ///
    /// # Errors
    /// The answer has another shape.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        self.0.decode()
    }

    /// The answer as JSON.
    #[must_use]
    pub fn as_raw(&self) -> &RawJson {
        &self.0
    }

    fn encode(answer: &impl Serialize) -> Self {
        Self(RawJson::encode(answer).expect("an answer is always JSON"))
    }
}

impl From<RawJson> for InputResponse {
    fn from(answer: RawJson) -> Self {
        Self(answer)
    }
}

impl From<&ElicitResult> for InputResponse {
    fn from(answer: &ElicitResult) -> Self {
        Self::encode(answer)
    }
}

impl From<&CreateMessageResult> for InputResponse {
    fn from(answer: &CreateMessageResult) -> Self {
        Self::encode(answer)
    }
}

impl From<&ListRootsResult> for InputResponse {
    fn from(answer: &ListRootsResult) -> Self {
        Self::encode(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_input_request_is_refused() {
        let read = |text: &str| serde_json::from_str::<InputRequest>(text);
        assert_eq!(
            read(r#"{"method":"roots/list"}"#).unwrap(),
            InputRequest::list_roots()
        );
        for text in [r#"{"method":"tools/list"}"#, r#"{"params":{}}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_input_response_is_decoded_by_its_request() {
        let responses: InputResponses =
            serde_json::from_str(r#"{"a":{"action":"decline"},"other":[1.0]}"#).unwrap();
        let answer = responses.get("a").unwrap();
        assert_eq!(
            answer.decode::<ElicitResult>().unwrap(),
            ElicitResult::decline()
        );
        assert!(answer.decode::<ListRootsResult>().is_err());
    }
}
