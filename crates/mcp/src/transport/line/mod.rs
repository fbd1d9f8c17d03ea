//! One message per line over any pair of byte streams.
//!
//! # Layout
//! - [`serve`]: answers the requests of a peer from a service.
//! - [`Connection`]: the other side, a service that asks a peer.
//! - [`Config`]: how much either side may hold.
//! - `lines`, `outbox`: bounded lines in, coalesced lines out.
//! - `exchange`, `in_flight`: one request at the server, and all of them.
//! - `link`, `pending`, `route`: what the calls of a client share, and how answers find them.
//!
//! # Invariants
//! - Whatever a peer sends costs at most the message it is in.
//! - Memory is bounded whether or not the peer reads.
//! - A reader never waits for a consumer.

mod config;
mod connection;
mod exchange;
mod id_finder;
mod in_flight;
mod lines;
mod link;
mod outbox;
mod pending;
mod route;
mod server;

pub(crate) use link::{EndOnDrop, Link, Unwanted};
pub(crate) use pending::End;

pub use config::Config;
pub use connection::Connection;
pub use server::serve;
