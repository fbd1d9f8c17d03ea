use callgate_wire::legacy::task::Task;
use callgate_wire::task::{GetTaskParams, GetTaskResult, TaskStatus};
use callgate_wire::{RawJson, method};
use serde::Serialize;

use super::task_registry::{TaskEntry, TaskRegistry};
use crate::error::{Error, Kind};
use crate::legacy::server::client_request::ClientRequest;
use crate::legacy::server::convert;
use crate::legacy::server::forward::SessionService;
use crate::server::SessionLimits;

/// Tasks of one session.
pub(in crate::legacy::server) struct SessionTasks {
    /// The service, called with the capability of the extension.
    pub(super) upstream: SessionService,
    pub(super) registry: TaskRegistry,
}

impl SessionTasks {
    pub(in crate::legacy::server) fn new(
        upstream: &SessionService,
        config: &SessionLimits,
    ) -> Self {
        Self {
            upstream: upstream.with_tasks(),
            registry: TaskRegistry::new(config.tasks),
        }
    }

    /// Sends a request about tasks to the service.
    pub(super) async fn ask(
        &self,
        request: &ClientRequest,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RawJson, Error> {
        let context = |peer| request.context(peer);
        self.upstream.result(context, method, params).await
    }
}

/// State of a task, and the data that belongs to it.
#[derive(Debug)]
pub(super) struct TaskView {
    pub(super) task: Task,
    pub(super) progress: TaskProgress,
}

/// Status of a task with its data, untranslated.
#[derive(Debug)]
pub(super) enum TaskProgress {
    Working,
    /// It waits for answers to these input requests.
    InputRequired(RawJson),
    Completed(RawJson),
    /// It failed with this error.
    Failed(RawJson),
    Cancelled,
}

impl SessionTasks {
    /// Reads the state of a task from the service, for `request`.
    pub(super) async fn view(
        &self,
        request: &ClientRequest,
        entry: &TaskEntry,
    ) -> Result<TaskView, Error> {
        let task = entry.task();
        // Whatever the service says now, the client was told that the task is canceled.
        if task.status == TaskStatus::Cancelled {
            let progress = TaskProgress::Cancelled;
            return Ok(TaskView { task, progress });
        }
        if let Some(result) = entry.result() {
            let progress = TaskProgress::Completed(result);
            return Ok(TaskView { task, progress });
        }
        let params = GetTaskParams::new(task.task_id);
        let found = self.ask(request, method::TASKS_GET, &params).await?;
        let malformed = || Error::new(Kind::Protocol, "malformed result of `tasks/get`");
        let view: GetTaskResult = found
            .decode()
            .map_err(|error| malformed().with_source(error))?;
        let [requests, result, error] = found.pick(["inputRequests", "result", "error"]);
        let progress = match view.task.task.status {
            TaskStatus::Working => TaskProgress::Working,
            TaskStatus::InputRequired => {
                TaskProgress::InputRequired(requests.unwrap_or_else(RawJson::empty_object))
            }
            TaskStatus::Completed => TaskProgress::Completed(result.ok_or_else(malformed)?),
            TaskStatus::Failed => TaskProgress::Failed(error.ok_or_else(malformed)?),
            TaskStatus::Cancelled => TaskProgress::Cancelled,
            _ => return Err(malformed()),
        };
        let failed =
            matches!(&progress, TaskProgress::Completed(result) if convert::is_error(result));
        let task = entry.update(convert::task(view.task.task, failed));
        Ok(TaskView { task, progress })
    }
}
