//! Typed server: tools, prompts and resources are plain async functions.
//!
//! # Layout
//! - [`Router`]: the service (`service`, `builder`); `change`: additions and removals while it runs;
//!   `catalog`: the registered tools, prompts and resources.
//! - [`Handler`]: async functions that answer (`handler`), with shared state (`with_state`);
//!   [`RequestCx`]: their view of the request (`context`).
//! - `tool`, `prompt`, `resource`, `completion`, `list`, `discover`, `listen`: the methods, each with
//!   the results that its handlers can return, such as [`ToolOutput`].
//! - `ask`: input requests to the client, such as elicitation; `input_exchange`: the questions and
//!   answers of one round; `handler_call`: runs a handler until it returns or asks.
//! - `task`, `skill`: the extensions for tasks and skills. `uri_template`: matching of resource templates.
//! - `params`, `reply`: reading of params and writing of results.

mod ask;
mod builder;
mod catalog;
mod change;
mod completion;
mod context;
mod discover;
mod error;
mod handler;
mod handler_call;
mod input_exchange;
mod list;
mod listen;
mod params;
mod prompt;
mod reply;
mod resource;
mod service;
mod skill;
mod task;
mod tool;
mod tool_output;
mod uri_template;
mod with_state;

#[cfg(feature = "legacy")]
pub(crate) use task::timestamp;

pub use crate::schema::SchemaError;
pub use crate::seal::StateKey;
pub use ask::Elicited;
pub use completion::CompletionOutput;
pub use context::RequestCx;
pub use error::RouteError;
pub use handler::{Arguments, Handler, NoArguments, RawArguments};
pub use prompt::PromptOutput;
pub use resource::{RequestedResource, ResourceOutput};
pub use service::Router;
pub use task::{TaskConfig, TaskSupport};
pub use tool::ToolRoute;
pub use tool_output::{Json, ToolError, ToolOutput};
pub use uri_template::UriTemplateError;
pub use with_state::{Stateful, WithState, with};
