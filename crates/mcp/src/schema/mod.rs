//! JSON Schemas of arguments and results: derived from types, bounded in cost, and checked against.
//!
//! # Layout
//! - [`CompiledSchema`]: a schema to check values against. It needs the feature `schema`; without it
//!   nothing is checked, and the general validator is not linked.
//! - [`SchemaError`]: refusal of a schema.
//! - `derive`: schemas of Rust types.
//! - `plain`, `plain_check`: common schemas, and a fast check against them on undecoded JSON.
//! - `cost`, `graph`: bounds on the cost of a check, computed before any value comes.

#[cfg(feature = "schema")]
mod compiled;
#[cfg(feature = "schema")]
mod cost;
mod derive;
mod error;
#[cfg(feature = "schema")]
mod graph;
#[cfg(feature = "schema")]
mod plain;
#[cfg(feature = "schema")]
mod plain_check;
#[cfg(not(feature = "schema"))]
mod unchecked;

pub(crate) use derive::{form_schema, input_schema, output_schema};
pub(crate) use error::MAX_BYTES;

#[cfg(feature = "schema")]
pub use compiled::CompiledSchema;
pub use error::SchemaError;
#[cfg(not(feature = "schema"))]
pub use unchecked::CompiledSchema;
