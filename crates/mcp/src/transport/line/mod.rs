//! One message per line over any pair of byte streams.
//!
//! # Layout
//! - [`serve`]: answers the requests of a peer from a service.
//! - [`ModernConnection`]: the client side, a service.
//! - [`LineConfig`]: limits of either side.
//! - `lines`, `outbox`: bounded lines in, coalesced lines out.
//! - `server_call`: one request at the server.
//! - `link`: the client side, shared by its calls; `pending`: the calls that wait for answers;
//!   `route`: from a message to the call it is for.
//!
//! # Invariants
//! - Whatever a peer sends costs at most the message it is in.
//! - Memory is bounded whether or not the peer reads.
//! - A reader never waits for a consumer.

mod config;
mod connection;
mod id_finder;
mod lines;
mod link;
mod outbox;
mod pending;
mod route;
mod server;
mod server_call;

pub(crate) use link::{CloseOnDrop, Link, OnDrop};
#[cfg(feature = "legacy")]
pub(crate) use server::LineServer;
pub(crate) use server::LineSessions;

pub use config::LineConfig;
pub use connection::ModernConnection;
pub use server::serve;
