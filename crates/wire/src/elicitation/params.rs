use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::elicitation::RequestedSchema;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;

/// The input request `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitRequest {
    /// Always the same.
    pub method: tag::ElicitationCreate,
    /// Parameters.
    pub params: ElicitParams,
}

/// Parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElicitParams {
    /// Show a form.
    Form(ElicitFormParams),
    /// Open a URL.
    Url(ElicitUrlParams),
}

/// A form for the user; never for secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitFormParams {
    /// Always a form, as it is if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<tag::Form>,
    /// Message for the user.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: RequestedSchema,
}

/// A page for the user to open; neither client nor server sees the input there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitUrlParams {
    /// Always a URL.
    pub mode: tag::Url,
    /// Message for the user.
    pub message: String,
    /// The page.
    pub url: String,
}

impl ElicitRequest {
    /// Asks the user.
    #[must_use]
    pub const fn new(params: ElicitParams) -> Self {
        Self {
            method: tag::ElicitationCreate::Value,
            params,
        }
    }
}

impl ElicitFormParams {
    /// Shows a form.
    #[must_use]
    pub fn new(message: impl Into<String>, requested_schema: RequestedSchema) -> Self {
        Self {
            mode: Some(tag::Form::Value),
            message: message.into(),
            requested_schema,
        }
    }
}

impl ElicitUrlParams {
    /// Opens a URL.
    #[must_use]
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: tag::Url::Value,
            message: message.into(),
            url: url.into(),
        }
    }
}

impl ElicitParams {
    /// Shows a form.
    #[must_use]
    pub fn form(message: impl Into<String>, requested_schema: RequestedSchema) -> Self {
        Self::Form(ElicitFormParams::new(message, requested_schema))
    }

    /// Opens a URL.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// Message for the user.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

impl Serialize for ElicitParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(params) => params.serialize(serializer),
            Self::Url(params) => params.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.get("mode").is_none() {
            return peek::decode(&raw).map(Self::Form);
        }
        match peek::tag::<D::Error>(&raw, "mode")?.as_str() {
            "form" => peek::decode(&raw).map(Self::Form),
            "url" => peek::decode(&raw).map(Self::Url),
            other => Err(D::Error::custom(format_args!(
                "unknown elicitation mode `{other}`"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_mode_is_refused() {
        let read = |text: &str| serde_json::from_str::<ElicitParams>(text);
        assert_eq!(
            read(r#"{"url":"https://a.example","message":"m","mode":"url"}"#).unwrap(),
            ElicitParams::url("m", "https://a.example")
        );
        for text in [
            r#"{"mode":"voice","message":"m"}"#,
            r#"{"mode":7,"message":"m"}"#,
            r#"{"message":"m"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
