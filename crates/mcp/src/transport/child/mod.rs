//! A server that runs as a child process and speaks on its standard input and output.
//!
//! # Layout
//! - [`ModernChild`]: the service. No process of it outlives the value.
//! - [`ChildConfig`]: command line, environment and limits.
//! - [`Environment`]: variables that a child may inherit, given as a value.
//! - [`supervisor`]: the small process above the server that ends its whole tree.
//! - `lifecycle`: from the start to the exit; `stderr_tail`, `process_tree`, `tree_mark`: its parts.
//! - `program`: the lookup in `PATH`.
//!
//! # Part of the tree that ends
//! - On Linux with [`ChildConfig::supervisor`]: all of it, however it was forked, and also when
//!   this process is killed. If the supervisor itself is killed: the program, and best-effort the
//!   rest.
//! - On other Unix systems, or without a supervisor: the process group of the child, best-effort.
//!   Processes that left the group, or whose parent was killed, stay.
//! - On other systems: the child itself, when the value is dropped.

mod config;
mod environment;
mod lifecycle;
mod modern_child;
mod process_tree;
mod program;
mod stderr_tail;
pub mod supervisor;
mod tree_mark;

pub use config::{ChildConfig, CloseBy, ExitTimeouts, InheritEnv, Supervisor};
pub use environment::Environment;
pub use modern_child::ModernChild;
pub use stderr_tail::STDERR_TARGET;
