//! A typed server: a tool is a plain async function.
//!
//! # Layout
//! - [`Router`]: the service; [`ToolRoute`]: a tool with its function.
//! - [`Handler`]: the functions that can answer; [`RequestCx`]: what they know of the request.
//! - [`ToolOutput`], [`PromptOutput`], [`ResourceOutput`], [`CompletionOutput`]: what they can
//!   answer with.

mod ask;
mod builder;
mod catalog;
mod completion;
mod context;
mod contract;
mod dialogue;
mod discover;
mod error;
mod handler;
mod list;
mod listen;
pub(crate) mod listeners;
mod live;
mod output;
mod params;
mod percent;
mod prompt;
mod registry;
mod reply;
mod resource;
mod resource_output;
mod round;
pub(crate) mod schema;
mod service;
mod task;
mod tool;
mod uri_template;

pub(crate) use task::timestamp;

pub use crate::seal::StateKey;
pub use ask::Elicited;
pub use completion::CompletionOutput;
pub use context::RequestCx;
pub use error::RouteError;
pub use handler::{Arguments, Handler, NoArguments, RawArguments};
pub use output::{Json, ToolError, ToolOutput};
pub use prompt::PromptOutput;
pub use resource_output::{Reading, ResourceOutput};
pub use schema::SchemaError;
pub use service::Router;
pub use task::{TaskConfig, TaskSupport};
pub use tool::ToolRoute;
pub use uri_template::UriTemplateError;
