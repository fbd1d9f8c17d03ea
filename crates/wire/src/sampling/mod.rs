//! Messages that a server asks the client's model for.

mod message;
mod model;
mod request;

pub use message::{SamplingContent, SamplingMessage};
pub use model::{ModelHint, ModelPreferences};
pub use request::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ToolChoice,
    ToolChoiceMode,
};
