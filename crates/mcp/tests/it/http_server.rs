//! The Streamable HTTP server, spoken to over raw TCP.

mod peer;
mod post;
mod spec;
mod streams;
mod subject;
