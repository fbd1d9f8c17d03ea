//! How messages travel: lines over byte streams, and Streamable HTTP.

pub mod child;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub mod http;
pub mod line;
pub mod memory;
pub mod stdio;
