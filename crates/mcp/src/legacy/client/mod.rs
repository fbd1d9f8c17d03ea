//! Old servers as services.
//!
//! # Layout
//! - `session`: the handshake, and then a service; `identity`, `server`, `handshake`: who the two
//!   sides say they are.
//! - `forward`: what becomes of one call; `exchange`: its half at the server; `flight`: the calls
//!   that the server works on; `parked`: those that wait for their clients.
//! - `hear`: what the server says; `question`: what it asks; `unclaimed`: what it asks outside of
//!   any call; `pages`: the pages it wants users to open; `replies`: our answers.
//! - `listen`, `watched`: subscriptions to changes.
//! - `tasks`: calls that go on as tasks.
//! - `convert`: messages of one revision in the terms of another.
//! - `line`: the transport over lines; `era`: which revision a server on lines speaks.
//! - [`Process`], [`Stream`]: servers of any era on lines; `speaker`: what they share.
//! - `config`: how much is held for an old server.
//! - `remote`: a URL of either era; `detect` decides which, `epochs` remembers it, `sessions` holds
//!   the sessions with an old one.
//! - `http`: old servers over HTTP.
//! - `transport`: what carries the messages of one connection to an old server.

mod config;
mod convert;
#[cfg(feature = "http-client")]
mod detect;
#[cfg(feature = "http-client")]
mod epochs;
mod era;
mod exchange;
mod flight;
mod forward;
mod handshake;
mod hear;
#[cfg(feature = "http-client")]
mod http;
mod identity;
mod line;
mod listen;
mod pages;
mod parked;
mod patience;
mod process;
mod question;
#[cfg(feature = "http-client")]
mod remote;
mod replies;
mod server;
mod session;
#[cfg(feature = "http-client")]
mod sessions;
mod speaker;
mod stream;
mod tasks;
mod transport;
mod unclaimed;
mod watched;

pub use config::Config;
pub use era::Era;
pub use process::Process;
#[cfg(feature = "http-client")]
pub use remote::Remote;
pub use stream::Stream;

#[cfg(feature = "http-client")]
pub(crate) use transport::{Heard, Outgoing, Transport};
