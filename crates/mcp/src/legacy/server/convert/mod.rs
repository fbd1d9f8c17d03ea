//! From what the newest revision says to what old clients understand. Pure functions.
//!
//! # Layout
//! - `capabilities`: what either side can do.
//! - `result`: results, with `tool`, `content` and `cursor` for the parts that changed.
//! - `error`: errors.
//! - `question`: what the server asks for.
//! - `task`: tasks.

mod capabilities;
mod content;
mod cursor;
mod error;
mod question;
mod result;
mod task;
mod tool;

pub(super) use capabilities::{client_capabilities, server_capabilities};
pub(super) use cursor::decode_in as decode_cursor;
pub(super) use error::error;
pub(super) use question::{Question, QuestionKind, question};
pub(super) use result::{ServerMeta, remove_meta, result};
pub(super) use task::{finished_task, is_error, related_to, task, with_task_support};
