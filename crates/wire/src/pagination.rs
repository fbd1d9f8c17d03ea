//! Lists that come in pages.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;

/// Parameters of a request for one page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaginatedParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The `nextCursor` of the page before; absent for the first page.
    ///
    /// Opaque, and an empty string is a cursor like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl PaginatedParams {
    /// Asks for the first page, or for the one that `cursor` leads to.
    #[must_use]
    pub fn new(cursor: Option<&str>) -> Self {
        Self {
            meta: None,
            cursor: cursor.map(str::to_owned),
        }
    }
}
