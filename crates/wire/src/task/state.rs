use serde::{Deserialize, Serialize};

use crate::input::InputRequests;
use crate::raw::RawJson;
use crate::rpc_error::RpcError;

/// The identifier of the extension in the capabilities of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A request that goes on after its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The name to ask for it by.
    pub task_id: String,
    /// How it is doing.
    pub status: TaskStatus,
    /// How it is doing, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it was made, as ISO 8601.
    pub created_at: String,
    /// When it last changed, as ISO 8601.
    pub last_updated_at: String,
    /// How long it is kept after it was made, in milliseconds; `None` is for ever.
    pub ttl_ms: Option<u64>,
    /// How long to wait before asking again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
}

/// How a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// A task with what belongs to its status.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl TaskStatus {
    /// Whether the task will not change any more.
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
