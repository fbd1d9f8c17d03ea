//! The keys of `_meta` that only 2025-11-25 reserves.

/// The task that a message belongs to, a [`super::task::RelatedTaskMetadata`].
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// Message for the model while a task goes on.
pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
