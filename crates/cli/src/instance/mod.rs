//! Running processes of this program that share a data directory: what they serve and which servers they run.
//!
//! # Layout
//! - [`InstanceRecord`]: a process, as it describes itself in a file.
//! - [`Registry`]: the files of all processes. [`OwnRecord`]: the file of this one.
//! - [`Turn`]: the lock under which a process decides which servers it starts.
//! - [`ProcessIdentity`]: a process that is told from a later one with the same number.
//! - [`EarlierProcess`]: a server that is ending, and that its next process waits for.
//! - [`process_table`]: memory and time of processes, where the system tells.

mod earlier_process;
mod identity;
pub(crate) mod process_table;
mod record;
mod registry;
mod turn;

pub(crate) use earlier_process::EarlierProcess;
pub(crate) use identity::ProcessIdentity;
pub(crate) use record::{EndpointAuth, InstanceRecord, SERVE, SERVE_STDIO, ServerRecord};
pub(crate) use registry::{OwnRecord, Registry};
pub(crate) use turn::Turn;
