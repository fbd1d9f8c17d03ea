use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use callgate_wire::input::{InputRequest, InputResponse, InputResponses};
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{RawJson, RpcError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::questions::Questions;
use super::timestamp::timestamp;
use crate::error::Error;
use crate::router::listeners::{Change, Listeners};
use crate::service::Caller;

/// One task, from its start until it is forgotten.
pub(crate) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    pub(super) request_bytes: usize,
    pub(super) created: SystemTime,
    pub(super) expires: Instant,
    pub(super) ttl_ms: u64,
    pub(super) poll_interval_ms: u64,
    pub(super) listeners: Listeners,
    pub(super) state: Mutex<State>,
    /// Wakes those who wait for an answer.
    pub(super) answered: Notify,
}

pub(super) struct State {
    phase: Phase,
    updated: SystemTime,
    message: Option<String>,
    questions: Questions,
    /// Stops the handler.
    handler: Option<AbortHandle>,
}

enum Phase {
    Running,
    Completed(RawJson),
    Failed(RpcError),
    Cancelled,
}

impl TaskEntry {
    /// The task as it is now.
    pub(crate) fn snapshot(&self) -> DetailedTask {
        let state = self.state();
        let open = state.questions.open();
        let (status, input_requests, result, error) = match &state.phase {
            Phase::Running if open.is_some() => (TaskStatus::InputRequired, open, None, None),
            Phase::Running => (TaskStatus::Working, None, None, None),
            Phase::Completed(result) => (TaskStatus::Completed, None, Some(result.clone()), None),
            Phase::Failed(error) => (TaskStatus::Failed, None, None, Some(error.clone())),
            Phase::Cancelled => (TaskStatus::Cancelled, None, None, None),
        };
        DetailedTask {
            task: Task {
                task_id: self.id.clone(),
                status,
                status_message: state.message.clone(),
                created_at: timestamp(self.created),
                last_updated_at: timestamp(state.updated),
                ttl_ms: Some(self.ttl_ms),
                poll_interval_ms: Some(self.poll_interval_ms),
            },
            input_requests,
            result,
            error,
        }
    }

    /// Asks the client and waits for the answer. Dropping the future withdraws the question.
    pub(crate) async fn ask(
        &self,
        key: &str,
        request: InputRequest,
    ) -> Result<InputResponse, Error> {
        let mut posed = Ok(());
        self.change(|state| {
            posed = state.questions.pose(key, request);
            posed.is_ok()
        });
        posed?;
        let _posed = Posed { entry: self, key };
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            // Registered before the look at the answer, so that none is missed.
            answered.as_mut().enable();
            let answer = self.state().questions.answer_to(key);
            if let Some(answer) = answer {
                return Ok(answer);
            }
            answered.await;
        }
    }

    /// Says in words how the task is doing.
    pub(crate) fn set_message(&self, message: &str) {
        self.change(|state| {
            state.message = Some(message.to_owned());
            true
        });
    }

    /// Takes answers to open questions, all or none, and ignores others.
    pub(super) fn answer(&self, responses: &InputResponses) -> Result<(), Error> {
        let mut answered = Ok(false);
        self.change(|state| {
            answered = state.questions.answer(responses);
            matches!(answered, Ok(true))
        });
        answered?;
        self.answered.notify_waiters();
        Ok(())
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state().phase, Phase::Running)
    }

    /// Ends the task, unless it has ended already.
    pub(super) fn finish(&self, outcome: Result<RawJson, RpcError>) {
        self.change(|state| {
            match outcome {
                Ok(result) => state.phase = Phase::Completed(result),
                Err(error) => {
                    state.message = Some(error.message.clone());
                    state.phase = Phase::Failed(error);
                }
            }
            true
        });
    }

    /// Drops the handler, unless it is done.
    pub(super) fn cancel(&self) {
        self.change(|state| {
            state.phase = Phase::Cancelled;
            state.stop();
            true
        });
    }

    /// Remembers how to stop the handler.
    pub(super) fn set_handler(&self, handler: AbortHandle) {
        self.state().handler = Some(handler);
    }

    /// Changes a task that is running, and tells those who follow it if anything did change.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        {
            let mut state = self.state();
            if !matches!(state.phase, Phase::Running) || !change(&mut state) {
                return;
            }
            state.updated = SystemTime::now();
        }
        self.listeners.tell(&Change::Task(self.id.clone()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            phase: Phase::Running,
            updated: now,
            message: None,
            questions: Questions::default(),
            handler: None,
        }
    }

    fn stop(&mut self) {
        if let Some(handler) = self.handler.take() {
            handler.abort();
        }
    }
}

/// One who waits for the answer to a question.
struct Posed<'a> {
    entry: &'a TaskEntry,
    key: &'a str,
}

impl Drop for Posed<'_> {
    fn drop(&mut self) {
        self.entry
            .change(|state| state.questions.withdraw(self.key));
    }
}
