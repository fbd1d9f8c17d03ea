use std::sync::Arc;
use std::time::Duration;

use callgate_wire::task::{CancelTaskParams, EXTENSION, UpdateTaskParams};
use callgate_wire::{Map, RawJson, code, method};
use tokio::runtime::Handle;

use super::methods::{created, encode};
use super::session_tasks::{SessionTasks, TaskProgress};
use super::task_registry::TaskEntry;
use crate::error::Error;
use crate::legacy::server::client_request::ClientRequest;
use crate::legacy::server::forward::notify_urls_done;
use crate::legacy::server::session::Session;
use crate::service::Reply;

/// Poll interval of a task that names none.
const DEFAULT_POLL: Duration = Duration::from_secs(1);

/// Minimum and maximum of poll intervals. They count whatever the service asks for.
const POLL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

impl Session {
    /// Waits for the result of a task, and passes its questions to the client of `request`. They
    /// carry the metadata `related`, if the client knows the task.
    pub(super) async fn wait_for(
        &self,
        tasks: &SessionTasks,
        request: &ClientRequest,
        entry: &TaskEntry,
        related: Option<&RawJson>,
    ) -> Result<RawJson, Error> {
        let sink = &request.sink;
        let mut opened = Vec::new();
        loop {
            let view = tasks.view(request, entry).await?;
            match view.progress {
                TaskProgress::Completed(result) => {
                    notify_urls_done(&opened, sink).await;
                    return Ok(result);
                }
                TaskProgress::Failed(error) => return Err(Error::rpc(&Arc::from(""), error)),
                TaskProgress::Cancelled => return Err(Error::internal("the task was canceled")),
                TaskProgress::Working => {}
                TaskProgress::InputRequired(requests) => {
                    let claim = entry.claim(&requests);
                    let unasked = pick(&requests, claim.keys());
                    // Questions that another request asks already are left to it.
                    if !claim.keys().is_empty() {
                        let answers = self.ask(&unasked, sink, related).await?;
                        opened.extend(answers.opened);
                        let params = UpdateTaskParams::new(view.task.task_id, answers.responses);
                        tasks.ask(request, method::TASKS_UPDATE, &params).await?;
                        // Only now: if the update fails, the questions may be asked again.
                        claim.done();
                        continue;
                    }
                }
            }
            let wait = view.task.poll_interval.map(Duration::from_millis);
            let (shortest, longest) = POLL;
            tokio::time::sleep(wait.unwrap_or(DEFAULT_POLL).clamp(shortest, longest)).await;
        }
    }
}

/// The members of an object with these keys.
fn pick(object: &RawJson, keys: &[String]) -> RawJson {
    let members = keys.iter().filter_map(|key| Some((key, object.get(key)?)));
    let picked: Map<RawJson> = members.collect();
    encode(&picked)
}

impl Session {
    /// Runs a call as a task that the client does not see, and waits for its result.
    ///
    /// Dropping the future cancels the task.
    pub(in crate::legacy::server) async fn run_as_hidden_task(
        &self,
        tasks: &SessionTasks,
        request: &ClientRequest,
    ) -> Result<Reply, Error> {
        let result = match self.run_rounds(&tasks.upstream, request).await? {
            Reply::Task(result) => result,
            reply => return Ok(reply),
        };
        let held = HiddenTask {
            tasks,
            request,
            entry: TaskEntry::new(0, created(&result)?, None),
        };
        let result = self.wait_for(tasks, request, &held.entry, None).await?;
        Ok(Reply::of_result(result))
    }
}

/// True if the service refused a call because it runs it only as a task.
pub(in crate::legacy::server) fn must_be_a_task(request: &ClientRequest, error: &Error) -> bool {
    let required = || {
        error
            .data()?
            .at(&["requiredCapabilities", "extensions", EXTENSION])
    };
    request.method.as_str() == method::TOOLS_CALL
        && error.code() == code::MISSING_REQUIRED_CLIENT_CAPABILITY
        && required().is_some()
}

/// Task that the client does not see. Dropping it before its end cancels it.
struct HiddenTask<'a> {
    tasks: &'a SessionTasks,
    request: &'a ClientRequest,
    entry: TaskEntry,
}

impl Drop for HiddenTask<'_> {
    fn drop(&mut self) {
        if self.entry.has_ended() {
            return;
        }
        let params = CancelTaskParams::new(self.entry.task().task_id);
        let context = |peer| self.request.context(peer);
        let upstream = &self.tasks.upstream;
        let cancel = upstream.call(context, method::TASKS_CANCEL, &params);
        if let Ok(runtime) = Handle::try_current() {
            // Detached: the call that the task belonged to is gone.
            runtime.spawn(cancel);
        }
    }
}
