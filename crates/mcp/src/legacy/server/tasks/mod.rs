//! The tasks of 2025-11-25, made of those of the extension.
//!
//! A call becomes a task of the client only if it asks for one, and always if it does: where the
//! service answers at once, the task is ours and has ended already. A call that can only go on as a
//! task, of a client that asks for none or whose revision has none, is held until the task ends.
//!
//! # Layout
//! - `desk`: the tasks of one session, and the service that works on them.
//! - `methods`: how calls become tasks, and what a client may ask about them.
//! - `look`: how a task is doing; `wait`: until it ends.
//! - `hold`: calls that wait for tasks that their clients do not know.
//! - `registry`: all tasks of a session, within limits.

mod desk;
mod hold;
mod look;
mod methods;
mod registry;
mod wait;

pub(super) use desk::Tasks;
pub(super) use hold::must_be_a_task;
