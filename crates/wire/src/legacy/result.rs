//! Results without a `resultType`.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;

/// Result without members of its own: the request was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmptyResult {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}
