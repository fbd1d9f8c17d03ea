use std::sync::Arc;

use callgate_wire::task::CreateTaskResult;
use tokio::time::timeout_at;

use crate::error::Error;
use crate::router::handler_call::{HandlerCall, panic_error, run_handler};
use crate::router::input_exchange::HandlerStop;
use crate::router::service::RouterState;
use crate::router::tool::{self, ToolEntry, ToolOutcome};
use crate::server::reply::to_rpc;
use crate::service::{BoxFuture, Reply};

/// Turns a request into a task: replies with the task and runs `handler` in the background, until it
/// returns or the task expires.
pub(crate) fn start(
    router: &Arc<RouterState>,
    tool: Arc<ToolEntry>,
    request: &HandlerCall,
    mut handler: BoxFuture<'static, ToolOutcome>,
) -> Result<Reply, Error> {
    let cx = request.cx.clone();
    let config = router.catalog().tasks;
    let entry = router.tasks.create(
        cx.caller(),
        request.params.as_bytes().len(),
        &config,
        &router.subscribers,
    )?;
    let created = CreateTaskResult::new(entry.snapshot().task);
    // Before the handler runs on: from here on its questions are questions of the task.
    cx.become_task(entry.clone());
    // The background run does not keep the router alive: dropping the router cancels its tasks.
    let (weak, task) = (Arc::downgrade(router), entry.clone());
    let run = async move {
        let ran = timeout_at(task.expires, run_handler(&cx, &mut handler)).await;
        // Nothing of the handler is left when a client sees that the task has ended.
        drop(handler);
        let Some(router) = weak.upgrade() else {
            return;
        };
        let outcome = match ran {
            Ok(Ok(outcome)) => tool::result(&router, &tool, outcome),
            Ok(Err(HandlerStop::Panicked)) => Err(panic_error()),
            Ok(Err(_)) => Err(Error::internal(
                "the handler of a task asked for input outside of the task",
            )),
            Err(_) => Err(Error::internal("the task has expired")),
        };
        task.finish(outcome.map_err(|error| to_rpc(&error)));
    };
    entry.set_handler(tokio::spawn(run).abort_handle());
    router.results.write(&created, None).map(Reply::Task)
}
