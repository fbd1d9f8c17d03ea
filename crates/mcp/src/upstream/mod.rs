//! Servers of any revision, by how they are reached.
//!
//! # Layout
//! - [`Remote`]: a server at a URL.
//! - [`Process`]: a server that runs as a child process.
//! - [`Stream`]: a server at the other end of a pair of byte streams.
//! - [`Era`]: which family of revisions a server speaks.
//! - [`Config`]: how much is held for a server that speaks an old revision.

#[cfg(feature = "http-client")]
pub use crate::legacy::client::Remote;
pub use crate::legacy::client::{Config, Era, Process, Stream};
