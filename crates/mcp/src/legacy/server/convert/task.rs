use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::legacy::task as old;
use callgate_wire::task::{Task, TaskStatus};
use callgate_wire::{RawJson, Splice};

use super::content::edit_each;
use crate::error::{Error, Kind};
use crate::router::timestamp;
use crate::seal::random;

/// Default time to live of a task that ended at once, in milliseconds.
const DEFAULT_TTL: u64 = 60 * 60 * 1000;

/// Task of the extension for 2025-11-25, where a failed call makes its task fail.
pub(crate) fn task(task: Task, failed: bool) -> old::Task {
    let status = match task.status {
        TaskStatus::Completed if failed => TaskStatus::Failed,
        status => status,
    };
    let (created, updated) = (task.created_at, task.last_updated_at);
    let mut old = old::Task::new(task.task_id, status, created, updated, task.ttl_ms);
    old.status_message = task.status_message;
    old.poll_interval = task.poll_interval_ms;
    old
}

/// Task for a call that ended at once.
pub(crate) fn finished_task(ttl: Option<u64>, failed: bool) -> old::Task {
    let now = timestamp(SystemTime::now());
    let id = URL_SAFE_NO_PAD.encode(random::<24>());
    let status = match failed {
        true => TaskStatus::Failed,
        false => TaskStatus::Completed,
    };
    // The client may ask for less time, but not for more.
    let ttl = ttl.map_or(DEFAULT_TTL, |ttl| ttl.min(DEFAULT_TTL));
    old::Task::new(id, status, now.clone(), now, Some(ttl))
}

/// True if the result of a tool is an error.
pub(crate) fn is_error(result: &RawJson) -> bool {
    let is_error = result.get("isError");
    is_error.is_some_and(|is_error| is_error.as_str() == "true")
}

/// A message or result with the metadata that names its task.
pub(crate) fn related_to(task: &RawJson, value: &RawJson) -> Result<RawJson, Error> {
    Splice::new(value)
        .set(&["_meta", RELATED_TASK], task)
        .finish()
        .map_err(|error| Error::new(Kind::Protocol, "malformed `_meta`").with_source(error))
}

/// List of tools, each of which supports tasks.
pub(crate) fn with_task_support(result: &RawJson) -> RawJson {
    let optional = RawJson::string("optional");
    let tools = result.get("tools").and_then(|tools| {
        edit_each(&tools, |tool| {
            Splice::new(tool)
                .set(&["execution", "taskSupport"], &optional)
                .finish()
                .ok()
        })
    });
    match tools {
        Some(tools) => Splice::new(result)
            .set(&["tools"], &tools)
            .finish()
            .expect("the member is there"),
        None => result.clone(),
    }
}
