//! The configuration: servers and their settings, in a superset of the `mcpServers` JSON that other clients use.
//!
//! # Layout
//! - `load`: the files that apply here, as one [`Configuration`]. [`places`]: where they are. [`trust`]: project
//!   files that the user trusts.
//! - [`definition`]: a server as it is written in a file. [`template`]: text with variables. [`resolve`]: a server
//!   with the values of its variables.
//! - [`keys`], [`shape`]: the one table of all keys. [`check`]: a text against it. [`text`]: JSON with comments.
//!   [`schema`]: the table as a JSON Schema. [`mistake`]: errors with line, key and next step.
//! - [`read_file`], [`read_server`]: from text to definitions. [`write_server`]: from a definition to JSON.
//! - `process_hash`: which servers can share a process.
//! - [`secret_text`]: definitions for listings, without secrets.
//! - [`edit`]: changes of a file that keep its comments. [`file_write`]: locked and atomic writes. [`digest`]: hashes.

mod check;
pub(crate) mod definition;
pub(crate) mod digest;
pub(crate) mod edit;
mod file_write;
mod keys;
pub(crate) mod load;
pub(crate) mod mistake;
pub(crate) mod places;
mod process_hash;
pub(crate) mod read_file;
mod read_server;
pub(crate) mod resolve;
pub(crate) mod schema;
pub(crate) mod secret_text;
mod shape;
pub(crate) mod template;
mod text;
pub(crate) mod trust;
mod write_server;

pub(crate) use definition::ServerDefinition;
pub(crate) use load::{Configuration, ConfiguredServer, load};
pub(crate) use places::{LoadOptions, Scope};
pub(crate) use text::parse_options;
