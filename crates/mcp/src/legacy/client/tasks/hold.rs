use std::sync::Arc;

use callgate_wire::legacy::task::GetTaskParams;
use callgate_wire::legacy::{meta, method as old};
use callgate_wire::{Method, RawJson, Splice, method};
use tokio::runtime::Handle;

use super::store::Tasks;
use crate::error::Error;
use crate::legacy::client::flight::Flight;
use crate::legacy::client::transport::{Heard, Outgoing, Transport};

/// Makes a call as a task and waits for its result. Dropping the future cancels the task.
pub(crate) async fn hold(
    transport: Arc<dyn Transport>,
    tasks: Arc<Tasks>,
    flight: Arc<Flight>,
    call: Outgoing,
    heard: Heard,
) -> Result<RawJson, Error> {
    let created = transport.request(call, heard.clone()).await?;
    let id = created.at(&["task", "taskId"]);
    let Some(id) = id.as_ref().and_then(RawJson::text) else {
        // The server did not make a task of it.
        return Ok(created);
    };
    tasks.hold(&id, flight);
    let mut held = Held {
        id: id.into_owned(),
        is_over: false,
        transport,
        tasks,
    };
    let result = about(old::TASKS_RESULT, &held.id);
    let result = held.transport.request(result, heard).await;
    held.is_over = true;
    result.map(|result| without_task(&result))
}

/// A task that a call waits for.
struct Held {
    id: String,
    is_over: bool,
    transport: Arc<dyn Transport>,
    tasks: Arc<Tasks>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tasks.release(&self.id);
        if let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) {
            let (heard, _hearing) = Heard::channel(1);
            let cancel = about(method::TASKS_CANCEL, &self.id);
            // Nobody is there to hear how it went.
            runtime.spawn(self.transport.request(cancel, heard));
        }
    }
}

/// A request about a task.
pub(super) fn about(method: &str, id: &str) -> Outgoing {
    Outgoing {
        method: Method::new(method),
        params: RawJson::encode(&GetTaskParams::new(id)).expect("params are always JSON"),
    }
}

/// The result of a task without the name of the task.
pub(super) fn without_task(result: &RawJson) -> RawJson {
    let plain = Splice::new(result)
        .remove(&["_meta", meta::RELATED_TASK])
        .finish();
    plain.unwrap_or_else(|_| result.clone())
}
