//! Catalog: the tools, prompts, resources and templates of all servers as one list each.
//!
//! # Layout
//! - [`Catalog`]: what each server offers, under the names that agents see.
//! - `offer`: the lists of one server.
//! - `item`: one tool, prompt, resource or template as agents see it.
//! - `definitions`: notices tools whose definition changed.
//! - `saved`: the catalog of a server in the form that its owner keeps.
//! - [`Snapshot`]: the merged lists at one time; lists are served from it.
//! - `discover`: the merged answer to `server/discover`.

mod definitions;
mod discover;
mod item;
mod merged;
mod offer;
mod saved;
mod snapshot;

pub(crate) use item::{Item, ListKind};
pub use merged::ToolNames;
pub(crate) use merged::{ADDRESS, Catalog, CatalogSummary, Selection};
pub(crate) use snapshot::Snapshot;
