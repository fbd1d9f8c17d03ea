//! Tasks of 2025-11-25, made of those of the extension.
//!
//! A call becomes a task of the client only if it asks for one, and always if it does: if the
//! service answers at once, the task is finished from the start. A call that the service runs only
//! as a task, by a client that did not ask for one or whose revision has none, runs as a task that
//! the client does not see.
//!
//! # Layout
//! - `session_tasks`: the tasks of one session, and requests to the service about them.
//! - `methods`: calls that become tasks, and the methods of a client on its tasks.
//! - `task_wait`: waits for the result of a task, answering its questions.
//! - `task_registry`: all tasks of a session, within limits.

mod methods;
mod session_tasks;
mod task_registry;
mod task_wait;

pub(super) use session_tasks::SessionTasks;
pub(super) use task_wait::must_be_a_task;
