//! Resources, their templates and contents.

mod contents;
mod item;
mod list;
mod read;

pub use contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use item::{Resource, ResourceTemplate};
pub use list::{
    ListResourceTemplatesParams, ListResourceTemplatesResult, ListResourcesParams,
    ListResourcesResult,
};
pub use read::{ReadResourceParams, ReadResourceResult, ResourceUpdatedParams};
