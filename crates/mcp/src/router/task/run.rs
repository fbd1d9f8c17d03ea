use std::sync::{Arc, Weak};

use callgate_wire::task::CreateTaskResult;
use tokio::time::timeout_at;

use super::entry::TaskEntry;
use crate::error::Error;
use crate::router::context::RequestCx;
use crate::router::round::{Ran, Round, drive, panicked};
use crate::router::service::Shared;
use crate::router::tool::{self, ToolEntry, ToolOutcome};
use crate::server::reply::to_rpc;
use crate::service::{BoxFuture, Reply};

/// Lets `handler` go on in the background and answers with the task that it is from now on.
pub(crate) fn start(
    shared: &Arc<Shared>,
    tool: Arc<ToolEntry>,
    round: &Round,
    handler: BoxFuture<'static, ToolOutcome>,
) -> Result<Reply, Error> {
    let cx = &round.cx;
    let config = shared.catalog().tasks;
    let entry = shared.tasks.create(
        cx.caller(),
        round.request_bytes(),
        &config,
        &shared.listeners,
    )?;
    let task = entry.snapshot().task;
    cx.become_task(entry.clone());
    let work = Work {
        shared: Arc::downgrade(shared),
        tool,
        entry: entry.clone(),
        cx: cx.clone(),
        handler,
    };
    entry.set_handler(tokio::spawn(work.run()).abort_handle());
    shared
        .results
        .complete(&CreateTaskResult { task, meta: None }, None)
}

/// A handler that goes on as a task.
struct Work {
    shared: Weak<Shared>,
    tool: Arc<ToolEntry>,
    entry: Arc<TaskEntry>,
    cx: RequestCx,
    handler: BoxFuture<'static, ToolOutcome>,
}

impl Work {
    /// Runs the handler until it answers or the task expires.
    async fn run(mut self) {
        let ran = timeout_at(self.entry.expires, drive(&self.cx, &mut self.handler)).await;
        drop(self.handler);
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let outcome = match ran {
            Ok(Ran::Done(outcome)) => tool::result(&shared, &self.tool, outcome),
            Ok(Ran::Panicked) => Err(panicked()),
            Ok(Ran::Asked(_) | Ran::Detached) => {
                Err(Error::internal("a task asks while it goes on, not before"))
            }
            Err(_) => Err(Error::internal("the task has expired")),
        };
        self.entry.finish(outcome.map_err(|error| to_rpc(&error)));
    }
}
