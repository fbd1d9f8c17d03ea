use std::sync::Arc;

use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::legacy::method as old;
use callgate_wire::legacy::task::{
    CreateTaskResult, GetTaskParams, ListTasksParams, ListTasksResult, RelatedTaskMetadata, Task,
    TaskAugmentedParams,
};
use callgate_wire::result::ResultType;
use callgate_wire::task::{self as extension, TaskStatus};
use callgate_wire::{Method, RawJson, Request, Splice, method};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::desk::Tasks;
use super::registry::Entry;
use super::wait::Waiting;
use crate::error::{Error, Kind};
use crate::legacy::server::convert;
use crate::legacy::server::outlet::Outlet;
use crate::legacy::server::session::Session;

/// How many tasks a page of the list has.
const PAGE: usize = 32;

impl Session {
    /// Answers what a client asks about tasks, and calls that should become one; none else.
    pub(in crate::legacy::server) async fn answer_task(
        &self,
        tasks: &Tasks,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Option<Result<RawJson, Error>> {
        Some(match request.method.as_str() {
            method::TOOLS_CALL if wants_task(request) => {
                self.call_as_task(tasks, request, outlet).await
            }
            method::TASKS_GET => get(tasks, request).await,
            old::TASKS_RESULT => self.task_result(tasks, request, outlet).await,
            method::TASKS_CANCEL => cancel(tasks, request).await,
            old::TASKS_LIST => list(tasks, request).await,
            _ => return None,
        })
    }

    async fn call_as_task(
        &self,
        tasks: &Tasks,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let asked: TaskAugmentedParams = read(request, "`task` must say how long to keep it")?;
        let slot = tasks.registry.reserve()?;
        let result = self.drive(&tasks.upstream, request, outlet).await?;
        let task = match ResultType::of(&result) {
            Ok(ResultType::Task) => {
                let task = created(&result)?;
                slot.fill(task.clone(), None);
                task
            }
            Ok(ResultType::Complete) if result.is_object() => {
                let ttl = asked.task.and_then(|task| task.ttl);
                let task = convert::finished_task(ttl, convert::is_error(&result));
                slot.fill(task.clone(), Some(result));
                // A task begins as one that is being worked on.
                Task {
                    status: TaskStatus::Working,
                    ..task
                }
            }
            _ => {
                let message = "`tools/call` was answered with a result of an unknown type";
                return Err(Error::new(Kind::Protocol, message));
            }
        };
        Ok(encode(&CreateTaskResult { task, meta: None }))
    }

    async fn task_result(
        &self,
        tasks: &Tasks,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let entry = find(tasks, request)?;
        let related = encode(&RelatedTaskMetadata {
            task_id: entry.task().task_id,
        });
        let waiting = Waiting {
            tasks,
            id: &request.id,
            entry: &entry,
            related: Some(&related),
        };
        let result = self.wait_for(&waiting, outlet).await?;
        let call = Method::new(method::TOOLS_CALL);
        let result = convert::result(self.version(), &call, &result);
        related_to(&related, &result)
    }
}

async fn get(tasks: &Tasks, request: &Request) -> Result<RawJson, Error> {
    let entry = find(tasks, request)?;
    let look = tasks.look(&request.id, &entry).await?;
    Ok(encode(&look.task))
}

/// Cancels a task. The service may take a while to notice; for the client it is over.
async fn cancel(tasks: &Tasks, request: &Request) -> Result<RawJson, Error> {
    let entry = find(tasks, request)?;
    let look = tasks.look(&request.id, &entry).await?;
    if look.task.status.is_terminal() {
        return Err(Error::invalid_params("the task has ended already"));
    }
    let params = extension::CancelTaskParams::new(look.task.task_id.clone());
    tasks
        .ask(&request.id, method::TASKS_CANCEL, &params)
        .await?;
    let cancelled = Task {
        status: TaskStatus::Cancelled,
        ..look.task
    };
    Ok(encode(&entry.learn(cancelled)))
}

/// Lists the tasks of this session; the service has no list.
async fn list(tasks: &Tasks, request: &Request) -> Result<RawJson, Error> {
    let params: ListTasksParams = read(request, "`cursor` must be a string")?;
    let after = params.cursor.as_deref().map_or(Ok(0), str::parse);
    let after =
        after.map_err(|error| Error::invalid_params("unknown cursor").with_source(error))?;
    let entries = tasks.registry.page(after, PAGE);
    let mut page = Vec::with_capacity(entries.len());
    for entry in &entries {
        if !entry.has_ended() {
            // Where the service does not tell, what was last known is all there is.
            drop(tasks.look(&request.id, entry).await);
        }
        page.push(entry.task());
    }
    let last = entries.last().map(|entry| entry.number);
    let more = last.filter(|last| !tasks.registry.page(*last, 1).is_empty());
    Ok(encode(&ListTasksResult {
        tasks: page,
        next_cursor: more.map(|number| number.to_string()),
        meta: None,
    }))
}

/// The task that a call has become.
pub(super) fn created(result: &RawJson) -> Result<Task, Error> {
    let created: extension::CreateTaskResult = result
        .decode()
        .map_err(|error| Error::new(Kind::Protocol, "malformed task").with_source(error))?;
    Ok(convert::task(created.task, false))
}

fn wants_task(request: &Request) -> bool {
    let task = request.params.get("task");
    task.is_some_and(|task| task != RawJson::null())
}

fn find(tasks: &Tasks, request: &Request) -> Result<Arc<Entry>, Error> {
    let params: GetTaskParams = read(request, "`taskId` must be a string")?;
    tasks.registry.find(&params.task_id)
}

fn related_to(task: &RawJson, result: &RawJson) -> Result<RawJson, Error> {
    Splice::new(result)
        .set(&["_meta", RELATED_TASK], task)
        .finish()
        .map_err(|error| Error::new(Kind::Protocol, "malformed `_meta`").with_source(error))
}

fn read<T: DeserializeOwned>(request: &Request, expected: &str) -> Result<T, Error> {
    let params = request.params.decode();
    params.map_err(|error| Error::invalid_params(expected).with_source(error))
}

pub(super) fn encode(value: &impl Serialize) -> RawJson {
    RawJson::encode(value).expect("a result is always JSON")
}
