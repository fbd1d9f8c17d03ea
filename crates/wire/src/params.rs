//! Parameters that carry nothing but metadata.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;

/// Parameters of a request without any of its own, such as `server/discover`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of a notification without any of its own, such as those of changed lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    /// Metadata, with the id of the subscription that the notification belongs to.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// Parameters with this metadata alone.
    #[must_use]
    pub const fn new(meta: Option<Meta>) -> Self {
        Self { meta }
    }
}
