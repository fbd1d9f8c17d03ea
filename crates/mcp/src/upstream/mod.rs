//! Servers of any revision, by how they are reached.
//!
//! # Layout
//! - [`Process`]: a server that runs as a child process.
//! - [`Stream`]: a server at the other end of a pair of byte streams.
//! - [`Remote`]: a server at a URL, and the [`Era`] that it is found to speak.
//! - [`Config`]: how much is held for a server that speaks an old revision.

pub use crate::legacy::client::{Config, Process, Stream};
#[cfg(feature = "http-client")]
pub use crate::legacy::client::{Era, Remote};
