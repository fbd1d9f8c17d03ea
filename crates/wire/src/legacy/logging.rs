//! The level of log messages for a whole connection.

use serde::{Deserialize, Serialize};

use crate::logging::LogLevel;
use crate::meta_object::Meta;

/// Parameters of `logging/setLevel`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SetLevelParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The lowest level to send.
    pub level: LogLevel,
}

/// Result of `logging/setLevel`.
pub type SetLevelResult = super::result::EmptyResult;

impl SetLevelParams {
    /// Asks for messages of this level and above.
    #[must_use]
    pub const fn new(level: LogLevel) -> Self {
        Self { meta: None, level }
    }
}
