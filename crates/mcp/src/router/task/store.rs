use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::config::TaskConfig;
use super::entry::{State, TaskEntry};
use crate::error::{Error, Kind};
use crate::router::listeners::Listeners;
use crate::seal::random;
use crate::service::Caller;

/// The most bytes that the requests of running tasks have together: they are kept as long.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes that the requests of the running tasks of one caller have together.
const MAX_BYTES_PER_CALLER: usize = 4 * 1024 * 1024;

/// The tasks of a router. They stop when it is dropped.
#[derive(Default)]
pub(crate) struct TaskStore {
    tasks: Mutex<HashMap<String, Arc<TaskEntry>>>,
}

impl TaskStore {
    /// Makes a task for `caller` of a request with so many bytes, unless there are too many.
    pub(super) fn create(
        &self,
        caller: &Caller,
        request_bytes: usize,
        config: &TaskConfig,
        listeners: &Listeners,
    ) -> Result<Arc<TaskEntry>, Error> {
        let now = SystemTime::now();
        let entry = Arc::new(TaskEntry {
            id: URL_SAFE_NO_PAD.encode(random::<24>()),
            caller: caller.clone(),
            request_bytes,
            created: now,
            expires: Instant::now() + config.ttl,
            ttl_ms: millis(config.ttl),
            poll_interval_ms: millis(config.poll_interval),
            listeners: listeners.clone(),
            state: Mutex::new(State::new(now)),
            answered: Notify::new(),
        });
        let mut tasks = self.tasks();
        forget_expired(&mut tasks);
        let of_caller = || tasks.values().filter(|entry| entry.caller == *caller);
        if of_caller().count() >= config.max_tasks_per_caller
            || is_too_much(of_caller(), request_bytes, MAX_BYTES_PER_CALLER)
        {
            return Err(Error::new(Kind::Busy, "too many tasks of one caller").retry_safe());
        }
        if tasks.len() >= config.max_tasks || is_too_much(tasks.values(), request_bytes, MAX_BYTES)
        {
            return Err(Error::new(Kind::Busy, "too many tasks").retry_safe());
        }
        tasks.insert(entry.id.clone(), entry.clone());
        Ok(entry)
    }

    /// The task with this id, if it is `caller`'s.
    pub(crate) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<TaskEntry>> {
        let mut tasks = self.tasks();
        forget_expired(&mut tasks);
        tasks
            .get(id)
            .filter(|entry| entry.caller == *caller)
            .cloned()
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Arc<TaskEntry>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TaskStore {
    fn drop(&mut self) {
        for entry in self.tasks().values() {
            entry.cancel();
        }
    }
}

/// Whether a request of so many bytes is one too many beside those of the tasks that still run.
fn is_too_much<'a>(
    tasks: impl Iterator<Item = &'a Arc<TaskEntry>>,
    request_bytes: usize,
    most: usize,
) -> bool {
    let running = tasks.filter(|entry| entry.is_running());
    let held: usize = running.map(|entry| entry.request_bytes).sum();
    held > 0 && held + request_bytes > most
}

fn forget_expired(tasks: &mut HashMap<String, Arc<TaskEntry>>) {
    let now = Instant::now();
    tasks.retain(|_, entry| entry.expires > now);
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
