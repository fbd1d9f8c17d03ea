use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::input::{InputRequest, InputResponse, InputResponses};
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{RawJson, RpcError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::config::TaskConfig;
use super::input::TaskInput;
use super::timestamp::timestamp;
use crate::error::Error;
use crate::mutex::Mutex;
use crate::seal::random;
use crate::service::Caller;
use crate::subscribers::{ServerChange, Subscribers};

/// Task, from its start until it expires.
pub(crate) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    pub(super) request_bytes: usize,
    pub(super) expires: Instant,
    subscribers: Subscribers,
    state: Mutex<TaskState>,
    /// Wakes the futures that wait for an answer.
    answered: Notify,
}

struct TaskState {
    /// Task as the protocol writes it, but for its open questions: while it runs, its status is
    /// `Working`.
    task: DetailedTask,
    input: TaskInput,
    /// Aborts the handler.
    handler: Option<AbortHandle>,
}

impl TaskEntry {
    pub(super) fn new(
        caller: &Caller,
        request_bytes: usize,
        config: &TaskConfig,
        subscribers: &Subscribers,
    ) -> Self {
        let id = URL_SAFE_NO_PAD.encode(random::<24>());
        let mut task = Task::new(&id, TaskStatus::Working, timestamp(SystemTime::now()));
        task.ttl_ms = Some(millis(config.ttl));
        task.poll_interval_ms = Some(millis(config.poll_interval));
        Self {
            id,
            caller: caller.clone(),
            request_bytes,
            expires: Instant::now() + config.ttl,
            subscribers: subscribers.clone(),
            state: Mutex::new(TaskState {
                task: task.into(),
                input: TaskInput::default(),
                handler: None,
            }),
            answered: Notify::new(),
        }
    }

    /// Current state of the task, as the protocol writes it.
    pub(crate) fn snapshot(&self) -> DetailedTask {
        let state = self.state.lock();
        let mut task = state.task.clone();
        if state.is_running()
            && let Some(open) = state.input.open()
        {
            task.task.status = TaskStatus::InputRequired;
            task.input_requests = Some(open);
        }
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
        // Made after the question was counted, because its drop takes the count back.
        let _waiter = AnswerWaiter { entry: self, key };
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            // Registered before the answer is looked for, so that no wake-up is missed.
            answered.as_mut().enable();
            let answer = self.state.lock().input.response(key);
            if let Some(answer) = answer {
                return Ok(answer);
            }
            answered.await;
        }
    }

    /// Sets the status message.
    pub(crate) fn set_message(&self, message: &str) {
        self.change(|state| {
            state.task.task.status_message = Some(message.to_owned());
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
        self.state.lock().is_running()
    }

    /// Ends the task with its result or error, unless it has ended already.
    pub(super) fn finish(&self, outcome: Result<RawJson, RpcError>) {
        self.change(|TaskState { task, .. }| {
            match outcome {
                Ok(result) => {
                    task.task.status = TaskStatus::Completed;
                    task.result = Some(result);
                }
                Err(error) => {
                    task.task.status = TaskStatus::Failed;
                    task.task.status_message = Some(error.message.clone());
                    task.error = Some(error);
                }
            }
            true
        });
    }

    /// Cancels the task and drops its handler, unless it has ended already.
    pub(super) fn cancel(&self) {
        self.change(|state| {
            state.task.task.status = TaskStatus::Cancelled;
            if let Some(handler) = state.handler.take() {
                handler.abort();
            }
            true
        });
    }

    /// Sets the handle that aborts the handler.
    pub(super) fn set_handler(&self, handler: AbortHandle) {
        self.state.lock().handler = Some(handler);
    }

    /// Changes a running task, and notifies its subscribers if `change` returns true. A task that has
    /// ended never changes again.
    fn change(&self, change: impl FnOnce(&mut TaskState) -> bool) {
        {
            // Released before the change is published: subscribers take a snapshot.
            let mut state = self.state.lock();
            if !state.is_running() || !change(&mut state) {
                return;
            }
            state.task.task.last_updated_at = timestamp(SystemTime::now());
        }
        self.subscribers
            .publish(&ServerChange::Task(self.id.clone()));
    }
}

impl TaskState {
    fn is_running(&self) -> bool {
        self.task.task.status == TaskStatus::Working
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
