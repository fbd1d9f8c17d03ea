use serde::{Deserialize, Serialize};

use crate::input::InputResponses;
use crate::meta_object::Meta;
use crate::result::{EmptyResult, ResultType};
use crate::task::flat::Flat;
use crate::task::{DetailedTask, Task};

/// Result of a request that goes on as a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// Metadata.
    pub meta: Option<Meta>,
}

/// Parameters of `tasks/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The task.
    pub task_id: String,
}

/// Result of `tasks/get`.
///
/// It is complete; one that says `task` is read as well, as the examples of the extension have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
#[non_exhaustive]
pub struct GetTaskResult {
    /// The task.
    pub task: DetailedTask,
    /// Metadata.
    pub meta: Option<Meta>,
}

/// Parameters of `tasks/update`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The task.
    pub task_id: String,
    /// Answers to some of its input requests.
    pub input_responses: InputResponses,
}

/// Result of `tasks/update`; the task may take a while to notice.
pub type UpdateTaskResult = EmptyResult;

/// Parameters of `tasks/cancel`.
pub type CancelTaskParams = GetTaskParams;

/// Result of `tasks/cancel`; the task may take a while to notice, or not stop at all.
pub type CancelTaskResult = EmptyResult;

/// Parameters of `notifications/tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
#[non_exhaustive]
pub struct TaskNotificationParams {
    /// The task.
    pub task: DetailedTask,
    /// Metadata, with the id of the subscription that the notification belongs to.
    pub meta: Option<Meta>,
}

/// A task came in a result of another type.
#[derive(Debug, thiserror::Error)]
#[error("a task cannot come in a result of type {0:?}")]
pub(super) struct WrongResultType(ResultType);

impl CreateTaskResult {
    /// The request goes on as this task.
    #[must_use]
    pub const fn new(task: Task) -> Self {
        Self { task, meta: None }
    }
}

impl GetTaskResult {
    /// The state of this task.
    #[must_use]
    pub const fn new(task: DetailedTask) -> Self {
        Self { task, meta: None }
    }
}

impl UpdateTaskParams {
    /// Gives these answers to the task with this id.
    #[must_use]
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self {
            meta: None,
            task_id: task_id.into(),
            input_responses,
        }
    }
}

impl TaskNotificationParams {
    /// The task has changed; `meta` has the id of the subscription.
    #[must_use]
    pub const fn new(task: DetailedTask, meta: Meta) -> Self {
        Self {
            task,
            meta: Some(meta),
        }
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

impl TryFrom<Flat> for CreateTaskResult {
    type Error = WrongResultType;

    fn try_from(mut flat: Flat) -> Result<Self, WrongResultType> {
        match flat.result_type.unwrap_or_default() {
            ResultType::Task => {
                let meta = flat.meta.take();
                let task = DetailedTask::from(flat).task;
                Ok(Self { task, meta })
            }
            other => Err(WrongResultType(other)),
        }
    }
}

impl From<CreateTaskResult> for Flat {
    fn from(result: CreateTaskResult) -> Self {
        Self::new(Some(ResultType::Task), result.task.into(), result.meta)
    }
}

impl TryFrom<Flat> for GetTaskResult {
    type Error = WrongResultType;

    fn try_from(mut flat: Flat) -> Result<Self, WrongResultType> {
        match flat.result_type.unwrap_or_default() {
            ResultType::Complete | ResultType::Task => {
                let meta = flat.meta.take();
                Ok(Self {
                    task: flat.into(),
                    meta,
                })
            }
            other => Err(WrongResultType(other)),
        }
    }
}

impl From<GetTaskResult> for Flat {
    fn from(result: GetTaskResult) -> Self {
        Self::new(Some(ResultType::Complete), result.task, result.meta)
    }
}

impl From<Flat> for TaskNotificationParams {
    fn from(mut flat: Flat) -> Self {
        let meta = flat.meta.take();
        Self {
            task: flat.into(),
            meta,
        }
    }
}

impl From<TaskNotificationParams> for Flat {
    fn from(params: TaskNotificationParams) -> Self {
        Self::new(None, params.task, params.meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskStatus;

    fn task() -> Task {
        Task {
            task_id: "t".to_owned(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: "2026-07-28T00:00:00Z".to_owned(),
            last_updated_at: "2026-07-28T00:00:00Z".to_owned(),
            ttl_ms: None,
            poll_interval_ms: Some(5),
        }
    }

    const MEMBERS: &str = r#""taskId":"t","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null,"pollIntervalMs":5"#;

    #[test]
    fn a_task_stands_flat_in_the_result_that_makes_it() {
        let text = format!(r#"{{"resultType":"task",{MEMBERS}}}"#);
        let result = CreateTaskResult {
            task: task(),
            meta: None,
        };
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<CreateTaskResult>(&text).unwrap(),
            result
        );
        let complete = format!("{{{MEMBERS}}}");
        assert!(serde_json::from_str::<CreateTaskResult>(&complete).is_err());
    }

    #[test]
    fn a_task_that_is_asked_for_comes_in_a_complete_result() {
        let result = GetTaskResult {
            task: task().into(),
            meta: None,
        };
        assert_eq!(
            serde_json::to_string(&result).unwrap(),
            format!(r#"{{"resultType":"complete",{MEMBERS}}}"#)
        );
        let read = |result_type: &str| {
            let text = format!(r#"{{"resultType":"{result_type}",{MEMBERS}}}"#);
            serde_json::from_str::<GetTaskResult>(&text)
        };
        assert_eq!(read("complete").unwrap(), result);
        assert_eq!(read("task").unwrap(), result);
        assert!(read("input_required").is_err());
        assert!(read("other").is_err());
    }
}
