//! Measures an echo tool on a bare server, on Callgate and on rmcp, side by side.
//!
//! # Layout
//!
//! - [`variant`], [`workload`]: the compared implementations, and the requests
//! - [`payload`]: the bytes of the requests
//! - [`echo`], [`listen`], [`upstream`]: parts of the programs under `src/bin`
//! - [`load`], [`process`]: load generators and server processes
//! - [`throughput`], [`valgrind`]: the two kinds of measurement
//! - [`suite`]: everything that one run measures
//! - [`hop`]: the way of a call through a hub
//! - [`command_line`], [`configured_commands`]: commands of the binary beside other command-line clients;
//!   `running_servers` and `smallest_client` are parts of the latter
//! - [`hubs`]: many servers behind one endpoint, beside other hubs; [`peers`]: programs of others
//! - [`statistics`]: the arithmetic
//! - [`awake`]: keeps the processors from sleeping under load
//! - [`options`]: the parts that one run measures
//! - [`machine`], [`report`]: the page `docs/benchmarks.md`
//!
//! # Invariants
//!
//! - Nothing here fails because a figure is bad: it measures and reports.
//! - Everything stays on loopback and every wait has a limit.

#![expect(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "only the programs of this package use its types"
)]

pub mod awake;
pub mod command_line;
pub mod configured_commands;
pub mod echo;
pub mod hop;
pub mod hubs;
pub mod listen;
pub mod load;
pub mod machine;
pub mod options;
pub mod payload;
pub mod peers;
pub mod process;
pub mod report;
mod running_servers;
mod smallest_client;
pub mod statistics;
pub mod suite;
pub mod throughput;
pub mod upstream;
pub mod valgrind;
pub mod variant;
pub mod workload;
