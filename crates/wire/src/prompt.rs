//! Prompts.

use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::content::{Content, Role};
use crate::implementation::Icon;
use crate::input::InputResponses;
use crate::map::Map;
use crate::meta_object::Meta;
use crate::tag;

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// The name to get it by.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Icons to show, any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// An argument of a prompt; its value is text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Role of the speaker.
    pub role: Role,
    /// Content of the message.
    pub content: Content,
}

/// Parameters of `prompts/list`.
pub type ListPromptsParams = crate::pagination::PaginatedParams;

/// Result of `prompts/list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of prompts.
    pub prompts: Vec<Prompt>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Time for which the result may be cached, in milliseconds.
    #[serde(
        default,
        deserialize_with = "cache::ttl_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Scope in which the cached result may be shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The prompt.
    pub name: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
    /// Answers to the input requests of the result before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state of the result before, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

/// Result of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Description of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The prompt.
    pub messages: Vec<PromptMessage>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Prompt {
    /// A prompt without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            arguments: None,
            icons: None,
            meta: None,
        }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
        self.arguments = Some(arguments);
        self
    }
}

impl PromptArgument {
    /// An argument that may be left out.
    #[must_use]
    pub fn optional(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required: None,
        }
    }

    /// An argument that must be given.
    #[must_use]
    pub fn required(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            required: Some(true),
            ..Self::optional(name, description)
        }
    }
}

impl PromptMessage {
    /// The user says `content`.
    #[must_use]
    pub const fn user(content: Content) -> Self {
        Self {
            role: Role::User,
            content,
        }
    }

    /// The model says `content`.
    #[must_use]
    pub const fn assistant(content: Content) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

impl ListPromptsResult {
    /// List in one page that is not cached.
    #[must_use]
    pub fn new(prompts: Vec<Prompt>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            prompts,
            next_cursor: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl GetPromptParams {
    /// Gets a prompt without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            meta: None,
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
        }
    }
}

impl GetPromptResult {
    /// A prompt of these messages.
    #[must_use]
    pub const fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            description: None,
            messages,
            meta: None,
        }
    }
}
