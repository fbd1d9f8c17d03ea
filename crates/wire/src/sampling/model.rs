use serde::{Deserialize, Serialize};

use crate::number::Number;

/// Which model a server would like; the client may choose another.
///
/// Priorities go from 0 (not important) to 1 (most important).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Models to try, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How important it is that the model is cheap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<Number>,
    /// How important it is that the model is fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<Number>,
    /// How important it is that the model is capable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<Number>,
}

/// A model to try.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelHint {
    /// A part of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
