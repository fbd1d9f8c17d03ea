//! Log messages.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;
use crate::raw::RawJson;

/// Severity of a log message, in ascending order; the spec calls it `LoggingLevel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for developers.
    Debug,
    /// Event of normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A component fails.
    Critical,
    /// Condition that needs action at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// Parameters of `notifications/message`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingMessageParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Severity.
    pub level: LogLevel,
    /// The part of the server that speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// Message: any JSON value.
    pub data: RawJson,
}

impl LoggingMessageParams {
    /// A message from no part in particular.
    #[must_use]
    pub const fn new(level: LogLevel, data: RawJson) -> Self {
        Self {
            meta: None,
            level,
            logger: None,
            data,
        }
    }
}
