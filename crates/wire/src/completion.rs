//! Completion of the arguments of prompts and resource templates.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::map::Map;
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;

/// Parameters of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The prompt or resource template.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The argument, as far as it is known.
    pub argument: CompleteArgument,
    /// Context: arguments that are known already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompleteContext>,
}

/// Reference to the prompt or template whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reference {
    /// A prompt.
    Prompt(PromptReference),
    /// A resource template.
    ResourceTemplate(ResourceTemplateReference),
}

/// A prompt by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptReference {
    /// Always a prompt.
    #[serde(rename = "type")]
    pub tag: tag::PromptReference,
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A resource template by its URI template.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// Always a resource template.
    #[serde(rename = "type")]
    pub tag: tag::ResourceReference,
    /// The URI template, or the URI of a resource.
    pub uri: String,
}

/// An argument, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteArgument {
    /// Its name.
    pub name: String,
    /// The start of its value.
    pub value: String,
}

/// Context of a completion: arguments that are known already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteContext {
    /// Arguments that already have a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
}

/// Result of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// The values.
    pub completion: Completion,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Values that an argument could have, the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The values, at most [`Completion::MAX_VALUES`].
    pub values: Vec<String>,
    /// Number of all values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// True if there are more than these, even if their number is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl CompleteArgument {
    /// The argument `name`, of which `value` is known.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

impl CompleteParams {
    /// Completes `argument` without context.
    #[must_use]
    pub const fn new(reference: Reference, argument: CompleteArgument) -> Self {
        Self {
            meta: None,
            reference,
            argument,
            context: None,
        }
    }

    /// Adds the arguments that already have a value.
    #[must_use]
    pub fn with_context(mut self, arguments: Map<String>) -> Self {
        self.context = Some(CompleteContext {
            arguments: Some(arguments),
        });
        self
    }
}

impl Reference {
    /// The prompt with this name.
    #[must_use]
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference {
            tag: tag::PromptReference::Value,
            name: name.into(),
            title: None,
        })
    }

    /// The resource template with this URI template.
    #[must_use]
    pub fn resource_template(uri: impl Into<String>) -> Self {
        Self::ResourceTemplate(ResourceTemplateReference {
            tag: tag::ResourceReference::Value,
            uri: uri.into(),
        })
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(reference) => reference.serialize(serializer),
            Self::ResourceTemplate(reference) => reference.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match peek::tag::<D::Error>(&raw, "type")?.as_str() {
            "ref/prompt" => peek::decode(&raw).map(Self::Prompt),
            "ref/resource" => peek::decode(&raw).map(Self::ResourceTemplate),
            other => Err(D::Error::custom(format_args!(
                "unknown reference `{other}`"
            ))),
        }
    }
}

impl CompleteResult {
    /// A result with these values.
    #[must_use]
    pub const fn new(completion: Completion) -> Self {
        Self {
            result_type: tag::Complete::Value,
            completion,
            meta: None,
        }
    }
}

impl Completion {
    /// The most values that one result may carry.
    pub const MAX_VALUES: usize = 100;

    /// Completion with the first of all `values` that fit, which says if some were left off.
    #[must_use]
    pub fn of(mut values: Vec<String>) -> Self {
        let total = values.len();
        values.truncate(Self::MAX_VALUES);
        Self {
            has_more: Some(total > values.len()),
            total: u64::try_from(total).ok(),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_carries_at_most_a_hundred_values() {
        let values = |count: u64| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        for (count, kept, has_more) in [(0, 0, false), (100, 100, false), (101, 100, true)] {
            assert_eq!(
                Completion::of(values(count)),
                Completion {
                    values: values(kept),
                    total: Some(count),
                    has_more: Some(has_more),
                }
            );
        }
    }

    #[test]
    fn an_unknown_reference_is_refused() {
        let read = |text: &str| serde_json::from_str::<Reference>(text);
        assert!(read(r#"{"type":"ref/tool","name":"a"}"#).is_err());
        assert!(read(r#"{"name":"a"}"#).is_err());
    }
}
