//! JSON Schemas of arguments and results: derived, admitted within limits, and checked against.

mod admission;
mod compiled;
mod derive;
mod graph;
mod growth;
mod plain;

pub(crate) use admission::MAX_BYTES;
pub use admission::SchemaError;
pub(crate) use compiled::CompiledSchema;
pub(crate) use derive::{form_schema, input_schema, output_schema};
