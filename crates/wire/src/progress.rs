//! How far a request has come.

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;
use crate::number::Number;

/// Parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The token that the request carries.
    pub progress_token: Id,
    /// What is done; more with each notification.
    pub progress: Number,
    /// What there is to do, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What is being done.
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
