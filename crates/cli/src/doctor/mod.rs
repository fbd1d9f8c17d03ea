//! Checks for the usual mistakes, each with a stable code and the way to repair it.
//!
//! # Layout
//! - [`Finding`], [`Code`]: a mistake that was found, for people and for scripts.
//! - [`programs`]: the programs that servers are started with.
//! - [`machine`]: clock, ports, permissions and proxies of this machine.
//! - [`servers`]: configured servers, before and after an attempt to connect.
//! - [`shared_servers`]: servers that several clients start.
//! - `one_cause`: leaves out findings that another one explains.
//!
//! The checks decide from facts that the command gathers; only [`machine`] and [`programs`] look at the system.

mod finding;
pub(crate) mod machine;
mod one_cause;
pub(crate) mod programs;
pub(crate) mod servers;
pub(crate) mod shared_servers;

pub(crate) use finding::{Code, Finding, Severity};
pub(crate) use one_cause::without_consequences;
