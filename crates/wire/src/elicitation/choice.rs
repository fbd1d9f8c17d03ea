use serde::{Deserialize, Serialize};

use crate::tag;

/// A field for one of some texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    /// Always a string.
    #[serde(rename = "type")]
    pub tag: tag::String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The texts.
    #[serde(rename = "enum")]
    pub options: Vec<String>,
    /// Default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A field for one of some texts, shown by title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    /// Always a string.
    #[serde(rename = "type")]
    pub tag: tag::String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The texts.
    #[serde(rename = "oneOf")]
    pub options: Vec<ChoiceOption>,
    /// Default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A text to choose, with its title.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChoiceOption {
    /// The text.
    #[serde(rename = "const")]
    pub value: String,
    /// Label for the user.
    pub title: String,
}

/// A field for some of some texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    /// Always an array.
    #[serde(rename = "type")]
    pub tag: tag::Array,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The texts.
    pub items: UntitledItems,
    /// Default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

/// The texts of an [`UntitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UntitledItems {
    /// Always a string.
    #[serde(rename = "type")]
    pub tag: tag::String,
    /// The texts.
    #[serde(rename = "enum")]
    pub options: Vec<String>,
}

/// A field for some of some texts, shown by title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    /// Always an array.
    #[serde(rename = "type")]
    pub tag: tag::Array,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The texts.
    pub items: TitledItems,
    /// Default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

/// The texts of a [`TitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TitledItems {
    /// The texts.
    #[serde(rename = "anyOf")]
    pub options: Vec<ChoiceOption>,
}

/// A field for one of some texts, with titles in a list of their own.
///
/// No longer standard; use [`TitledSingleSelectEnumSchema`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    /// Always a string.
    #[serde(rename = "type")]
    pub tag: tag::String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The texts.
    #[serde(rename = "enum")]
    pub options: Vec<String>,
    /// Their titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// Default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl UntitledSingleSelectEnumSchema {
    /// A field for one of these texts.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item: Into<String>>) -> Self {
        Self {
            options: options.into_iter().map(Into::into).collect(),
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

    /// Sets the default choice.
    #[must_use]
    pub fn with_default(mut self, choice: impl Into<String>) -> Self {
        self.default = Some(choice.into());
        self
    }
}

impl TitledSingleSelectEnumSchema {
    /// A field for one of these texts.
    #[must_use]
    pub fn new(options: impl Into<Vec<ChoiceOption>>) -> Self {
        Self {
            options: options.into(),
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

    /// Sets the default choice.
    #[must_use]
    pub fn with_default(mut self, choice: impl Into<String>) -> Self {
        self.default = Some(choice.into());
        self
    }
}

impl ChoiceOption {
    /// A text with its title.
    #[must_use]
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            title: title.into(),
        }
    }
}

impl UntitledMultiSelectEnumSchema {
    /// A field for some of these texts.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item: Into<String>>) -> Self {
        Self {
            items: UntitledItems::new(options),
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

    /// Sets the default choices.
    #[must_use]
    pub fn with_default(mut self, choices: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default = Some(choices.into_iter().map(Into::into).collect());
        self
    }
}

impl UntitledItems {
    /// These texts.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item: Into<String>>) -> Self {
        Self {
            options: options.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

impl TitledMultiSelectEnumSchema {
    /// A field for some of these texts.
    #[must_use]
    pub fn new(options: impl Into<Vec<ChoiceOption>>) -> Self {
        Self {
            items: TitledItems::new(options),
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

    /// Sets the default choices.
    #[must_use]
    pub fn with_default(mut self, choices: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default = Some(choices.into_iter().map(Into::into).collect());
        self
    }
}

impl TitledItems {
    /// These texts.
    #[must_use]
    pub fn new(options: impl Into<Vec<ChoiceOption>>) -> Self {
        Self {
            options: options.into(),
        }
    }
}

impl LegacyTitledEnumSchema {
    /// A field for one of these texts, with titles in the same order.
    #[must_use]
    pub fn new(
        options: impl IntoIterator<Item: Into<String>>,
        titles: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        Self {
            options: options.into_iter().map(Into::into).collect(),
            enum_names: Some(titles.into_iter().map(Into::into).collect()),
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

    /// Sets the default choice.
    #[must_use]
    pub fn with_default(mut self, choice: impl Into<String>) -> Self {
        self.default = Some(choice.into());
        self
    }
}
