//! An authorization server, and an MCP server that wants its tokens, on one port of this machine.
//!
//! - [`Provider`]: starts both; what was asked of them is read there.
//! - [`Settings`]: how they differ from the usual ones.
//! - `http`: the requests and responses, on threads.
//! - `issue`: the endpoints of the authorization server. `resource`: those of the MCP server.

mod http;
mod issue;
mod resource;
mod servers;

pub(crate) use http::{Request, Response, exchange, get};
pub(crate) use issue::EMPLOYEE;
pub(crate) use servers::{Provider, Refusal, Settings};
