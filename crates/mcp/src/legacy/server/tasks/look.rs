use callgate_wire::legacy::task::Task;
use callgate_wire::task::{GetTaskParams, GetTaskResult, TaskStatus};
use callgate_wire::{Id, RawJson, method};

use super::desk::Tasks;
use super::registry::Entry;
use crate::error::{Error, Kind};
use crate::legacy::server::convert;

/// How a task is doing, and what belongs to that.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) task: Task,
    pub(super) state: State,
}

/// What belongs to how a task is doing. Nothing here is translated yet.
#[derive(Debug)]
pub(super) enum State {
    Working,
    /// It waits for answers to these.
    Asking(RawJson),
    Completed(RawJson),
    /// It ended in this error.
    Failed(RawJson),
    Cancelled,
}

impl Tasks {
    /// Looks how a task is doing, on behalf of the request `id`.
    pub(super) async fn look(&self, id: &Id, entry: &Entry) -> Result<Look, Error> {
        let task = entry.task();
        if task.status == TaskStatus::Cancelled {
            let state = State::Cancelled;
            return Ok(Look { task, state });
        }
        if let Some(result) = entry.result() {
            let state = State::Completed(result);
            return Ok(Look { task, state });
        }
        let params = GetTaskParams::new(task.task_id);
        let found = self.ask(id, method::TASKS_GET, &params).await?;
        let malformed = || Error::new(Kind::Protocol, "malformed result of `tasks/get`");
        let view: GetTaskResult = found
            .decode()
            .map_err(|error| malformed().with_source(error))?;
        let [requests, result, error] = found.pick(["inputRequests", "result", "error"]);
        let state = match view.task.task.status {
            TaskStatus::Working => State::Working,
            TaskStatus::InputRequired => {
                State::Asking(requests.unwrap_or_else(RawJson::empty_object))
            }
            TaskStatus::Completed => State::Completed(result.ok_or_else(malformed)?),
            TaskStatus::Failed => State::Failed(error.ok_or_else(malformed)?),
            TaskStatus::Cancelled => State::Cancelled,
        };
        let failed = matches!(&state, State::Completed(result) if convert::is_error(result));
        let task = entry.learn(convert::task(view.task.task, failed));
        Ok(Look { task, state })
    }
}
