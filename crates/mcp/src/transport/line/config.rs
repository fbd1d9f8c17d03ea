use std::time::Duration;

use callgate_wire::Limits;

use crate::legacy::server as legacy;

/// How much one side of a line connection may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How large and how deep a message from the peer may be.
    pub limits: Limits,
    /// The most requests that may be in flight; more are refused as busy.
    pub in_flight: usize,
    /// The most bytes that requests in flight may have together; a server refuses more as busy.
    pub in_flight_bytes: usize,
    /// The unsent bytes from which on a server stops working and a client makes calls wait.
    pub unsent_bytes: usize,
    /// The most notifications of one request that may wait to be sent.
    pub notifications: usize,
    /// How long a server goes on with requests in flight once its peer sends no more.
    pub grace: Duration,
    /// How much a client of an older revision may hold; without it a server knows none of them.
    pub legacy: Option<legacy::Config>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            in_flight: 1024,
            in_flight_bytes: 16 * 1024 * 1024,
            unsent_bytes: 1024 * 1024,
            notifications: 64,
            grace: Duration::from_secs(1),
            legacy: Some(legacy::Config::default()),
        }
    }
}
