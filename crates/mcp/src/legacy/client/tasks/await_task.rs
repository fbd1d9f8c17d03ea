use std::sync::Arc;

use callgate_wire::legacy::task::GetTaskParams;
use callgate_wire::legacy::{meta, method as old};
use callgate_wire::{RawJson, Splice, method};
use tokio::runtime::Handle;

use super::task_table::TaskTable;
use crate::error::Error;
use crate::legacy::client::call_table::OldCall;
use crate::legacy::client::transport::{MessageSender, OldRequest, SessionTransport};

/// Makes a call as a task and waits for its result. Dropping the future cancels the task.
pub(crate) async fn await_task(
    transport: Arc<dyn SessionTransport>,
    tasks: Arc<TaskTable>,
    old_call: Arc<OldCall>,
    call: OldRequest,
    messages: MessageSender,
) -> Result<RawJson, Error> {
    let created = transport.request(call, messages.clone()).await?;
    let id = created.at(&["task", "taskId"]);
    let Some(id) = id.as_ref().and_then(RawJson::text) else {
        // The server answered without a task.
        return Ok(created);
    };
    // Before the result is asked for, since only that request lets the server ask its questions.
    tasks.add_waiting_call(&id, old_call);
    let mut awaited = AwaitedTask {
        id: id.into_owned(),
        is_over: false,
        transport,
        tasks,
    };
    let result = about(old::TASKS_RESULT, &awaited.id);
    let result = awaited.transport.request(result, messages).await;
    // After an error too: the server has given its answer, and there is nothing to cancel.
    awaited.is_over = true;
    result.map(|result| without_task(&result))
}

/// Task that a call waits for. Dropping it before the result cancels the task.
struct AwaitedTask {
    id: String,
    is_over: bool,
    transport: Arc<dyn SessionTransport>,
    tasks: Arc<TaskTable>,
}

impl Drop for AwaitedTask {
    fn drop(&mut self) {
        self.tasks.remove_waiting_call(&self.id);
        if let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) {
            // The outcome has no receiver: the call was dropped.
            runtime.spawn(self.transport.ask(about(method::TASKS_CANCEL, &self.id)));
        }
    }
}

/// Request about a task.
pub(super) fn about(method: &str, id: &str) -> OldRequest {
    OldRequest::new(method, &GetTaskParams::new(id))
}

/// Result of a task without the metadata that names the task.
pub(super) fn without_task(result: &RawJson) -> RawJson {
    let plain = Splice::new(result)
        .remove(&["_meta", meta::RELATED_TASK])
        .finish();
    plain.unwrap_or_else(|_| result.clone())
}
