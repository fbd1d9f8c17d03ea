//! Discovery of a server: its versions, capabilities and instructions.

use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::capabilities::ServerCapabilities;
use crate::meta_object::Meta;
use crate::tag;

/// Parameters of `server/discover`.
pub type DiscoverParams = crate::params::RequestParams;

/// Result of `server/discover`; the name and version of the server are in its `_meta`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// The revisions that the server speaks.
    pub supported_versions: Vec<String>,
    /// Capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for a model that uses the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
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

impl DiscoverResult {
    /// Result that is not cached.
    #[must_use]
    pub fn new(supported_versions: Vec<String>, capabilities: ServerCapabilities) -> Self {
        Self {
            result_type: tag::Complete::Value,
            supported_versions,
            capabilities,
            instructions: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}
