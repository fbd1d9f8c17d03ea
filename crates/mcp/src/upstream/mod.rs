//! Servers of any revision, by how they are reached.
//!
//! # Layout
//! - [`Remote`]: a server at a URL, and the [`Era`] that it is found to speak.
//! - [`Config`]: how much is held for a server that speaks an old revision.

pub use crate::legacy::client::Config;
#[cfg(feature = "http-client")]
pub use crate::legacy::client::{Era, Remote};
