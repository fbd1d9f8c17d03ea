//! The directories and files that a client works on.

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;
use crate::tag;

/// The input request `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsRequest {
    /// Means nothing; some peers send one as if this were a request of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Always the same.
    pub method: tag::RootsList,
    /// Parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<ListRootsParams>,
}

/// Parameters of `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Answer to `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
}

/// A directory or file that a client works on; guidance, not access control.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Its URI, which starts with `file://`.
    pub uri: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsResult {
    /// Answers with these roots.
    #[must_use]
    pub const fn new(roots: Vec<Root>) -> Self {
        Self { roots }
    }
}

impl Root {
    /// The root with this URI.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
        }
    }
}
