//! Roots that change.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;
use crate::roots::Root;

/// Result of `roots/list`, which was a request of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/roots/list_changed`.
pub type RootsListChangedParams = crate::params::NotificationParams;

impl ListRootsResult {
    /// Answers with these roots.
    #[must_use]
    pub const fn new(roots: Vec<Root>) -> Self {
        Self { roots, meta: None }
    }
}
