use std::sync::Arc;
use std::time::Duration;

use callgate_wire::legacy::task as old;
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{RawJson, RpcError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::legacy::client::call_table::OldCall;
use crate::mutex::Mutex;
use crate::service::Caller;

/// Task at an old server, and the caller that it belongs to.
pub(super) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    /// Questions of the server for the task.
    pub(super) old_call: Arc<OldCall>,
    expires: Option<Instant>,
    state: Mutex<TaskState>,
    ended: Notify,
}

struct TaskState {
    task: old::Task,
    outcome: Option<Outcome>,
    runner: Option<AbortHandle>,
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
            state: Mutex::new(TaskState {
                task,
                outcome: None,
                runner: None,
            }),
            ended: Notify::new(),
        }
    }

    /// Sets the background task that ends with this entry.
    pub(super) fn runs_by(&self, runner: AbortHandle) {
        self.state.lock().runner = Some(runner);
    }

    /// Updates the task as the server describes it.
    pub(super) fn update(&self, task: old::Task) {
        self.state.lock().task = task;
    }

    /// Sets the outcome.
    pub(super) fn end(&self, outcome: Outcome) {
        self.state.lock().outcome = Some(outcome);
        self.ended.notify_waiters();
    }

    /// True if the outcome is known.
    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().outcome.is_some()
    }

    /// True if the time to live has passed, after which the server forgets the task.
    pub(super) fn has_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= Instant::now())
    }

    /// Waits for the outcome of a task that has ended by its status.
    pub(super) async fn settled(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Registered before the check of the state, so that no wake-up is missed.
            ended.as_mut().enable();
            {
                let state = self.state.lock();
                let is_over = matches!(
                    state.task.status,
                    TaskStatus::Completed | TaskStatus::Failed
                );
                if !is_over || state.outcome.is_some() {
                    return;
                }
            }
            ended.await;
        }
    }

    /// The task as this revision has it.
    pub(super) fn snapshot(&self) -> DetailedTask {
        let questions = self.old_call.questions();
        let state = self.state.lock();
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
        if let Some(runner) = self.state.lock().runner.take() {
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
