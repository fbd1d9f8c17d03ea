//! Tasks of 2025-11-25 for clients of the extension, and for those who know no tasks.
//!
//! # Layout
//! - `manner`: how a tool is called, by what it and its client say about tasks.
//! - `store`, `entry`: the tasks of clients that know the extension.
//! - `methods`: `tasks/get`, `tasks/update` and `tasks/cancel`.
//! - `hold`: a call that waits for its task, for clients that know none.

mod entry;
mod hold;
mod manner;
mod methods;
mod store;

pub(super) use hold::hold;
pub(super) use manner::{Manner, Tools};
pub(super) use methods::require_extension;
pub(super) use store::Tasks;
