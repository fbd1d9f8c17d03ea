//! A server on standard input and output.

#[cfg(not(unix))]
mod portable;
mod serve;
#[cfg(unix)]
mod unix;

pub use serve::{serve, serve_with};
