use std::sync::Arc;

use callgate_wire::RawJson;
use callgate_wire::input::InputResponses;
use callgate_wire::result::EmptyResult;
use callgate_wire::task::{EXTENSION, GetTaskResult};

use super::entry::TaskEntry;
use crate::error::Error;
use crate::router::context::missing_capability;
use crate::router::params;
use crate::router::service::Shared;
use crate::service::{Call, PeerInfo, Reply};

/// Answers `tasks/get`.
pub(crate) fn get(shared: &Shared, call: &Call) -> Result<Reply, Error> {
    let [task_id] = call.params.pick(["taskId"]);
    let entry = find(shared, call, task_id.as_ref())?;
    let task = entry.snapshot();
    shared
        .results
        .complete(&GetTaskResult { task, meta: None }, None)
}

/// Answers `tasks/update`.
pub(crate) fn update(shared: &Shared, call: &Call) -> Result<Reply, Error> {
    let [task_id, responses] = call.params.pick(["taskId", "inputResponses"]);
    let entry = find(shared, call, task_id.as_ref())?;
    let responses: Option<InputResponses> = responses.and_then(|raw| raw.decode().ok());
    let responses =
        responses.ok_or_else(|| Error::invalid_params("`inputResponses` must be an object"))?;
    entry.answer(&responses)?;
    Ok(acknowledgment())
}

/// Answers `tasks/cancel`.
pub(crate) fn cancel(shared: &Shared, call: &Call) -> Result<Reply, Error> {
    let [task_id] = call.params.pick(["taskId"]);
    find(shared, call, task_id.as_ref())?.cancel();
    Ok(acknowledgment())
}

/// Refuses clients that did not declare the extension in this request.
pub(crate) fn require_extension(peer: &PeerInfo) -> Result<(), Error> {
    let path = ["extensions", EXTENSION];
    if peer.declares(&path) {
        return Ok(());
    }
    Err(missing_capability(&path))
}

/// The empty result that an update or a cancellation is answered with.
///
/// It does not name the server: the extension calls it empty, and there are clients that take it by
/// its word.
fn acknowledgment() -> Reply {
    let empty = RawJson::encode(&EmptyResult::default()).expect("an empty result is JSON");
    Reply::Complete(empty)
}

fn find(shared: &Shared, call: &Call, task_id: Option<&RawJson>) -> Result<Arc<TaskEntry>, Error> {
    require_extension(&call.cx.peer)?;
    let task_id = params::text(task_id, "taskId")?;
    let entry = shared.tasks.get(&task_id, &call.cx.caller);
    entry.ok_or_else(|| Error::invalid_params("there is no such task, or it has expired"))
}
