use std::sync::Arc;

use callgate_wire::result::ResultType;
use callgate_wire::task::{CancelTaskParams, EXTENSION};
use callgate_wire::{Id, Method, RawJson, Request, code, method};
use tokio::runtime::Handle;

use super::desk::Tasks;
use super::methods::{created, encode};
use super::registry::Entry;
use super::wait::Waiting;
use crate::error::Error;
use crate::legacy::server::outlet::Outlet;
use crate::legacy::server::session::Session;
use crate::legacy::server::upstream::Asking;
use crate::notifier::Notifier;

impl Session {
    /// Makes a call as a task that the client does not know, and waits for its result.
    ///
    /// Dropping the future cancels the task.
    pub(in crate::legacy::server) async fn hold(
        &self,
        tasks: &Tasks,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let result = self.drive(&tasks.upstream, request, outlet).await?;
        if ResultType::of(&result).ok() != Some(ResultType::Task) {
            return Ok(result);
        }
        let held = Held {
            tasks,
            id: &request.id,
            entry: Entry::new(0, created(&result)?, None),
        };
        let waiting = Waiting {
            tasks,
            id: &request.id,
            entry: &held.entry,
            related: None,
        };
        self.wait_for(&waiting, outlet).await
    }
}

/// Whether a call was refused since it can only go on as a task.
pub(in crate::legacy::server) fn must_be_a_task(request: &Request, error: &Error) -> bool {
    let required = || {
        error
            .data()?
            .at(&["requiredCapabilities", "extensions", EXTENSION])
    };
    request.method.as_str() == method::TOOLS_CALL
        && error.code() == code::MISSING_REQUIRED_CLIENT_CAPABILITY
        && required().is_some()
}

/// A task that nobody but one call knows.
struct Held<'a> {
    tasks: &'a Tasks,
    id: &'a Id,
    entry: Entry,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.entry.has_ended() {
            return;
        }
        let params = encode(&CancelTaskParams::new(self.entry.task().task_id));
        let asking = Asking {
            id: self.id,
            method: &Method::new(method::TASKS_CANCEL),
            params: &params,
            level: None,
        };
        let cancel = self.tasks.upstream.call(&asking, Notifier::disabled());
        if let (Ok(cancel), Ok(runtime)) = (cancel, Handle::try_current()) {
            // Nobody is there to hear how it went.
            runtime.spawn(cancel);
        }
    }
}
