//! Tasks extension: tools that run in the background.
//!
//! # Layout
//! - [`TaskSupport`], [`TaskConfig`]: settings.
//! - `run`: turns a call into a task.
//! - `entry`: one task and its states; `input`: its input requests and their answers.
//! - `store`: all tasks of a router, within limits.
//! - `methods`: `tasks/get`, `tasks/update` and `tasks/cancel`.

mod config;
mod entry;
mod input;
mod methods;
mod run;
mod store;
mod timestamp;

pub use config::{TaskConfig, TaskSupport};
pub(crate) use entry::TaskEntry;
pub(crate) use methods::{cancel, get, require_extension, update};
pub(crate) use run::start;
pub(crate) use store::TaskStore;
#[cfg(feature = "legacy")]
pub(crate) use timestamp::timestamp;
