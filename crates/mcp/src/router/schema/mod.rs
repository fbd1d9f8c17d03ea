//! JSON Schemas of arguments and results: derived, admitted within limits, and checked against.

mod admission;
mod arguments;
mod derive;
mod graph;
mod growth;

pub use admission::SchemaError;
pub(crate) use arguments::ArgumentSchema;
pub(crate) use derive::{form_schema, input_schema, output_schema};
