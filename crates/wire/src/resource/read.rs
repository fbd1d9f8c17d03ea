use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::input::InputResponses;
use crate::meta_object::Meta;
use crate::resource::ResourceContents;
use crate::tag;

/// Parameters of `resources/read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource.
    pub uri: String,
    /// Answers to the input requests of the result before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state of the result before, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

/// Result of `resources/read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// What the resource, or each of its parts, contains.
    pub contents: Vec<ResourceContents>,
    /// How long the result may be kept, in milliseconds.
    #[serde(
        default,
        deserialize_with = "cache::ttl_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/resources/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResourceUpdatedParams {
    /// Metadata, with the id of the subscription that the notification belongs to.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource, which may be a part of the one subscribed to.
    pub uri: String,
}

impl ReadResourceParams {
    /// Reads the resource with this URI.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            meta: None,
            uri: uri.into(),
            input_responses: None,
            request_state: None,
        }
    }
}

impl ReadResourceResult {
    /// A result that nobody keeps.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            contents,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl ResourceUpdatedParams {
    /// The resource with this URI changed.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            meta: None,
            uri: uri.into(),
        }
    }
}
