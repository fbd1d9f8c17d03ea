use std::time::Duration;

/// How much old clients may hold, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The most HTTP sessions at once.
    pub sessions: usize,
    /// The most HTTP sessions at once of one caller.
    pub sessions_per_caller: usize,
    /// How long an HTTP session may rest.
    pub idle: Duration,
    /// How long an HTTP session may rest before the client says that it is ready.
    pub unused: Duration,
    /// The most requests of one session that are worked on at once.
    pub in_flight: usize,
    /// The most bytes that the requests of one session that are worked on have together.
    pub in_flight_bytes: usize,
    /// The most questions that one session may be asked at once.
    pub questions: usize,
    /// The most tasks of one session, ended ones included.
    pub tasks: usize,
    /// The most messages in one batch.
    pub batch: usize,
    /// The most resources that one session may watch.
    pub subscriptions: usize,
    /// The most times that one request may ask its client for input.
    pub rounds: usize,
    /// How long a client may take to answer a question.
    pub answer: Duration,
    /// The most bytes of events that one session keeps to send again.
    pub replay_bytes: usize,
    /// How long a client should wait before it comes back for the rest of a stream.
    pub retry: Duration,
}

impl Default for Config {
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
