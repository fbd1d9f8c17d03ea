//! Progress of a request.

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;
use crate::number::Number;

/// Parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The token that the request carries.
    pub progress_token: Id,
    /// Amount done; it grows with each notification.
    pub progress: Number,
    /// Amount to do, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// Message for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ProgressParams {
    /// Progress towards an unknown total.
    #[must_use]
    pub fn new(progress_token: Id, progress: impl Into<Number>) -> Self {
        Self {
            meta: None,
            progress_token,
            progress: progress.into(),
            total: None,
            message: None,
        }
    }
}
