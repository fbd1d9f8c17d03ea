use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use callgate_wire::input::{InputRequest, InputResponse, InputResponses};
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{RawJson, RpcError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::input::TaskInput;
use super::timestamp::timestamp;
use crate::error::Error;
use crate::service::Caller;
use crate::subscribers::{ServerChange, Subscribers};

/// Task, from its start until it expires.
pub(crate) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    pub(super) request_bytes: usize,
    pub(super) created: SystemTime,
    pub(super) expires: Instant,
    pub(super) ttl_ms: u64,
    pub(super) poll_interval_ms: u64,
    pub(super) subscribers: Subscribers,
    pub(super) state: Mutex<TaskState>,
    /// Wakes the futures that wait for an answer.
    pub(super) answered: Notify,
}

pub(super) struct TaskState {
    phase: TaskPhase,
    updated: SystemTime,
    message: Option<String>,
    input: TaskInput,
    /// Aborts the handler.
    handler: Option<AbortHandle>,
}

enum TaskPhase {
    Running,
    Completed(RawJson),
    Failed(RpcError),
    Cancelled,
}

impl TaskEntry {
    /// Current state of the task, as the protocol writes it.
    pub(crate) fn snapshot(&self) -> DetailedTask {
        let state = self.state();
        let open = state.input.open();
        let (status, input_requests, result, error) = match &state.phase {
            TaskPhase::Running if open.is_some() => (TaskStatus::InputRequired, open, None, None),
            TaskPhase::Running => (TaskStatus::Working, None, None, None),
            TaskPhase::Completed(result) => {
                (TaskStatus::Completed, None, Some(result.clone()), None)
            }
            TaskPhase::Failed(error) => (TaskStatus::Failed, None, None, Some(error.clone())),
            TaskPhase::Cancelled => (TaskStatus::Cancelled, None, None, None),
        };
        let mut task = Task::new(&self.id, status, timestamp(self.created));
        task.status_message.clone_from(&state.message);
        task.last_updated_at = timestamp(state.updated);
        task.ttl_ms = Some(self.ttl_ms);
        task.poll_interval_ms = Some(self.poll_interval_ms);
        let mut task = DetailedTask::from(task);
        (task.input_requests, task.result, task.error) = (input_requests, result, error);
        task
    }

    /// Asks the client and waits for the answer. Dropping the future withdraws the question.
    pub(crate) async fn ask(
        &self,
        key: &str,
        request: InputRequest,
    ) -> Result<InputResponse, Error> {
        let mut added = Ok(());
        self.change(|state| {
            added = state.input.add_waiter(key, request);
            added.is_ok()
        });
        added?;
        let _waiter = AnswerWaiter { entry: self, key };
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            // Registered before the answer is looked for, so that no wake-up is missed.
            answered.as_mut().enable();
            let answer = self.state().input.response(key);
            if let Some(answer) = answer {
                return Ok(answer);
            }
            answered.await;
        }
    }

    /// Sets the status message.
    pub(crate) fn set_message(&self, message: &str) {
        self.change(|state| {
            state.message = Some(message.to_owned());
            true
        });
    }

    /// Stores the answers to open questions, all or none, and ignores others.
    pub(super) fn answer(&self, responses: &InputResponses) -> Result<(), Error> {
        let mut answered = Ok(false);
        self.change(|state| {
            answered = state.input.answer(responses);
            matches!(answered, Ok(true))
        });
        answered?;
        self.answered.notify_waiters();
        Ok(())
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state().phase, TaskPhase::Running)
    }

    /// Ends the task with its result or error, unless it has ended already.
    pub(super) fn finish(&self, outcome: Result<RawJson, RpcError>) {
        self.change(|state| {
            match outcome {
                Ok(result) => state.phase = TaskPhase::Completed(result),
                Err(error) => {
                    state.message = Some(error.message.clone());
                    state.phase = TaskPhase::Failed(error);
                }
            }
            true
        });
    }

    /// Cancels the task and drops its handler, unless it has ended already.
    pub(super) fn cancel(&self) {
        self.change(|state| {
            state.phase = TaskPhase::Cancelled;
            state.stop();
            true
        });
    }

    /// Sets the handle that aborts the handler.
    pub(super) fn set_handler(&self, handler: AbortHandle) {
        self.state().handler = Some(handler);
    }

    /// Changes a running task, and notifies its subscribers if `change` returns true. A task that has
    /// ended never changes again.
    fn change(&self, change: impl FnOnce(&mut TaskState) -> bool) {
        {
            // Released before the change is published: subscribers take a snapshot.
            let mut state = self.state();
            if !matches!(state.phase, TaskPhase::Running) || !change(&mut state) {
                return;
            }
            state.updated = SystemTime::now();
        }
        self.subscribers
            .publish(&ServerChange::Task(self.id.clone()));
    }

    fn state(&self) -> MutexGuard<'_, TaskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskState {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            phase: TaskPhase::Running,
            updated: now,
            message: None,
            input: TaskInput::default(),
            handler: None,
        }
    }

    fn stop(&mut self) {
        if let Some(handler) = self.handler.take() {
            handler.abort();
        }
    }
}

/// Future that waits for the answer to a question. Dropping it withdraws the question.
struct AnswerWaiter<'a> {
    entry: &'a TaskEntry,
    key: &'a str,
}

impl Drop for AnswerWaiter<'_> {
    fn drop(&mut self) {
        self.entry
            .change(|state| state.input.remove_waiter(self.key));
    }
}
