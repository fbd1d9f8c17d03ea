//! Tools that go on in the background: the tasks extension.
//!
//! # Layout
//! - [`TaskSupport`], [`TaskConfig`]: what a server decides.
//! - `entry`: one task and its states; `questions`: what it asks its client.
//! - `store`: all tasks, within limits.
//! - `run`: how a call becomes a task.
//! - `methods`: `tasks/get`, `tasks/update` and `tasks/cancel`.

mod config;
mod entry;
mod methods;
mod questions;
mod run;
mod store;
mod timestamp;

pub use config::{TaskConfig, TaskSupport};
pub(crate) use entry::TaskEntry;
pub(crate) use methods::{cancel, get, require_extension, update};
pub(crate) use run::start;
pub(crate) use store::TaskStore;
pub(crate) use timestamp::timestamp;
