//! Catalog: the tools, prompts, resources and templates of all servers as one list each.
//!
//! # Layout
//! - [`Catalog`]: what each server offers, under the names that agents see.
//! - `item`: one tool, prompt, resource or template as agents see it.
//! - [`Snapshot`]: the merged lists at one time; lists are served from it.
//! - `discover`: the merged answer to `server/discover`.

mod discover;
mod item;
mod merged;
mod snapshot;

pub(crate) use item::ListKind;
pub(crate) use merged::Catalog;
pub(crate) use snapshot::Snapshot;
