//! Requests that are no longer wanted.

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;

/// Parameters of `notifications/cancelled`; in 2025-11-25 the request may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Id>,
    /// Reason, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CancelledParams {
    /// Cancels a request without a reason.
    #[must_use]
    pub const fn new(request_id: Id) -> Self {
        Self {
            meta: None,
            request_id: Some(request_id),
            reason: None,
        }
    }
}
