//! Speak MCP: one trait that every server, client and relay implements, and the transports.
//!
//! # Layout
//! - [`Service`]: answers MCP requests. Read [`service`](Service) first; all else composes it.
//! - [`Error`]: what failed, whose fault it was, and whether a retry is safe.
//! - [`Notifier`]: the bounded sink for the notifications of one request.
//! - `server`: from a message to a call and back to a message.
//! - [`router`]: a typed server, where a tool is a plain async function.
//! - [`client`]: a typed client over any service.
//! - [`transport`]: stdio, child processes, Streamable HTTP and in-memory pairs.
//!
//! # Invariants
//! - Dropping the future of a call cancels it, here and at the peer.
//! - A service speaks to its caller in the caller's terms: the progress token of the params, the
//!   id of the [`Cx`]. Each hop has ids of its own.
//! - Every queue is bounded, and nobody who reads from a peer waits for a consumer.

pub mod client;
mod error;
mod header_param;
mod notifier;
pub mod router;
mod server;
mod service;
pub mod transport;

pub use callgate_wire as wire;
pub use error::{Error, Kind, Origin, Retry};
pub use header_param::{HeaderParam, HeaderParamError};
pub use notifier::{Notifications, Notifier};
pub use service::{BoxFuture, Call, Caller, Cx, PeerInfo, Reply, Service};
