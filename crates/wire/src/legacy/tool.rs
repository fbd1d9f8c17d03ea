//! Task support of tools, in 2025-11-25.

use serde::{Deserialize, Serialize};

/// The member `execution` of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Task support of the calls; forbidden if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

/// Task support of the calls of a tool.
///
/// Complete: a task is forbidden, possible or required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a task is forbidden, possible or required"
)]
pub enum TaskSupport {
    /// It may not.
    #[default]
    Forbidden,
    /// It may.
    Optional,
    /// It must.
    Required,
}

impl ToolExecution {
    /// The calls of the tool have this task support.
    #[must_use]
    pub const fn new(task_support: TaskSupport) -> Self {
        Self {
            task_support: Some(task_support),
        }
    }
}
