//! Tasks as 2025-11-25 has them.

use serde::{Deserialize, Serialize};

use crate::meta_object::Meta;
use crate::task::TaskStatus;

/// A request that goes on after its result.
///
/// A failed tool call makes it fail, while in the extension of today it completes.
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
    pub ttl: Option<u64>,
    /// Interval at which to poll, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Metadata, where the task is a whole result or the parameters of a notification.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The member `task` of a request that should go on as a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// Lifetime of the task, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// Task member of the parameters of any request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskAugmentedParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The request should go on as a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
}

/// The task that a message belongs to, in its `_meta`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The task.
    pub task_id: String,
}

/// Result of a request that goes on as a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `tasks/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The task.
    pub task_id: String,
}

/// Result of `tasks/get`.
pub type GetTaskResult = Task;

/// Parameters of `tasks/result`; its result is the one of the request that became the task.
pub type GetTaskPayloadParams = GetTaskParams;

/// Parameters of `tasks/cancel`.
pub type CancelTaskParams = GetTaskParams;

/// Result of `tasks/cancel`.
pub type CancelTaskResult = Task;

/// Parameters of `tasks/list`.
pub type ListTasksParams = crate::pagination::PaginatedParams;

/// Result of `tasks/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// One page of tasks.
    pub tasks: Vec<Task>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/tasks/status`.
pub type TaskStatusParams = Task;

impl Task {
    /// A task with these times in ISO 8601, that lives for `ttl` milliseconds or for ever.
    #[must_use]
    pub const fn new(
        task_id: String,
        status: TaskStatus,
        created_at: String,
        last_updated_at: String,
        ttl: Option<u64>,
    ) -> Self {
        Self {
            task_id,
            status,
            status_message: None,
            created_at,
            last_updated_at,
            ttl,
            poll_interval: None,
            meta: None,
        }
    }
}

impl TaskMetadata {
    /// A task that lives for `ttl` milliseconds.
    #[must_use]
    pub const fn new(ttl: u64) -> Self {
        Self { ttl: Some(ttl) }
    }
}

impl RelatedTaskMetadata {
    /// The message belongs to the task with this id.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
        }
    }
}

impl CreateTaskResult {
    /// The request goes on as this task.
    #[must_use]
    pub const fn new(task: Task) -> Self {
        Self { task, meta: None }
    }
}

impl GetTaskParams {
    /// Asks for the task with this id.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            meta: None,
            task_id: task_id.into(),
        }
    }
}

impl ListTasksResult {
    /// The last page of tasks.
    #[must_use]
    pub const fn new(tasks: Vec<Task>) -> Self {
        Self {
            tasks,
            next_cursor: None,
            meta: None,
        }
    }
}
