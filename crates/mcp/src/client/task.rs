use std::collections::HashSet;
use std::time::Duration;

use callgate_wire::input::{InputRequests, InputResponses};
use callgate_wire::result::EmptyResult;
use callgate_wire::task::{
    CancelTaskParams, CreateTaskResult, DetailedTask, GetTaskParams, GetTaskResult, Task,
    TaskStatus, UpdateTaskParams,
};
use callgate_wire::tool::{CallToolParams, CallToolResult};
use callgate_wire::{Method, RawJson, method};
use serde::Serialize;
use tokio::time::{sleep, timeout};

use super::request::encode;
use super::typed_client::Client;
use crate::error::{Error, Kind};
use crate::layer::LONGEST;
use crate::service::Reply;

/// Outcome of [`Client::start_tool`]: a result or a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCallOutcome {
    /// The call is over.
    Complete(CallToolResult),
    /// The server runs the call as a task; see [`Client::await_task`].
    Task(CreateTaskResult),
}

/// Poll interval of a task, if the server does not set one.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum poll interval, so that a server that asks for 0 is not flooded.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Tasks extension. All but `start_tool` need a client that was built with
/// [`ClientBuilder::tasks`](super::ClientBuilder::tasks).
impl Client {
    /// Calls a tool; if the server turns the call into a task, returns the task without waiting.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn start_tool(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized + Sync),
    ) -> Result<ToolCallOutcome, Error> {
        let params = encode(&CallToolParams::new(name, encode(arguments)?))?;
        let answer = self
            .request_with_input(&Method::new(method::TOOLS_CALL), &params)
            .await?;
        match answer.reply {
            Reply::Task(task) => Ok(ToolCallOutcome::Task(
                self.decode(method::TOOLS_CALL, &task)?,
            )),
            reply => {
                let result = self.decode(method::TOOLS_CALL, &reply.into_result())?;
                self.check_output(name, result)
                    .map(ToolCallOutcome::Complete)
            }
        }
    }

    /// Polls a task until it has ended, and answers its input requests.
    ///
    /// Dropping the future stops the polling, not the task: see [`Client::cancel_task`].
    ///
    /// # Errors
    /// The task failed, was canceled or could not be polled. A task that takes longer than the
    /// timeout for tasks goes on and can be awaited again.
    pub async fn await_task(&self, task_id: &str) -> Result<CallToolResult, Error> {
        self.await_task_after(Duration::ZERO, task_id).await
    }

    /// Polls a task like [`Self::await_task`], first after `first_wait`.
    pub(super) async fn await_task_after(
        &self,
        first_wait: Duration,
        task_id: &str,
    ) -> Result<CallToolResult, Error> {
        let limit = self.options.task_limit();
        let ended = timeout(limit, self.poll_task(first_wait, task_id)).await;
        ended.unwrap_or_else(|_| {
            let message = format!("task `{task_id}` did not end within {limit:?}");
            Err(self.server_error(Error::new(Kind::Timeout, message)))
        })
    }

    async fn poll_task(&self, mut wait: Duration, task_id: &str) -> Result<CallToolResult, Error> {
        let mut answered = HashSet::new();
        loop {
            sleep(wait).await;
            let task = self.get_task(task_id).await?;
            match task.task.status {
                TaskStatus::Completed => return self.completed(&task),
                TaskStatus::Failed => return Err(self.failed(&task)),
                TaskStatus::Cancelled => {
                    let message = format!("task `{task_id}` was canceled");
                    return Err(self.server_error(Error::new(Kind::Rpc, message)));
                }
                TaskStatus::InputRequired => {
                    let requests = task.input_requests.as_ref();
                    self.answer_task(task_id, requests, &mut answered).await?;
                }
                TaskStatus::Working => {}
                status => {
                    let message = format!("task `{task_id}` has the unknown status {status:?}");
                    return Err(self.server_error(Error::new(Kind::Protocol, message)));
                }
            }
            wait = poll_interval(&task.task);
        }
    }

    /// Answers the input requests of a task that are not answered yet.
    ///
    /// A task may list a request again until it has processed the answer.
    async fn answer_task(
        &self,
        task_id: &str,
        requests: Option<&InputRequests>,
        answered: &mut HashSet<String>,
    ) -> Result<(), Error> {
        let new: Vec<_> = requests
            .into_iter()
            .flat_map(InputRequests::iter)
            .filter(|(key, _)| !answered.contains(*key))
            .collect();
        // The limit holds for all questions of the task together.
        let limit = self.shared.limits.inputs;
        if answered.len() + new.len() > limit {
            let message = format!("task `{task_id}` asks for more than {limit} inputs");
            return Err(self.server_error(Error::new(Kind::InputRequired, message)));
        }
        if new.is_empty() {
            return Ok(());
        }
        answered.extend(new.iter().map(|(key, _)| (*key).to_owned()));
        let responses = self.answer_inputs(new.into_iter()).await?;
        self.update_task(task_id, responses).await
    }

    fn completed(&self, task: &DetailedTask) -> Result<CallToolResult, Error> {
        let result = task.result.as_ref().ok_or_else(|| {
            let message = format!("task `{}` was completed without result", task.task.task_id);
            self.server_error(Error::new(Kind::Protocol, message))
        })?;
        self.decode(method::TASKS_GET, result)
    }

    fn failed(&self, task: &DetailedTask) -> Error {
        match &task.error {
            Some(error) => {
                let raw = RawJson::encode(error).expect("an error is always JSON");
                Error::rpc(&self.shared.server, raw)
            }
            None => {
                let message = format!("task `{}` failed without saying why", task.task.task_id);
                self.server_error(Error::new(Kind::Protocol, message))
            }
        }
    }

    /// Gets the status of a task, and its result or input requests.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_task(&self, task_id: &str) -> Result<DetailedTask, Error> {
        let params = GetTaskParams::new(task_id);
        let result: GetTaskResult = self.request_typed(method::TASKS_GET, &params).await?;
        Ok(result.task)
    }

    /// Answers the input requests of a task.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn update_task(
        &self,
        task_id: &str,
        input_responses: InputResponses,
    ) -> Result<(), Error> {
        let params = UpdateTaskParams::new(task_id, input_responses);
        let _: EmptyResult = self.request_typed(method::TASKS_UPDATE, &params).await?;
        Ok(())
    }

    /// Cancels a task. The task may take a while to stop, or complete before that.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn cancel_task(&self, task_id: &str) -> Result<(), Error> {
        let params = CancelTaskParams::new(task_id);
        let _: EmptyResult = self.request_typed(method::TASKS_CANCEL, &params).await?;
        Ok(())
    }
}

pub(super) fn poll_interval(task: &Task) -> Duration {
    let interval = task
        .poll_interval_ms
        .map_or(POLL_INTERVAL, Duration::from_millis);
    interval.clamp(MIN_POLL_INTERVAL, LONGEST)
}
