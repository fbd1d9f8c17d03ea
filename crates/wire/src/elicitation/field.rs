use serde::{Deserialize, Serialize};

use crate::number::Number;
use crate::tag;

/// A field for text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    /// Always a string.
    #[serde(rename = "type")]
    pub tag: tag::String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The most characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// Format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// Default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Format of the text of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StringFormat {
    /// An email address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date with a time.
    DateTime,
}

/// A field for a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NumberSchema {
    /// Any number, or only integers.
    #[serde(rename = "type")]
    pub tag: NumberType,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The lowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// Default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Number>,
}

/// Kind of numbers that a field takes.
///
/// Complete: JSON Schema has no other numeric type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema has no other numeric type"
)]
pub enum NumberType {
    /// Any.
    #[default]
    Number,
    /// Only integers.
    Integer,
}

/// A field for yes or no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BooleanSchema {
    /// Always a boolean.
    #[serde(rename = "type")]
    pub tag: tag::Boolean,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

impl StringSchema {
    /// A field for any text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description for the user.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the default value.
    #[must_use]
    pub fn with_default(mut self, text: impl Into<String>) -> Self {
        self.default = Some(text.into());
        self
    }

    /// Sets the format of the text.
    #[must_use]
    pub const fn with_format(mut self, format: StringFormat) -> Self {
        self.format = Some(format);
        self
    }
}

impl NumberSchema {
    /// A field for any number.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A field for integers.
    #[must_use]
    pub fn integer() -> Self {
        Self {
            tag: NumberType::Integer,
            ..Self::default()
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description for the user.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the default value.
    #[must_use]
    pub fn with_default(mut self, number: impl Into<Number>) -> Self {
        self.default = Some(number.into());
        self
    }
}

impl BooleanSchema {
    /// A field for yes or no.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description for the user.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the default value.
    #[must_use]
    pub fn with_default(mut self, value: bool) -> Self {
        self.default = Some(value);
        self
    }
}
