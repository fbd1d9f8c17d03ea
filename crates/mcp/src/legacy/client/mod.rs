//! Old servers as services.
//!
//! # Layout
//! - `session`: the handshake, and then a service.
//! - `identity`: who we say we are in the handshake.
//! - `config`: how much is held for an old server.
//! - `remote`: a URL of either era; `detect` decides which, `epochs` remembers it, `sessions` holds
//!   the sessions with an old one.
//! - `http`: old servers over HTTP.
//! - `transport`: what carries the messages of one connection to an old server.

mod config;
#[cfg(feature = "http-client")]
mod detect;
#[cfg(feature = "http-client")]
mod epochs;
#[cfg(feature = "http-client")]
mod http;
mod identity;
#[cfg(feature = "http-client")]
mod remote;
mod session;
#[cfg(feature = "http-client")]
mod sessions;
mod transport;

pub use config::Config;
#[cfg(feature = "http-client")]
pub use detect::Era;
pub(crate) use identity::Identity;
#[cfg(feature = "http-client")]
pub use remote::Remote;
pub(crate) use session::Session;
pub(crate) use transport::{Heard, Hearing, Incoming, Outgoing, Transport};
