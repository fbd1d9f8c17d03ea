use std::time::Duration;

/// How much is held for an old server, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How long the server may take to say which revisions it speaks.
    pub probe: Duration,
    /// How long the handshake may take.
    pub handshake: Duration,
    /// The most calls that may wait for the answers of their callers at once.
    pub parked: usize,
    /// How long such a call waits before it is canceled.
    pub patience: Duration,
    /// How long further questions of one call are gathered before its caller is asked.
    pub gather: Duration,
    /// How long a question outside of any call waits for a call that can carry it.
    pub unclaimed: Duration,
    /// The most such questions that wait at once.
    pub most_unclaimed: usize,
    /// How long a call waits for a user to be done with a page before it is made again.
    pub page: Duration,
    /// The most messages of one stream of the server that may wait to be dealt with.
    pub heard: usize,
    /// The most subscriptions at once.
    pub listeners: usize,
    /// The most tasks that are remembered at once.
    pub tasks: usize,
    /// The most tasks of one caller that are remembered at once.
    pub tasks_per_caller: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(5),
            handshake: Duration::from_secs(60),
            parked: 256,
            patience: Duration::from_secs(10 * 60),
            gather: Duration::from_millis(20),
            unclaimed: Duration::from_secs(10),
            most_unclaimed: 16,
            page: Duration::from_secs(10),
            heard: 256,
            listeners: 256,
            tasks: 256,
            tasks_per_caller: 128,
        }
    }
}
