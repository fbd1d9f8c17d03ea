use std::time::Duration;

use callgate_wire::capabilities::ClientCapabilities;

use crate::seal::StateKey;

/// Timeouts of detection, and limits of what is kept for a server of an old revision.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// Time to wait for the answer to `server/discover` before the handshake of the old revisions
    /// is tried. A later answer still counts while the handshake waits for its own.
    pub discover_timeout: Duration,
    /// Timeout of the handshake with an old server, and of small requests to it.
    pub handshake_timeout: Duration,
    /// Maximum number of calls that are suspended while their clients give input.
    pub suspended_calls: usize,
    /// Maximum number of suspended calls of one caller.
    pub suspended_calls_per_caller: usize,
    /// Timeout of a suspended call. After it, the question of the server is refused.
    pub input_timeout: Duration,
    /// Time to collect further questions of one call before its client is asked.
    pub input_gathering: Duration,
    /// Maximum number of questions outside of any call that wait for a call to carry them.
    pub unassigned_questions: usize,
    /// Timeout of such a question.
    pub unassigned_timeout: Duration,
    /// Time to wait for the server to confirm that the user is done with a URL, before the call
    /// that needs it is made again.
    pub url_timeout: Duration,
    /// Maximum number of unhandled messages on one stream of the server; more are dropped.
    pub queued_messages: usize,
    /// Maximum number of subscriptions.
    pub subscriptions: usize,
    /// Maximum number of subscriptions of one caller.
    pub subscriptions_per_caller: usize,
    /// Maximum number of remembered tasks.
    pub tasks: usize,
    /// Maximum number of remembered tasks of one caller.
    pub tasks_per_caller: usize,
    /// Client capabilities that are declared to a process. An old one learns them once, in the
    /// handshake. `None` declares everything that a relay can pass on to its clients; a program that
    /// answers questions of the server itself lists those that it can answer.
    pub capabilities: Option<ClientCapabilities>,
    /// Key that seals the state of suspended calls; random where there is none. Processes that
    /// share a key open each other's states.
    pub state_key: Option<StateKey>,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            discover_timeout: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(60),
            suspended_calls: 256,
            suspended_calls_per_caller: 128,
            input_timeout: Duration::from_secs(10 * 60),
            input_gathering: Duration::from_millis(20),
            unassigned_questions: 16,
            unassigned_timeout: Duration::from_secs(10),
            url_timeout: Duration::from_secs(10),
            queued_messages: 256,
            subscriptions: 256,
            subscriptions_per_caller: 128,
            tasks: 256,
            tasks_per_caller: 128,
            capabilities: None,
            state_key: None,
        }
    }
}
