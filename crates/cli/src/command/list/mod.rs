//! `list`: the configured servers, or the tools of one server.
//!
//! # Layout
//! - [`run`]: one of the two. `servers`: the table of servers. `known`: what is known without connecting.
//! - `tools`: the tools of a server.

mod known;
mod servers;
mod tools;

pub(crate) use servers::known_servers;
pub(crate) use tools::{own_tools, run};
