//! Tasks of 2025-11-25, for clients of the tasks extension and for clients without tasks.
//!
//! # Layout
//! - `call_mode`: the way to call a tool, by the task support of the tool and of the client.
//! - `task_table`: the tasks of clients with the extension.
//! - `methods`: `tasks/get`, `tasks/update` and `tasks/cancel`.
//! - `await_task`: a call that waits for its task, for clients without the extension.

mod await_task;
mod call_mode;
mod methods;
mod task_table;

pub(super) use await_task::await_task;
pub(super) use call_mode::{CallMode, TaskSupportCache};
pub(super) use methods::require_extension;
pub(super) use task_table::TaskTable;
