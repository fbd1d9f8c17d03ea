use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;

/// A model calls a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUseContent {
    /// Always a tool use.
    #[serde(rename = "type")]
    pub tag: tag::ToolUse,
    /// Id that the result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub input: RawJson,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The tool's answer to the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    /// Always a tool result.
    #[serde(rename = "type")]
    pub tag: tag::ToolResult,
    /// The id of the [`ToolUseContent`] that it answers.
    pub tool_use_id: String,
    /// Content of the result.
    pub content: Vec<Content>,
    /// Structured content, any JSON value.
    #[serde(
        default,
        deserialize_with = "peek::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// The tool failed, and the content says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolUseContent {
    /// A call with `input`, an object.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: RawJson) -> Self {
        Self {
            tag: tag::ToolUse::Value,
            id: id.into(),
            name: name.into(),
            input,
            meta: None,
        }
    }
}

impl ToolResultContent {
    /// The answer to the call with this id.
    #[must_use]
    pub fn new(tool_use_id: impl Into<String>, content: Vec<Content>) -> Self {
        Self {
            tag: tag::ToolResult::Value,
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: None,
            meta: None,
        }
    }
}
