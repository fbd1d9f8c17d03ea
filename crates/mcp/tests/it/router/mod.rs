//! The typed server, called as a service.

mod ask;
mod discover;
mod input;
mod input_state;
mod listen;
mod lists;
mod notifications;
mod prompts;
mod resources;
mod skills;
mod task_input;
mod tasks;
#[cfg(feature = "schema")]
mod tool_output;
mod tools;
