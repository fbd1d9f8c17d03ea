//! Servers of any revision, by how they are reached.
//!
//! # Layout
//! - [`Process`]: a server that runs as a child process.
//! - [`Stream`]: a server at the other end of a pair of byte streams.
//! - [`Config`]: how much is held for a server that speaks an old revision.

pub use crate::legacy::client::{Config, Process, Stream};
