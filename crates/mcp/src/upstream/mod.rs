//! Servers of any revision, by how they are reached.
//!
//! # Layout
//! - [`Config`]: how much is held for a server that speaks an old revision.

pub use crate::legacy::client::Config;
