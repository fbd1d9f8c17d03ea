use std::sync::Arc;

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::task::{
    CreateTaskResult, GetTaskParams, ListTasksParams, ListTasksResult, RelatedTaskMetadata, Task,
    TaskAugmentedParams,
};
use callgate_wire::task::{self as extension, TaskStatus};
use callgate_wire::{Method, RawJson, method};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::session_tasks::SessionTasks;
use super::task_registry::TaskEntry;
use crate::error::{Error, Kind};
use crate::legacy::server::client_request::ClientRequest;
use crate::legacy::server::convert;
use crate::legacy::server::session::Session;
use crate::service::{BoxFuture, Reply};

/// Number of tasks on a page of the list. It is small, because the service is asked for the state of each
/// task on it.
const PAGE: usize = 32;

impl Session {
    /// Answers requests about tasks, and calls that ask to become one; `None` for all others.
    pub(in crate::legacy::server) fn answer_task<'a>(
        &'a self,
        tasks: &'a SessionTasks,
        request: &'a ClientRequest,
    ) -> Option<BoxFuture<'a, Result<RawJson, Error>>> {
        Some(match request.method.as_str() {
            method::TOOLS_CALL if wants_task(request) => {
                Box::pin(self.call_as_task(tasks, request))
            }
            method::TASKS_GET => Box::pin(get(tasks, request)),
            old::TASKS_RESULT => Box::pin(self.task_result(tasks, request)),
            method::TASKS_CANCEL => Box::pin(cancel(tasks, request)),
            old::TASKS_LIST => Box::pin(list(tasks, request)),
            _ => return None,
        })
    }

    async fn call_as_task(
        &self,
        tasks: &SessionTasks,
        request: &ClientRequest,
    ) -> Result<RawJson, Error> {
        let asked: TaskAugmentedParams = read(request, "`task` must say how long to keep it")?;
        // Reserved before the call: a task that found no place afterwards would run unknown to its client.
        let slot = tasks.registry.reserve()?;
        let task = match self.run_rounds(&tasks.upstream, request).await? {
            Reply::Task(result) => {
                let task = created(&result)?;
                slot.fill(task.clone(), None);
                task
            }
            Reply::Complete(result) if result.is_object() => {
                let ttl = asked.task.and_then(|task| task.ttl);
                let mut task = convert::finished_task(ttl, convert::is_error(&result));
                slot.fill(task.clone(), Some(result));
                // The first status of a task is always `working`.
                task.status = TaskStatus::Working;
                task
            }
            _ => {
                let message = "`tools/call` was answered with a result of an unknown type";
                return Err(Error::new(Kind::Protocol, message));
            }
        };
        Ok(encode(&CreateTaskResult::new(task)))
    }

    async fn task_result(
        &self,
        tasks: &SessionTasks,
        request: &ClientRequest,
    ) -> Result<RawJson, Error> {
        let entry = find(tasks, request)?;
        let related = encode(&RelatedTaskMetadata::new(entry.task().task_id));
        let result = self.wait_for(tasks, request, &entry, Some(&related));
        let result = result.await?;
        let call = Method::new(method::TOOLS_CALL);
        let result = convert::result(self.version(), &call, &result, &self.server_meta);
        convert::related_to(&related, &result.finish())
    }
}

async fn get(tasks: &SessionTasks, request: &ClientRequest) -> Result<RawJson, Error> {
    let entry = find(tasks, request)?;
    let view = tasks.view(request, &entry).await?;
    Ok(encode(&view.task))
}

/// Cancels a task. For the client it ends now, even if the service takes a while.
async fn cancel(tasks: &SessionTasks, request: &ClientRequest) -> Result<RawJson, Error> {
    let entry = find(tasks, request)?;
    let view = tasks.view(request, &entry).await?;
    // The old revision refuses to cancel a task that has ended, while the extension acknowledges it.
    if view.task.status.is_terminal() {
        return Err(Error::invalid_params("the task has ended already"));
    }
    let params = extension::CancelTaskParams::new(view.task.task_id.clone());
    tasks.ask(request, method::TASKS_CANCEL, &params).await?;
    let mut cancelled = view.task;
    cancelled.status = TaskStatus::Cancelled;
    Ok(encode(&entry.update(cancelled)))
}

/// Lists the tasks of this session from the registry, because the extension has no list.
async fn list(tasks: &SessionTasks, request: &ClientRequest) -> Result<RawJson, Error> {
    let params: ListTasksParams = read(request, "`cursor` must be a string")?;
    let after = params.cursor.as_deref().map_or(Ok(0), str::parse);
    let after =
        after.map_err(|error| Error::invalid_params("unknown cursor").with_source(error))?;
    let entries = tasks.registry.page(after, PAGE);
    let mut page = Vec::with_capacity(entries.len());
    for entry in &entries {
        if !entry.has_ended() {
            // If the service fails, the last known state is listed.
            drop(tasks.view(request, entry).await);
        }
        page.push(entry.task());
    }
    let last = entries.last().map(|entry| entry.number);
    let more = last.filter(|last| !tasks.registry.page(*last, 1).is_empty());
    let mut result = ListTasksResult::new(page);
    result.next_cursor = more.map(|number| number.to_string());
    Ok(encode(&result))
}

/// The task that the service made of a call.
pub(super) fn created(result: &RawJson) -> Result<Task, Error> {
    let created: extension::CreateTaskResult = result
        .decode()
        .map_err(|error| Error::new(Kind::Protocol, "malformed task").with_source(error))?;
    Ok(convert::task(created.task, false))
}

fn wants_task(request: &ClientRequest) -> bool {
    let task = request.params.get("task");
    task.is_some_and(|task| task != RawJson::null())
}

fn find(tasks: &SessionTasks, request: &ClientRequest) -> Result<Arc<TaskEntry>, Error> {
    let params: GetTaskParams = read(request, "`taskId` must be a string")?;
    tasks.registry.find(&params.task_id)
}

fn read<T: DeserializeOwned>(request: &ClientRequest, expected: &str) -> Result<T, Error> {
    let params = request.params.decode();
    params.map_err(|error| Error::invalid_params(expected).with_source(error))
}

pub(super) fn encode(value: &impl Serialize) -> RawJson {
    RawJson::encode(value).expect("a result is always JSON")
}
