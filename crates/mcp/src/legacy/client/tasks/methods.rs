use std::sync::Arc;
use std::time::Duration;

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::task::{CreateTaskResult as OldCreateTaskResult, Task as OldTask};
use callgate_wire::result::EmptyResult;
use callgate_wire::task::{CreateTaskResult, EXTENSION, GetTaskResult};
use callgate_wire::{Meta, RawJson, RpcError, code, meta, method};
use serde_json::json;
use tokio::time::timeout;

use super::entry::{Outcome, TaskEntry, modern};
use super::hold::{about, without_task};
use crate::error::{Error, Kind};
use crate::legacy::client::convert;
use crate::legacy::client::flight::{Client, Flight};
use crate::legacy::client::forward::answers;
use crate::legacy::client::session::Shared;
use crate::legacy::client::transport::Heard;
use crate::service::{Call, Reply};

/// How long the result of a task may take when the task is over.
const RESULT: Duration = Duration::from_secs(5);

impl Shared {
    /// The reply to a call that goes on as a task, if it does.
    pub(crate) fn created_task(
        self: &Arc<Self>,
        call: &Call,
        result: &RawJson,
    ) -> Option<Result<Reply, Error>> {
        let client = Client::of(call);
        let is_known = client.knows_tasks() && call.method.as_str() == method::TOOLS_CALL;
        let created = result.get("task").filter(|_| is_known)?;
        created.get("taskId")?;
        Some(self.keep_task(call, client, result))
    }

    fn keep_task(
        self: &Arc<Self>,
        call: &Call,
        client: Client,
        result: &RawJson,
    ) -> Result<Reply, Error> {
        let created: OldCreateTaskResult = result.decode().map_err(|error| {
            let text = format!("server `{}` made a malformed task", self.name);
            Error::new(Kind::Protocol, text)
                .from_upstream(&self.name)
                .with_source(error)
        })?;
        let reply = CreateTaskResult {
            task: modern(&created.task),
            meta: Some(
                created
                    .meta
                    .unwrap_or_default()
                    .with(meta::SERVER_INFO, &self.server.info),
            ),
        };
        let flight = Arc::new(Flight::of_task(call, client));
        let entry = TaskEntry::new(call.cx.caller.clone(), flight, created.task);
        let entry = Arc::new(entry);
        if let Err(error) = self.tasks.insert(entry.clone(), &self.config) {
            let (heard, _hearing) = Heard::channel(1);
            let cancel = about(method::TASKS_CANCEL, &entry.id);
            tokio::spawn(self.transport.request(cancel, heard));
            return Err(error);
        }
        // The runner must not keep the entry: when the entry goes, so does the runner.
        let runner = tokio::spawn(run(self.clone(), Arc::downgrade(&entry)));
        entry.runs_by(runner.abort_handle());
        encode(&reply)
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
        match self.about_task(method::TASKS_GET, entry).await {
            Ok(task) => {
                if let Ok(task) = task.decode::<OldTask>() {
                    entry.update(task);
                }
            }
            Err(error) if !entry.has_ended() => return Err(error),
            // It is known how the task ended, even if the server has forgotten it.
            Err(_) => {}
        }
        // What is not known by then is told the next time.
        let _ = timeout(RESULT, entry.settled()).await;
        encode(&GetTaskResult {
            task: entry.snapshot(),
            meta: Some(Meta::new().with(meta::SERVER_INFO, &self.server.info)),
        })
    }

    /// Answers `tasks/update`.
    async fn update_task(&self, entry: &TaskEntry, call: &Call) -> Result<Reply, Error> {
        for (question, answer) in entry.flight.answered(&answers(&call.params)?) {
            let answer = question.answer(&answer, self.server.version);
            self.replies.send(question.id, Ok(answer)).await;
        }
        acknowledge()
    }

    /// Answers `tasks/cancel`.
    async fn cancel_task(&self, entry: &TaskEntry) -> Result<Reply, Error> {
        match self.about_task(method::TASKS_CANCEL, entry).await {
            Ok(task) => {
                if let Ok(task) = task.decode::<OldTask>() {
                    entry.update(task);
                }
            }
            // A task that is over or cannot be cancelled goes on as it would.
            Err(error) if error.kind() == Kind::Rpc => {}
            Err(error) => return Err(error),
        }
        acknowledge()
    }

    async fn about_task(&self, method: &str, entry: &TaskEntry) -> Result<RawJson, Error> {
        let (heard, _hearing) = Heard::channel(1);
        self.transport
            .request(about(method, &entry.id), heard)
            .await
    }

    fn find_task(&self, call: &Call) -> Result<Arc<TaskEntry>, Error> {
        require_extension(&Client::of(call))?;
        let id = call.params.get("taskId");
        let id = id.as_ref().and_then(RawJson::text);
        let id = id.ok_or_else(|| Error::invalid_params("`taskId` must be a string"))?;
        let entry = self.tasks.get(&id, &call.cx.caller);
        entry.ok_or_else(|| Error::invalid_params(format!("there is no task `{id}`")))
    }
}

/// Refuses clients that did not declare the extension in this request.
pub(crate) fn require_extension(client: &Client) -> Result<(), Error> {
    if client.knows_tasks() {
        return Ok(());
    }
    let required = json!({ "extensions": { (EXTENSION): {} } });
    let required = RawJson::encode(&required).expect("a value is always JSON");
    Err(Error::missing_capability(&required))
}

/// Waits for the result of a task: only somebody who does is asked what the task wants to know.
async fn run(shared: Arc<Shared>, entry: std::sync::Weak<TaskEntry>) {
    let Some((id, flight)) = entry
        .upgrade()
        .map(|entry| (entry.id.clone(), entry.flight.clone()))
    else {
        return;
    };
    let (heard, mut hearing) = Heard::channel(shared.config.heard);
    let result = about(old::TASKS_RESULT, &id);
    let mut answer = shared.transport.request(result, heard);
    let answer = loop {
        tokio::select! {
            biased;
            Some(message) = hearing.recv() => shared.hear(message, Some(&flight)),
            answer = &mut answer => break answer,
        }
    };
    for question in flight.close() {
        let outcome = question.unanswered();
        shared.replies.post(question.id, outcome);
    }
    if let Some(entry) = entry.upgrade() {
        entry.end(outcome(&shared, answer));
    }
}

fn outcome(shared: &Shared, answer: Result<RawJson, Error>) -> Outcome {
    match answer {
        Ok(result) => {
            let result = without_task(&result);
            Ok(convert::complete(
                method::TOOLS_CALL,
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
