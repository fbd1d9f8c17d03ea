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

use super::answer::Answer;
use super::ask::encode;
use super::exchange::LONGEST;
use super::handle::Client;
use crate::error::{Error, Kind};

/// How a tool call ended, or goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// The call is over.
    Done(CallToolResult),
    /// The server goes on in the background; see [`Client::await_task`].
    Task(CreateTaskResult),
}

/// How long to wait between two looks at a task, if the server does not say.
const POLL: Duration = Duration::from_secs(1);
/// The shortest wait between two looks at a task, whatever the server says.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// The tasks extension. All but `start_tool` need a client that was built to allow tasks.
impl Client {
    /// Calls a tool; if the server makes a task of the call, the task comes back.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn start_tool(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized + Sync),
    ) -> Result<Started, Error> {
        let params = encode(&CallToolParams::new(name, encode(arguments)?))?;
        let driven = self
            .drive(&Method::new(method::TOOLS_CALL), &params)
            .await?;
        match driven.answer {
            Answer::Task(task) => Ok(Started::Task(self.decode(method::TOOLS_CALL, &task)?)),
            answer => {
                let result = self.decode(method::TOOLS_CALL, &answer.into_result())?;
                self.checked(name, result).map(Started::Done)
            }
        }
    }

    /// Waits until a task has ended, and gives it the input it asks for.
    ///
    /// Dropping the future stops the waiting, not the task: see [`Client::cancel_task`].
    ///
    /// # Errors
    /// The error that the task ended with, or why it could not be waited for. A task that takes
    /// longer than the timeout for tasks goes on and can be waited for again.
    pub async fn await_task(&self, task_id: &str) -> Result<CallToolResult, Error> {
        self.await_task_after(Duration::ZERO, task_id).await
    }

    /// Waits for a task that has just been made.
    pub(super) async fn await_new_task(&self, task: &Task) -> Result<CallToolResult, Error> {
        self.await_task_after(poll_interval(task), &task.task_id)
            .await
    }

    async fn await_task_after(
        &self,
        first_wait: Duration,
        task_id: &str,
    ) -> Result<CallToolResult, Error> {
        let limit = self.options.timeouts.task.min(LONGEST);
        let ended = timeout(limit, self.follow_task(first_wait, task_id)).await;
        ended.unwrap_or_else(|_| {
            let message = format!("task `{task_id}` did not end within {limit:?}");
            Err(self.of_server(Error::new(Kind::Timeout, message)))
        })
    }

    async fn follow_task(
        &self,
        mut wait: Duration,
        task_id: &str,
    ) -> Result<CallToolResult, Error> {
        let mut answered = HashSet::new();
        loop {
            sleep(wait).await;
            let task = self.get_task(task_id).await?;
            match task.task.status {
                TaskStatus::Completed => return self.completed(&task),
                TaskStatus::Failed => return Err(self.failed(&task)),
                TaskStatus::Cancelled => {
                    let message = format!("task `{task_id}` was canceled");
                    return Err(self.of_server(Error::new(Kind::Rpc, message)));
                }
                TaskStatus::InputRequired => {
                    let requests = task.input_requests.as_ref();
                    self.feed_task(task_id, requests, &mut answered).await?;
                }
                TaskStatus::Working => {}
            }
            wait = poll_interval(&task.task);
        }
    }

    /// Gives a task the input that it has not been given yet.
    ///
    /// A task may list a request again until it has seen the answer.
    async fn feed_task(
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
        let limit = self.shared.limits.inputs;
        if answered.len() + new.len() > limit {
            let message = format!("task `{task_id}` asks for more than {limit} inputs");
            return Err(self.of_server(Error::new(Kind::InputRequired, message)));
        }
        if new.is_empty() {
            return Ok(());
        }
        answered.extend(new.iter().map(|(key, _)| (*key).to_owned()));
        let responses = self.answer_each(new.into_iter()).await?;
        self.update_task(task_id, responses).await
    }

    fn completed(&self, task: &DetailedTask) -> Result<CallToolResult, Error> {
        let result = task.result.as_ref().ok_or_else(|| {
            let message = format!("task `{}` was completed without result", task.task.task_id);
            self.of_server(Error::new(Kind::Protocol, message))
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
                self.of_server(Error::new(Kind::Protocol, message))
            }
        }
    }

    /// Asks how a task is doing.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_task(&self, task_id: &str) -> Result<DetailedTask, Error> {
        let params = GetTaskParams::new(task_id);
        let result: GetTaskResult = self.ask(method::TASKS_GET, &params).await?;
        Ok(result.task)
    }

    /// Gives a task the input it waits for.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn update_task(
        &self,
        task_id: &str,
        input_responses: InputResponses,
    ) -> Result<(), Error> {
        let params = UpdateTaskParams {
            meta: None,
            task_id: task_id.to_owned(),
            input_responses,
        };
        let _: EmptyResult = self.ask(method::TASKS_UPDATE, &params).await?;
        Ok(())
    }

    /// Asks a task to stop. The task may take a while to do so, or end otherwise.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn cancel_task(&self, task_id: &str) -> Result<(), Error> {
        let params = CancelTaskParams::new(task_id);
        let _: EmptyResult = self.ask(method::TASKS_CANCEL, &params).await?;
        Ok(())
    }
}

fn poll_interval(task: &Task) -> Duration {
    let asked = task.poll_interval_ms.map_or(POLL, Duration::from_millis);
    asked.clamp(SHORTEST_POLL, LONGEST)
}
