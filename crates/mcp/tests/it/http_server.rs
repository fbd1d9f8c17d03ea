//! The Streamable HTTP server, spoken to over raw TCP.

mod access;
pub(crate) mod badges;
mod endpoint;
mod guard_matrix;
pub(crate) mod limits;
pub(crate) mod peer;
pub(crate) mod post;
mod smuggling;
mod sockets;
mod source;
mod spec;
mod streams;
pub(crate) mod subject;
mod tool_listing;
mod verifier;
