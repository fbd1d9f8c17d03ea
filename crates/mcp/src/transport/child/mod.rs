//! A server that runs as a child process and speaks on its standard input and output.
//!
//! # Layout
//! - [`Child`]: the server, a service. Nothing of it outlives the value.
//! - [`ChildConfig`]: what to run, with which environment and limits.
//! - [`Environment`]: what a child may inherit, given as a value.
//! - [`supervisor`]: the small process between us and a child that ends its whole tree.
//!
//! # How much of the tree ends
//! - On Linux with [`ChildConfig::supervisor`]: all of it, however it was forked, and also when
//!   this process is killed.
//! - On other Unix systems, or without a supervisor: the process group of the child, best-effort.
//!   What leaves the group or outlives a killed parent stays.
//! - On other systems: the child itself, when the value is dropped.

mod config;
mod environment;
mod last_words;
mod life;
mod process;
mod program;
pub mod supervisor;
mod tree;

pub use config::{ChildConfig, InheritEnv, Patience, Supervisor};
pub use environment::Environment;
pub use process::Child;
