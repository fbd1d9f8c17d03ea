//! The Streamable HTTP server, spoken to over raw TCP.

mod access;
pub(crate) mod badges;
mod guard_matrix;
pub(crate) mod limits;
pub(crate) mod peer;
pub(crate) mod post;
mod smuggling;
mod spec;
mod streams;
mod subject;
mod verifier;
