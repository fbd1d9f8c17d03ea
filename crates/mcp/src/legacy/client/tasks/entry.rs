use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_wire::legacy::task as old;
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{RawJson, RpcError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::legacy::client::flight::Flight;
use crate::service::Caller;

/// A task of an old server, and who may ask for it.
pub(super) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    /// What the server asks on behalf of the task.
    pub(super) flight: Arc<Flight>,
    expires: Option<Instant>,
    state: Mutex<State>,
    ended: Notify,
}

struct State {
    task: old::Task,
    outcome: Option<Outcome>,
    runner: Option<AbortHandle>,
}

/// How a task ended: with a result of this revision, or with an error.
pub(super) type Outcome = Result<RawJson, RpcError>;

impl TaskEntry {
    pub(super) fn new(caller: Caller, flight: Arc<Flight>, task: old::Task) -> Self {
        let ttl = task.ttl.map(Duration::from_millis);
        Self {
            id: task.task_id.clone(),
            caller,
            flight,
            expires: ttl.and_then(|ttl| Instant::now().checked_add(ttl)),
            state: Mutex::new(State {
                task,
                outcome: None,
                runner: None,
            }),
            ended: Notify::new(),
        }
    }

    /// Ends `runner` with the entry.
    pub(super) fn runs_by(&self, runner: AbortHandle) {
        self.state().runner = Some(runner);
    }

    /// Takes what the server says about the task.
    pub(super) fn update(&self, task: old::Task) {
        self.state().task = task;
    }

    /// Keeps how the task ended.
    pub(super) fn end(&self, outcome: Outcome) {
        self.state().outcome = Some(outcome);
        self.ended.notify_waiters();
    }

    /// Whether it is known how the task ended.
    pub(super) fn has_ended(&self) -> bool {
        self.state().outcome.is_some()
    }

    /// Whether the server has forgotten the task by now.
    pub(super) fn has_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= Instant::now())
    }

    /// Waits until it is known how the task ended, where the server says that it has.
    pub(super) async fn settled(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Registered before the look at the state, so that no wake-up is missed.
            ended.as_mut().enable();
            {
                let state = self.state();
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
        let questions = self.flight.questions();
        let state = self.state();
        let mut detailed = DetailedTask::from(modern(&state.task));
        // Where tools fail, old tasks fail and new ones complete.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TaskEntry {
    fn drop(&mut self) {
        if let Some(runner) = self.state().runner.take() {
            runner.abort();
        }
    }
}

/// A task in the terms of the extension.
pub(super) fn modern(task: &old::Task) -> Task {
    Task {
        task_id: task.task_id.clone(),
        status: task.status,
        status_message: task.status_message.clone(),
        created_at: task.created_at.clone(),
        last_updated_at: task.last_updated_at.clone(),
        ttl_ms: task.ttl,
        poll_interval_ms: task.poll_interval,
    }
}
