//! The tasks of 2025-11-25, made of those of the extension.
//!
//! A call becomes a task only if the client asks for it, and always if it does: where the service
//! answers at once, the task is ours and has ended already.
//!
//! # Layout
//! - `desk`: the tasks of one session, and the service that works on them.
//! - `methods`: how calls become tasks, and what a client may ask about them.
//! - `look`: how a task is doing.
//! - `registry`: all tasks of a session, within limits.

mod desk;
mod look;
mod methods;
mod registry;

pub(super) use desk::Tasks;
