//! Measures an echo tool on a bare server, on Callgate and on rmcp, side by side.
//!
//! # Layout
//!
//! - [`variant`]: the compared servers
//! - [`payload`]: the request that all of them answer
//! - [`echo`], [`listen`]: the servers under `src/bin`
//! - [`load`], [`process`]: load generators and server processes
//! - [`throughput`], [`valgrind`]: the two kinds of measurement
//! - [`relay`]: memory of the relay, which needs an upstream
//! - [`statistics`]: the arithmetic
//! - [`awake`]: keeps the processors from sleeping under load
//! - [`machine`], [`report`]: the page `docs/benchmarks.md`
//!
//! # Invariants
//!
//! - Nothing here fails because a figure is bad: it measures and reports.
//! - Everything stays on loopback and every wait has a limit.

pub mod awake;
pub mod echo;
pub mod listen;
pub mod load;
pub mod machine;
pub mod payload;
pub mod process;
pub mod relay;
pub mod report;
pub mod statistics;
pub mod throughput;
pub mod valgrind;
pub mod variant;
