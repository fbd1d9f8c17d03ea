use serde::{Deserialize, Serialize};

use crate::tag;

/// A field for one of some texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
