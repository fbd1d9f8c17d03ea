use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::meta_object::Meta;
use crate::resource::{Resource, ResourceTemplate};
use crate::tag;

/// Parameters of `resources/list`.
pub type ListResourcesParams = crate::pagination::PaginatedParams;

/// Result of `resources/list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of resources.
    pub resources: Vec<Resource>,
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

/// Parameters of `resources/templates/list`.
pub type ListResourceTemplatesParams = crate::pagination::PaginatedParams;

/// Result of `resources/templates/list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of templates.
    pub resource_templates: Vec<ResourceTemplate>,
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

impl ListResourcesResult {
    /// List in one page that is not cached.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            resources,
            next_cursor: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl ListResourceTemplatesResult {
    /// List in one page that is not cached.
    #[must_use]
    pub fn new(resource_templates: Vec<ResourceTemplate>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            resource_templates,
            next_cursor: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}
