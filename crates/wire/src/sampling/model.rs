use serde::{Deserialize, Serialize};

use crate::number::Number;

/// Model that a server prefers; the client may choose another.
///
/// Priorities go from 0 (not important) to 1 (most important).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Models to try, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// Importance of a low price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<Number>,
    /// Importance of speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<Number>,
    /// Importance of capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<Number>,
}

/// A model to try.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelHint {
    /// A part of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
