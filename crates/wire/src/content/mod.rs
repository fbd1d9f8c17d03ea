//! Content blocks of tools, prompts and models.

mod annotations;
mod block;
mod media;
mod resource;
mod tool;

pub use annotations::{Annotations, Role};
pub use block::Content;
pub use media::{AudioContent, ImageContent, TextContent};
pub use resource::{EmbeddedResource, ResourceLink};
pub use tool::{ToolResultContent, ToolUseContent};
