//! The revisions before 2026-07-28: handshake, sessions, requests from server to client.
//!
//! Everything else in this crate speaks only the newest revision. Two adapters translate:
//!
//! # Layout
//! - `server` faces old clients: it holds their sessions and calls nothing but a
//!   [`Service`](crate::Service).
//! - `client` faces old servers: it performs the handshake and is itself a service.
//! - `pending_responses`: requests of either that wait for their responses.
//!
//! A relay between an old client and an old server runs through both; a relay between new ones
//! through neither.

#[cfg(feature = "legacy")]
pub(crate) mod client;
#[cfg(feature = "legacy")]
mod pending_responses;
#[cfg(feature = "legacy")]
pub(crate) mod server;
