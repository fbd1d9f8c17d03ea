//! Subscriptions to single resources.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;

/// Parameters of `resources/subscribe`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscribeParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The resource.
    pub uri: String,
}

/// Result of `resources/subscribe`.
pub type SubscribeResult = super::result::EmptyResult;

/// Parameters of `resources/unsubscribe`.
pub type UnsubscribeParams = SubscribeParams;

/// Result of `resources/unsubscribe`.
pub type UnsubscribeResult = super::result::EmptyResult;

impl SubscribeParams {
    /// The resource with this URI.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            meta: None,
            uri: uri.into(),
        }
    }
}
