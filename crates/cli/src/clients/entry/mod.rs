//! Entries of servers in the files of clients: theirs as definitions of ours, and ours in their form.
//!
//! # Layout
//! - `read`: the entry of a client as a definition, with notes about what it leaves out.
//! - `standard`, `codex`, `opencode`, `goose`: the forms of entries.
//! - `members`: typed access to the members of an entry. `oauth`: login settings. `variables`: variables of a client
//!   as ours.
//! - [`own`]: our own entry in the form of a client.

mod codex;
mod goose;
mod members;
mod oauth;
mod opencode;
pub(crate) mod own;
mod read;
mod standard;
mod variables;

pub(crate) use read::{Entry, Unusable, read};
