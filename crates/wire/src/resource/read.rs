use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::input::InputResponses;
use crate::meta_object::Meta;
use crate::resource::ResourceContents;
use crate::tag;

/// Parameters of `resources/read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct ReadResourceResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Contents of the resource, or of each of its parts.
    pub contents: Vec<ResourceContents>,
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

/// Parameters of `notifications/resources/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// Result that is not cached.
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

    /// Sets for how long, in milliseconds, and in which scope the result may be cached.
    #[must_use]
    pub fn with_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self.cache_scope = Some(scope);
        self
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
