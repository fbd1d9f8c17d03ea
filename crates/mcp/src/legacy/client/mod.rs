//! Old servers as services.
//!
//! # Layout
//! - `transport`: what carries the messages of one connection to an old server.

mod transport;

pub(crate) use transport::{Heard, Hearing, Incoming, Outgoing, Transport};
