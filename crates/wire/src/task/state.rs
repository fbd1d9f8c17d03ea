use serde::{Deserialize, Serialize};

use crate::input::InputRequests;
use crate::raw::RawJson;
use crate::rpc_error::RpcError;

/// The identifier of the extension in the capabilities of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A request that goes on after its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The name to ask for it by.
    pub task_id: String,
    /// State of the task.
    pub status: TaskStatus,
    /// State of the task, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// Time of its creation, as ISO 8601.
    pub created_at: String,
    /// Time of its last change, as ISO 8601.
    pub last_updated_at: String,
    /// Lifetime of the task from its creation, in milliseconds; `None` is for ever.
    pub ttl_ms: Option<u64>,
    /// Interval at which to poll, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
}

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It is being worked on.
    Working,
    /// It waits for input.
    InputRequired,
    /// It has a result, which may be one with `isError`.
    Completed,
    /// It ended in a JSON-RPC error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// A task with the members that belong to its status.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetailedTask {
    /// The task.
    pub task: Task,
    /// The input it waits for.
    pub input_requests: Option<InputRequests>,
    /// The result it has, an object.
    pub result: Option<RawJson>,
    /// The error it ended in.
    pub error: Option<RpcError>,
}

impl Task {
    /// A task that was created, and last changed, at this time in ISO 8601, and that lives for ever.
    #[must_use]
    pub fn new(
        task_id: impl Into<String>,
        status: TaskStatus,
        created_at: impl Into<String>,
    ) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl_ms: None,
            poll_interval_ms: None,
        }
    }
}

impl TaskStatus {
    /// True if the task will not change any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl From<Task> for DetailedTask {
    fn from(task: Task) -> Self {
        Self {
            task,
            input_requests: None,
            result: None,
            error: None,
        }
    }
}
