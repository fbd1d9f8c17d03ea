//! Other programs that use MCP servers: their servers for `import`, and ourselves in their files for `connect`.
//!
//! # Layout
//! - [`table`]: all clients, as data in `clients.json`. [`places`]: the directories of this user.
//! - [`document`]: files as text. [`entry`]: servers in them.
//! - [`servers`]: all servers in the files of a client. [`import_plan`]: the servers that our configuration gets.
//! - `file`: bounded reads and atomic writes. [`connection`]: our entry in the file of a client, with its backup.
//!   [`diff`]: the lines that an edit changes.

pub(crate) mod connection;
pub(crate) mod diff;
pub(crate) mod document;
#[cfg(test)]
mod edits;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod import_plan;
pub(crate) mod places;
#[cfg(test)]
mod samples;
pub(crate) mod servers;
pub(crate) mod table;
