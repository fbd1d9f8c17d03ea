use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::config::TaskConfig;
use super::entry::TaskEntry;
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::service::Caller;
use crate::subscribers::Subscribers;

/// Maximum bytes of the requests of all running tasks, which are kept in memory while they run.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum bytes of the requests of the running tasks of one caller.
const MAX_BYTES_PER_CALLER: usize = 4 * 1024 * 1024;

/// Task store of a router. Dropping it cancels the tasks.
#[derive(Default)]
pub(crate) struct TaskStore {
    tasks: Mutex<HashMap<String, Arc<TaskEntry>>>,
}

impl TaskStore {
    /// Creates a task for a request of `caller`.
    ///
    /// # Errors
    /// The caller, or all callers together, have too many tasks or too many bytes in them.
    pub(super) fn create(
        &self,
        caller: &Caller,
        request_bytes: usize,
        config: &TaskConfig,
        subscribers: &Subscribers,
    ) -> Result<Arc<TaskEntry>, Error> {
        let mut tasks = self.tasks.lock();
        forget_expired(&mut tasks);
        // The limit of the caller comes first, so that it learns of its own tasks and not of others'.
        let of_caller = || tasks.values().filter(|entry| entry.caller == *caller);
        // The bytes count as well, because a task keeps its request until it ends: the tasks of one caller
        // could hold a gigabyte.
        if of_caller().count() >= config.max_tasks_per_caller
            || exceeds_bytes(of_caller(), request_bytes, MAX_BYTES_PER_CALLER)
        {
            return Err(Error::new(Kind::Busy, "too many tasks of one caller").retry_safe());
        }
        if tasks.len() >= config.max_tasks
            || exceeds_bytes(tasks.values(), request_bytes, MAX_BYTES)
        {
            return Err(Error::new(Kind::Busy, "too many tasks").retry_safe());
        }
        let entry = TaskEntry::new(caller, request_bytes, config, subscribers);
        let entry = Arc::new(entry);
        tasks.insert(entry.id.clone(), entry.clone());
        Ok(entry)
    }

    /// Task with this id, if it belongs to `caller`. The task of another caller looks like an unknown
    /// one, so that ids cannot be probed.
    pub(crate) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<TaskEntry>> {
        let mut tasks = self.tasks.lock();
        forget_expired(&mut tasks);
        tasks
            .get(id)
            .filter(|entry| entry.caller == *caller)
            .cloned()
    }
}

impl Drop for TaskStore {
    fn drop(&mut self) {
        for entry in self.tasks.lock().values() {
            entry.cancel();
        }
    }
}

/// True if a request of so many bytes exceeds the limit together with those of the running tasks. A
/// single request always fits: the limit of the transport bounds it.
fn exceeds_bytes<'a>(
    tasks: impl Iterator<Item = &'a Arc<TaskEntry>>,
    request_bytes: usize,
    limit: usize,
) -> bool {
    let running = tasks.filter(|entry| entry.is_running());
    let held: usize = running.map(|entry| entry.request_bytes).sum();
    held > 0 && held + request_bytes > limit
}

fn forget_expired(tasks: &mut HashMap<String, Arc<TaskEntry>>) {
    let now = Instant::now();
    tasks.retain(|_, entry| entry.expires > now);
}
