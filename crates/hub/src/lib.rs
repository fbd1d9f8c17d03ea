//! Many MCP servers as one: keeps them connected and merges what they offer.
//!
//! A [`Hub`] is a [`Service`](callgate_mcp::Service), like each of its servers.
//!
//! # Layout
//! - [`Hub`]: the servers, and the route of each request to one of them.
//! - [`ServerConfig`], [`Connector`], [`Upstream`]: what a hub needs to know of a server.
//! - [`ToolPolicy`], [`ToolChange`], [`ToolPattern`]: the tools of a server that callers are offered.
//! - [`reconnect`]: when to connect, as a state machine without clock and tasks.
//! - [`ServerStatus`], [`ServerState`], [`StatusChanges`]: the state of a server, for people;
//!   [`ToolNames`]: the names of its tools.
//! - `server`: the task that keeps one server connected, and the way of a call to it; `signals`: what
//!   it is told from outside.
//! - `sync`: keeps the catalog equal to what a connected server offers; `retry_timer`: when to try
//!   again what failed.
//! - `catalog`: the merged lists; `exposed_names`: the names that agents see.
//! - `route`: from a request to the server that it is for; `listen`: subscriptions of callers;
//!   `watched`: the resources that they watch; `task_watch`: their tasks.
//! - [`search`]: items of all servers by words.
//!
//! # Invariants
//! - No server waits for another one: each has a task of its own.
//! - Items stay the bytes that the server sent, but for the name and what the configuration changes;
//!   merging lists reads none of them.
//! - A call is sent again only if the server has certainly not received it, or if repeating it is safe.
//! - Nothing here knows of policies, configuration files or logins.

mod catalog;
mod connector;
mod exposed_names;
mod hub;
mod listen;
mod mutex;
pub mod reconnect;
mod retry_timer;
mod route;
pub mod search;
mod server;
mod server_config;
mod server_name;
mod shared;
mod signals;
mod status;
mod sync;
mod task_watch;
mod tool_pattern;
mod tool_policy;
mod watched;

pub use catalog::ToolNames;
pub use connector::{Connector, Upstream};
pub use exposed_names::Naming;
pub use hub::{Hub, HubConfig, HubError, UnsavedCatalog};
pub use server_config::{ItemNames, ServerConfig};
pub use server_name::{ServerName, ServerNameError};
pub use status::{ServerState, ServerStatus, StatusChanges};
pub use tool_pattern::ToolPattern;
pub use tool_policy::{ToolChange, ToolPolicy};
