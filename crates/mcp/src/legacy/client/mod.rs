//! Old servers as services.
//!
//! # Layout
//! - `session`: the handshake, and then a service.
//! - `identity`: who we say we are in the handshake.
//! - `config`: how much is held for an old server.
//! - `http`: old servers over HTTP.
//! - `transport`: what carries the messages of one connection to an old server.

mod config;
#[cfg(feature = "http-client")]
mod http;
mod identity;
mod session;
mod transport;

pub use config::Config;
pub(crate) use identity::Identity;
pub(crate) use session::Session;
pub(crate) use transport::{Heard, Hearing, Incoming, Outgoing, Transport};
