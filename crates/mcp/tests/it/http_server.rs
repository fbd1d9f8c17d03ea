//! The Streamable HTTP server, spoken to over raw TCP.

mod access;
mod guard_matrix;
mod limits;
mod peer;
mod post;
mod smuggling;
mod spec;
mod streams;
mod subject;
