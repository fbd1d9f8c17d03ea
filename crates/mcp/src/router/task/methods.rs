use std::sync::Arc;

use callgate_wire::RawJson;
use callgate_wire::input::InputResponses;
use callgate_wire::result::EmptyResult;
use callgate_wire::task::{EXTENSION, GetTaskResult};

use super::entry::TaskEntry;
use crate::error::Error;
use crate::router::context::require_capability;
use crate::router::params;
use crate::router::service::RouterState;
use crate::service::{Call, PeerInfo, Reply};

/// Answers `tasks/get`.
pub(crate) fn get(router: &RouterState, call: &Call) -> Result<Reply, Error> {
    let task = find(router, call)?.snapshot();
    router.results.complete(&GetTaskResult::new(task), None)
}

/// Answers `tasks/update`.
pub(crate) fn update(router: &RouterState, call: &Call) -> Result<Reply, Error> {
    let entry = find(router, call)?;
    let responses = call.params().get("inputResponses");
    let responses: Option<InputResponses> = responses.and_then(|raw| raw.decode().ok());
    let responses =
        responses.ok_or_else(|| Error::invalid_params("`inputResponses` must be an object"))?;
    entry.answer(&responses)?;
    Ok(acknowledgment())
}

/// Answers `tasks/cancel`.
pub(crate) fn cancel(router: &RouterState, call: &Call) -> Result<Reply, Error> {
    find(router, call)?.cancel();
    Ok(acknowledgment())
}

/// Refuses clients that did not declare the tasks extension in this request.
pub(crate) fn require_extension(peer: &PeerInfo) -> Result<(), Error> {
    require_capability(peer, &["extensions", EXTENSION])
}

/// Empty result of `tasks/update` and `tasks/cancel`.
///
/// It has no metadata with the name of the server: the extension calls it empty, and some clients
/// refuse any member.
fn acknowledgment() -> Reply {
    let empty = RawJson::encode(&EmptyResult::default()).expect("an empty result is JSON");
    Reply::Complete(empty)
}

/// Finds the task that the request names.
fn find(router: &RouterState, call: &Call) -> Result<Arc<TaskEntry>, Error> {
    require_extension(call.cx.peer())?;
    let task_id = call.params().get(params::target_member(&call.method));
    let task_id = params::target(&call.method, task_id.as_ref())?;
    let entry = router.tasks.get(&task_id, &call.cx.caller);
    entry.ok_or_else(|| Error::invalid_params("there is no such task, or it has expired"))
}
