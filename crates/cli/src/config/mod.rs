//! The configuration: servers and their settings, in a superset of the `mcpServers` JSON that other clients use.
//!
//! # Layout
//! - [`definition`]: a server as it is written in a file, with variables that are not expanded.
//! - [`template`]: text with variables.

pub(crate) mod definition;
pub(crate) mod template;
