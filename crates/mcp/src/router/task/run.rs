use std::sync::{Arc, Weak};

use callgate_wire::task::CreateTaskResult;
use tokio::time::timeout_at;

use super::entry::TaskEntry;
use crate::error::Error;
use crate::router::context::RequestCx;
use crate::router::handler_call::{HandlerCall, panic_error, run_handler};
use crate::router::input_exchange::HandlerStop;
use crate::router::service::RouterState;
use crate::router::tool::{self, ToolEntry, ToolOutcome};
use crate::server::reply::to_rpc;
use crate::service::{BoxFuture, Reply};

/// Turns a request into a task: replies with the task and runs `handler` in the background.
pub(crate) fn start(
    router: &Arc<RouterState>,
    tool: Arc<ToolEntry>,
    request: &HandlerCall,
    handler: BoxFuture<'static, ToolOutcome>,
) -> Result<Reply, Error> {
    let cx = &request.cx;
    let config = router.catalog().tasks;
    let entry = router.tasks.create(
        cx.caller(),
        request.request_bytes(),
        &config,
        &router.subscribers,
    )?;
    let task = entry.snapshot().task;
    cx.become_task(entry.clone());
    let run = TaskRun {
        router: Arc::downgrade(router),
        tool,
        entry: entry.clone(),
        cx: cx.clone(),
        handler,
    };
    entry.set_handler(tokio::spawn(run.run()).abort_handle());
    let created = CreateTaskResult::new(task);
    router.results.write(&created, None).map(Reply::Task)
}

/// Background run of a handler.
///
/// It does not keep the router alive: dropping the router cancels its tasks.
struct TaskRun {
    router: Weak<RouterState>,
    tool: Arc<ToolEntry>,
    entry: Arc<TaskEntry>,
    cx: RequestCx,
    handler: BoxFuture<'static, ToolOutcome>,
}

impl TaskRun {
    /// Runs the handler until it returns or the task expires.
    async fn run(mut self) {
        let ran = timeout_at(self.entry.expires, run_handler(&self.cx, &mut self.handler)).await;
        drop(self.handler);
        let Some(router) = self.router.upgrade() else {
            return;
        };
        let outcome = match ran {
            Ok(Ok(outcome)) => tool::result(&router, &self.tool, outcome),
            Ok(Err(HandlerStop::Panicked)) => Err(panic_error()),
            Ok(Err(_)) => Err(Error::internal(
                "the handler of a task asked for input outside of the task",
            )),
            Err(_) => Err(Error::internal("the task has expired")),
        };
        self.entry.finish(outcome.map_err(|error| to_rpc(&error)));
    }
}
