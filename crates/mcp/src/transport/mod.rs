//! Transports: lines over byte streams, child processes and Streamable HTTP.
//!
//! They speak the newest revision only. A server of any revision is an
//! [`upstream`](crate::upstream).

pub mod child;
mod connection_state;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub mod http;
pub mod line;
pub mod memory;
pub(crate) mod observer;
pub mod stdio;

pub(crate) use connection_state::closed;
pub use connection_state::{CloseReason, ConnectionState};
pub use observer::{MessageObserver, WireMessage};
