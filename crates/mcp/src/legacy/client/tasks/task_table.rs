use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callgate_wire::legacy::task as old;
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{Id, RawJson, RpcError};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::error::{Error, Kind};
use crate::legacy::client::call_table::OldCall;
use crate::mutex::Mutex;
use crate::service::Caller;
use crate::upstream::UpstreamConfig;

/// Table of the tasks at an old server.
#[derive(Default)]
pub(crate) struct TaskTable(Mutex<TableState>);

#[derive(Default)]
struct TableState {
    entries: HashMap<String, Arc<TaskEntry>>,
    /// Calls that wait for the result of a task, by its id.
    waiting_calls: HashMap<String, Arc<OldCall>>,
}

impl TaskTable {
    /// Adds a task, unless there are too many.
    pub(super) fn insert(
        &self,
        entry: Arc<TaskEntry>,
        config: &UpstreamConfig,
    ) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.entries.retain(|_, entry| !entry.has_expired());
        // Tasks that have ended give way only at the limit: their clients may still ask for the outcome.
        if state.entries.len() >= config.tasks {
            state.entries.retain(|_, entry| !entry.has_ended());
        }
        let of_caller = state.entries.values();
        let of_caller = of_caller
            .filter(|known| known.caller == entry.caller)
            .count();
        if state.entries.len() >= config.tasks || of_caller >= config.tasks_per_caller {
            return Err(Error::new(Kind::Busy, "too many tasks"));
        }
        state.entries.insert(entry.id.clone(), entry);
        Ok(())
    }

    /// The task with this id, if it is `caller`'s.
    pub(super) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<TaskEntry>> {
        let mut state = self.0.lock();
        state.entries.retain(|_, entry| !entry.has_expired());
        let entry = state.entries.get(id).cloned();
        entry.filter(|entry| entry.caller == *caller)
    }

    /// Adds the call that waits for a task.
    pub(super) fn add_waiting_call(&self, id: &str, old_call: Arc<OldCall>) {
        self.0.lock().waiting_calls.insert(id.to_owned(), old_call);
    }

    /// Removes the call that waited for a task.
    pub(super) fn remove_waiting_call(&self, id: &str) {
        self.0.lock().waiting_calls.remove(id);
    }

    /// The call whose client is asked the questions of a task.
    pub(crate) fn old_call(&self, id: &str) -> Option<Arc<OldCall>> {
        let state = self.0.lock();
        let entry = state.entries.get(id).map(|entry| entry.old_call.clone());
        entry.or_else(|| state.waiting_calls.get(id).cloned())
    }

    /// Removes a question that the server has cancelled.
    pub(crate) fn withdraw(&self, id: &Id) {
        for entry in self.0.lock().entries.values() {
            entry.old_call.withdraw(id);
        }
    }

    /// Removes all tasks, which ends their background tasks.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut self.0.lock().entries);
        drop(entries);
    }
}

/// Task at an old server, and the caller that it belongs to.
pub(super) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    /// Questions of the server for the task.
    pub(super) old_call: Arc<OldCall>,
    expires: Option<Instant>,
    state: watch::Sender<TaskState>,
    /// Background task that ends with this entry.
    pub(super) runner: OnceLock<AbortHandle>,
}

struct TaskState {
    task: old::Task,
    outcome: Option<Outcome>,
}

/// Outcome of a task: a result of this revision, or an error.
pub(super) type Outcome = Result<RawJson, RpcError>;

impl TaskEntry {
    pub(super) fn new(caller: Caller, old_call: Arc<OldCall>, task: old::Task) -> Self {
        let ttl = task.ttl.map(Duration::from_millis);
        Self {
            id: task.task_id.clone(),
            caller,
            old_call,
            expires: ttl.and_then(|ttl| Instant::now().checked_add(ttl)),
            state: watch::Sender::new(TaskState {
                task,
                outcome: None,
            }),
            runner: OnceLock::new(),
        }
    }

    /// Updates the task as the server describes it.
    pub(super) fn update(&self, task: old::Task) {
        self.state.send_modify(|state| state.task = task);
    }

    pub(super) fn end(&self, outcome: Outcome) {
        self.state
            .send_modify(|state| state.outcome = Some(outcome));
    }

    /// True if the outcome is known.
    pub(super) fn has_ended(&self) -> bool {
        self.state.borrow().outcome.is_some()
    }

    /// True if the time to live has passed, after which the server forgets the task.
    pub(super) fn has_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= Instant::now())
    }

    /// Waits for the outcome of a task that has ended by its status.
    pub(super) async fn settled(&self) {
        let is_settled = |state: &TaskState| {
            let status = state.task.status;
            let is_over = matches!(status, TaskStatus::Completed | TaskStatus::Failed);
            !is_over || state.outcome.is_some()
        };
        let mut state = self.state.subscribe();
        // It cannot fail: the sender lives as long as `self`.
        let _ = state.wait_for(is_settled).await;
    }

    /// The task as this revision has it.
    pub(super) fn snapshot(&self) -> DetailedTask {
        let questions = self.old_call.questions();
        let state = self.state.borrow();
        let mut detailed = DetailedTask::from(modern(&state.task));
        // An error of a tool makes an old task `failed`; a task of today is `completed` with
        // `isError`. So the outcome decides, not the status.
        detailed.task.status = match (&state.outcome, state.task.status) {
            (_, TaskStatus::Cancelled) => TaskStatus::Cancelled,
            (Some(Ok(result)), _) => {
                detailed.result = Some(result.clone());
                TaskStatus::Completed
            }
            (Some(Err(error)), _) => {
                detailed.error = Some(error.clone());
                TaskStatus::Failed
            }
            (None, _) if !questions.is_empty() => {
                let decoded = questions
                    .iter()
                    .filter_map(|(key, question)| Some((key.to_owned(), question.decode().ok()?)));
                detailed.input_requests = Some(decoded.collect());
                TaskStatus::InputRequired
            }
            (None, _) => TaskStatus::Working,
        };
        detailed
    }
}

impl Drop for TaskEntry {
    fn drop(&mut self) {
        if let Some(runner) = self.runner.get() {
            runner.abort();
        }
    }
}

/// A task in the terms of the extension.
pub(super) fn modern(task: &old::Task) -> Task {
    let mut modern = Task::new(&task.task_id, task.status, &task.created_at);
    modern.status_message.clone_from(&task.status_message);
    modern.last_updated_at.clone_from(&task.last_updated_at);
    (modern.ttl_ms, modern.poll_interval_ms) = (task.ttl, task.poll_interval);
    modern
}
