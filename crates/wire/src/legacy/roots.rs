//! Roots that change.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;
use crate::roots::Root;

/// Result of `roots/list`, which was a request of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/roots/list_changed`.
pub type RootsListChangedParams = crate::params::NotificationParams;
