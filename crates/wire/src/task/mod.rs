//! The tasks extension, `io.modelcontextprotocol/tasks`: requests that go on after their result.

mod flat;
mod request;
mod state;

pub use request::{
    CancelTaskParams, CancelTaskResult, CreateTaskResult, GetTaskParams, GetTaskResult,
    TaskNotificationParams, UpdateTaskParams, UpdateTaskResult,
};
pub use state::{DetailedTask, EXTENSION, Task, TaskStatus};
