use std::sync::Arc;
use std::time::Duration;

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::task::{CreateTaskResult as OldCreateTaskResult, Task as OldTask};
use callgate_wire::result::EmptyResult;
use callgate_wire::task::{CreateTaskResult, EXTENSION, GetTaskResult};
use callgate_wire::{Meta, Method, RawJson, RpcError, code, meta, method};
use serde_json::json;
use tokio::time::timeout;

use super::await_task::{about, without_task};
use super::task_table::{Outcome, TaskEntry, modern};
use crate::error::{Error, Kind};
use crate::legacy::client::call_table::{OldCall, Requester};
use crate::legacy::client::convert;
use crate::legacy::client::forward::answers;
use crate::legacy::client::session::SessionShared;
use crate::legacy::client::transport::MessageSender;
use crate::service::{Call, Reply};

/// Time to wait for the result of a task that has ended.
const RESULT_TIMEOUT: Duration = Duration::from_secs(5);

impl SessionShared {
    /// The reply to a call that continues as a task; `None` if it does not.
    pub(crate) fn created_task(
        self: &Arc<Self>,
        call: &Call,
        result: &RawJson,
    ) -> Option<Result<Reply, Error>> {
        let knows_tasks = || Requester::of(call).knows_tasks();
        if call.method.as_str() != method::TOOLS_CALL || !knows_tasks() {
            return None;
        }
        result.at(&["task", "taskId"])?;
        Some(self.keep_task(call, result))
    }

    fn keep_task(self: &Arc<Self>, call: &Call, result: &RawJson) -> Result<Reply, Error> {
        let created: OldCreateTaskResult = result.decode().map_err(|error| {
            let text = format!("server `{}` made a malformed task", self.name);
            Error::new(Kind::Protocol, text)
                .from_upstream(&self.name)
                .with_source(error)
        })?;
        let mut reply = CreateTaskResult::new(modern(&created.task));
        let created_meta = created.meta.unwrap_or_default();
        reply.meta = Some(created_meta.with(meta::SERVER_INFO, &self.server.info));
        let old_call = Arc::new(OldCall::of_task(call));
        let entry = TaskEntry::new(call.cx.caller.clone(), old_call, created.task);
        let entry = Arc::new(entry);
        // The client learns of no task here, so it could never cancel it.
        if let Err(error) = self.tasks.insert(entry.clone(), &self.config) {
            let cancel = about(method::TASKS_CANCEL, &entry.id);
            tokio::spawn(self.transport.ask(cancel));
            return Err(error);
        }
        // A weak reference: the drop of the entry ends the background task.
        let runner = tokio::spawn(run(self.clone(), Arc::downgrade(&entry)));
        // `entry` lives to the end of this function, so its drop finds the handle.
        let _ = entry.runner.set(runner.abort_handle());
        let reply = RawJson::encode(&reply).expect("a task is always JSON");
        Ok(Reply::Task(reply))
    }

    /// Answers a request about a task.
    pub(crate) async fn answer_about_task(&self, call: Call) -> Result<Reply, Error> {
        self.server.check(&call.method)?;
        let entry = self.find_task(&call)?;
        match call.method.as_str() {
            method::TASKS_GET => self.get_task(&entry).await,
            method::TASKS_UPDATE => self.update_task(&entry, &call).await,
            _ => self.cancel_task(&entry).await,
        }
    }

    /// Answers `tasks/get`.
    async fn get_task(&self, entry: &TaskEntry) -> Result<Reply, Error> {
        match self.ask_about(method::TASKS_GET, entry).await {
            // The outcome is known here, even if the server has forgotten the task.
            Err(error) if !entry.has_ended() => return Err(error),
            _ => {}
        }
        // After the timeout the client gets the status only, and asks again.
        let _ = timeout(RESULT_TIMEOUT, entry.settled()).await;
        let mut result = GetTaskResult::new(entry.snapshot());
        result.meta = Some(Meta::new().with(meta::SERVER_INFO, &self.server.info));
        encode(&result)
    }

    /// Answers `tasks/update`.
    async fn update_task(&self, entry: &TaskEntry, call: &Call) -> Result<Reply, Error> {
        for (question, answer) in entry.old_call.answered(&answers(call.params())?) {
            let answer = question.answer(&answer, self.server.version);
            self.reply_sender.send(question.id, Ok(answer)).await;
        }
        acknowledge()
    }

    /// Answers `tasks/cancel`.
    async fn cancel_task(&self, entry: &TaskEntry) -> Result<Reply, Error> {
        match self.ask_about(method::TASKS_CANCEL, entry).await {
            // Else the server refused: the task has ended, or cannot be cancelled.
            Err(error) if error.kind() != Kind::Rpc => return Err(error),
            _ => {}
        }
        acknowledge()
    }

    /// Sends a request about a task, and takes the task from the answer.
    async fn ask_about(&self, method: &str, entry: &TaskEntry) -> Result<(), Error> {
        let task = self.transport.ask(about(method, &entry.id)).await?;
        if let Ok(task) = task.decode::<OldTask>() {
            entry.update(task);
        }
        Ok(())
    }

    fn find_task(&self, call: &Call) -> Result<Arc<TaskEntry>, Error> {
        require_extension(&Requester::of(call))?;
        let id = call.params().get("taskId");
        let id = id.as_ref().and_then(RawJson::text);
        let id = id.ok_or_else(|| Error::invalid_params("`taskId` must be a string"))?;
        let entry = self.tasks.get(&id, &call.cx.caller);
        entry.ok_or_else(|| Error::invalid_params(format!("there is no task `{id}`")))
    }
}

/// Refuses clients that did not declare the extension in this request.
pub(crate) fn require_extension(client: &Requester) -> Result<(), Error> {
    if client.knows_tasks() {
        return Ok(());
    }
    let required = json!({ "extensions": { (EXTENSION): {} } });
    let required = RawJson::encode(&required).expect("a value is always JSON");
    Err(Error::missing_capability(&required))
}

/// Waits for the result of a task. Old servers send the questions of a task only on such a request.
async fn run(shared: Arc<SessionShared>, entry: std::sync::Weak<TaskEntry>) {
    let Some((id, old_call)) = entry
        .upgrade()
        .map(|entry| (entry.id.clone(), entry.old_call.clone()))
    else {
        return;
    };
    let (messages, mut incoming) = MessageSender::channel(shared.config.queued_messages);
    let result = about(old::TASKS_RESULT, &id);
    let mut answer = shared.transport.request(result, messages);
    let answer = loop {
        tokio::select! {
            // Queued messages came before the answer.
            biased;
            Some(message) = incoming.recv() => shared.handle_message(message, Some(&old_call)),
            answer = &mut answer => break answer,
        }
    };
    shared.reply_sender.post_unanswered(old_call.close());
    if let Some(entry) = entry.upgrade() {
        shared.tasks.end(&entry, outcome(&shared, answer));
    }
}

fn outcome(shared: &SessionShared, answer: Result<RawJson, Error>) -> Outcome {
    match answer {
        Ok(result) => {
            let result = without_task(&result);
            Ok(convert::complete(
                &Method::new(method::TOOLS_CALL),
                &result,
                &shared.server.info,
            ))
        }
        Err(error) => {
            let known = error.raw().and_then(|raw| raw.decode().ok());
            Err(known.unwrap_or_else(|| RpcError::new(code::INTERNAL_ERROR, error.to_string())))
        }
    }
}

fn acknowledge() -> Result<Reply, Error> {
    encode(&EmptyResult::default())
}

fn encode(result: &impl serde::Serialize) -> Result<Reply, Error> {
    let result = RawJson::encode(result).expect("a result is always JSON");
    Ok(Reply::Complete(result))
}
