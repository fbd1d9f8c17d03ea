use serde::{Deserialize, Serialize};

use crate::content::Role;
use crate::meta_object::Meta;
use crate::number::Number;
use crate::raw::RawJson;
use crate::sampling::{ModelPreferences, SamplingContent, SamplingMessage};
use crate::tag;
use crate::tool::Tool;

/// The input request `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateMessageRequest {
    /// Always the same.
    pub method: tag::SamplingCreateMessage,
    /// Parameters.
    pub params: CreateMessageParams,
}

/// Parameters of `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Model that the server prefers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt that the server would like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Servers whose context to add; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The temperature to sample with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// The most tokens to sample.
    pub max_tokens: u64,
    /// Texts to stop at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Metadata for the provider of the model, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Tools that the model may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Use of the tools by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// Servers whose context is added to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// No context of any server.
    None,
    /// That of the server that asks; deprecated.
    ThisServer,
    /// That of all servers; deprecated.
    AllServers,
}

/// Use of tools by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// Mode of the tool use; automatic if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

/// Use of tools by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// It calls at least one.
    Required,
    /// It must not call a tool.
    None,
}

/// Answer to `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Role of the speaker.
    pub role: Role,
    /// Content of the message.
    pub content: SamplingContent,
    /// Name of the model.
    pub model: String,
    /// Reason for which it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageRequest {
    /// Asks the model.
    #[must_use]
    pub const fn new(params: CreateMessageParams) -> Self {
        Self {
            method: tag::SamplingCreateMessage::Value,
            params,
        }
    }
}

impl CreateMessageParams {
    /// Asks for the next message of a conversation.
    #[must_use]
    pub const fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
        }
    }
}

impl CreateMessageResult {
    /// Content of the model's message.
    #[must_use]
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
        }
    }
}
