//! Members that all results have.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decode::DecodeError;
use crate::input::InputRequiredResult;
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;
use crate::task::CreateTaskResult;

/// Type of a result, which decides how to read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultType {
    /// The result of the request; also the meaning of an absent `resultType`.
    #[default]
    Complete,
    /// The server needs input before it can complete the request.
    InputRequired,
    /// The request goes on as a task.
    Task,
}

impl ResultType {
    /// The type of `result`.
    ///
    /// # Errors
    /// The type is unknown, which makes the result invalid.
    pub fn of(result: &RawJson) -> Result<Self, DecodeError> {
        match result.get("resultType") {
            None => Ok(Self::Complete),
            Some(value) if value.is("complete") => Ok(Self::Complete),
            Some(value) => value.decode(),
        }
    }
}

/// The result of a method that may ask for input or go on as a task: the final one is a `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<T> {
    /// The result of the request.
    Complete(T),
    /// The server needs input first.
    InputRequired(InputRequiredResult),
    /// The request goes on as a task.
    Task(CreateTaskResult),
}

impl<T> Outcome<T> {
    /// Passes the result of the request to `then`; every other outcome stays as it is.
    ///
    /// # Errors
    /// Those of `then`.
    pub fn and_then<U, E>(
        self,
        then: impl FnOnce(T) -> Result<Outcome<U>, E>,
    ) -> Result<Outcome<U>, E> {
        match self {
            Self::Complete(result) => then(result),
            Self::InputRequired(result) => Ok(Outcome::InputRequired(result)),
            Self::Task(result) => Ok(Outcome::Task(result)),
        }
    }
}

impl<T: Serialize> Serialize for Outcome<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Complete(result) => result.serialize(serializer),
            Self::InputRequired(result) => result.serialize(serializer),
            Self::Task(result) => result.serialize(serializer),
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Outcome<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match ResultType::of(&raw).map_err(D::Error::custom)? {
            ResultType::Complete => peek::decode(&raw).map(Self::Complete),
            ResultType::InputRequired => peek::decode(&raw).map(Self::InputRequired),
            ResultType::Task => peek::decode(&raw).map(Self::Task),
        }
    }
}

/// Result without members of its own: the request was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_by_its_type() {
        let read = |text: &str| serde_json::from_str::<Outcome<EmptyResult>>(text);
        assert_eq!(
            read("{}").unwrap(),
            Outcome::Complete(EmptyResult::default())
        );
        assert_eq!(
            read(r#"{"requestState":"s","resultType":"input_required"}"#).unwrap(),
            Outcome::InputRequired(InputRequiredResult {
                request_state: Some("s".to_owned()),
                ..InputRequiredResult::default()
            })
        );
        for text in [r#"{"resultType":"other"}"#, r#"{"resultType":7}"#] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<EmptyResult>(r#"{"resultType":"task"}"#).is_err());
    }
}
