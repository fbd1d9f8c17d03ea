//! Configuration files of clients as text: values with their lines, and edits that leave everything else as it is.
//!
//! # Layout
//! - [`node`]: a value of any of the formats.
//! - `format`: the formats; reads a text, adds one member to it and removes it again.
//! - `json`, `toml`, `yaml`: one format each.

mod format;
mod json;
mod node;
mod toml;
mod yaml;

pub(crate) use format::{DocumentError, Format};
pub(crate) use node::{Node, Value};
