use std::time::Duration;

use callgate_wire::Limits;

use crate::server::SessionLimits;

/// Limits of one side of a line connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineConfig {
    /// Limits of one message from the peer.
    pub limits: Limits,
    /// Maximum number of requests in flight; more are refused as busy.
    pub in_flight: usize,
    /// Maximum bytes of the requests in flight together; a server refuses more as busy.
    pub in_flight_bytes: usize,
    /// Maximum unsent bytes. Above it, a server starts no more requests, and a client delays its
    /// calls; a client whose answers to the server exceed it stops reading until some are sent.
    pub unsent_bytes: usize,
    /// Maximum number of notifications of one request that wait to be sent.
    pub notifications: usize,
    /// Time that a server gives to requests in flight after the end of its input.
    pub grace: Duration,
    /// Limits for a client of an older revision; without them, or without the feature `legacy`, a
    /// server serves none.
    pub sessions: Option<SessionLimits>,
}

impl Default for LineConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            in_flight: 1024,
            in_flight_bytes: 16 * 1024 * 1024,
            unsent_bytes: 1024 * 1024,
            notifications: 64,
            grace: Duration::from_secs(1),
            sessions: Some(SessionLimits::default()),
        }
    }
}
