//! What tools of 2025-11-25 say about tasks.

use serde::{Deserialize, Serialize};

/// The member `execution` of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecution {
    /// Whether a call may go on as a task; forbidden if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

/// Whether a call may go on as a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// It may not.
    #[default]
    Forbidden,
    /// It may.
    Optional,
    /// It must.
    Required,
}
