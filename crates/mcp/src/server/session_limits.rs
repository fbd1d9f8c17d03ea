use std::time::Duration;

/// Limits for clients of revisions before 2026-07-28, which have sessions.
///
/// They count only if the crate is built with the feature `legacy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Maximum number of HTTP sessions. For one more, an idle session of the caller that has the most
    /// is closed; only if there is none, the new one is refused.
    pub sessions: usize,
    /// Maximum number of HTTP sessions of one caller. For one more, an idle one is closed.
    pub sessions_per_caller: usize,
    /// Time after which an unused HTTP session is closed.
    pub idle: Duration,
    /// Time after which an HTTP session is closed whose client never came back after opening it.
    pub unused: Duration,
    /// Maximum number of concurrent requests of one session.
    pub in_flight: usize,
    /// Maximum bytes of the concurrent requests of one session together.
    pub in_flight_bytes: usize,
    /// Maximum number of unanswered questions to one client.
    pub questions: usize,
    /// Maximum number of tasks of one session, finished ones included.
    pub tasks: usize,
    /// Maximum number of messages in one batch.
    pub batch: usize,
    /// Maximum number of resources that one session may subscribe to.
    pub subscriptions: usize,
    /// Maximum number of rounds in which one request may ask its client for input.
    pub rounds: usize,
    /// Time that a client has to answer a question.
    pub answer: Duration,
    /// Maximum bytes of events that one session keeps for clients that reconnect.
    pub replay_bytes: usize,
    /// Time that a client should wait before it reconnects to a stream.
    pub retry: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            sessions: 2048,
            sessions_per_caller: 1024,
            idle: Duration::from_secs(30 * 60),
            unused: Duration::from_secs(60),
            in_flight: 1024,
            in_flight_bytes: 16 * 1024 * 1024,
            questions: 1024,
            tasks: 256,
            batch: 256,
            subscriptions: 256,
            rounds: 16,
            answer: Duration::from_secs(10 * 60),
            replay_bytes: 256 * 1024,
            retry: Duration::from_secs(1),
        }
    }
}
