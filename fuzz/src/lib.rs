//! What the fuzz targets share: a second opinion on JSON, from `serde_json`.

mod members;

pub use members::members;
