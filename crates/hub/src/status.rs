use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::{Error, Implementation, Kind, Version};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::catalog::Snapshot;
use crate::reconnect::{Lock, Phase};
use crate::server_name::ServerName;

/// State of one server, for people and for errors.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The server.
    pub name: ServerName,
    /// State of its connection.
    pub state: ServerState,
    /// Reason of the state, if it is not a good one.
    pub reason: Option<Arc<str>>,
    /// Number of attempts to connect since the hub started, the first one included.
    pub attempts: u64,
    /// Number of connections that were made in place of a lost one. A server that was stopped because
    /// it was not used, and is connected when it is used again, does not count.
    pub restarts: u64,
    /// Time since which the server is connected.
    pub connected_since: Option<Instant>,
    /// True if every list was read since the server was connected, or could not be; before, the
    /// numbers below are those of an earlier connection or of a saved catalog.
    pub listed: bool,
    /// Time that the last successful attempt took, until the server had said what it is.
    pub latency: Option<Duration>,
    /// Revision of the protocol that the connected server speaks.
    pub version: Option<Version>,
    /// Root of the process tree of the server, connected or still connecting, if it runs as a process;
    /// see [`Upstream::process_id`](crate::Upstream::process_id).
    pub process_id: Option<u32>,
    /// Start of that process.
    pub process_since: Option<Instant>,
    /// Name and version of the server, as it says of itself.
    pub info: Option<Implementation>,
    /// Instructions of the server for a model.
    pub instructions: Option<String>,
    /// Number of tools that callers see.
    pub tools: usize,
    /// Number of prompts that callers see.
    pub prompts: usize,
    /// Number of resources that callers see.
    pub resources: usize,
    /// Number of resource templates that callers see.
    pub resource_templates: usize,
    /// Own names of the tools whose definition has changed since the saved catalog, or since they
    /// were first listed.
    pub changed_tools: Vec<Arc<str>>,
}

/// State of the connection to one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// Turned off by the configuration.
    Disabled,
    /// Not used yet, or unused for a while: the next use connects.
    Idle,
    /// Connecting, for the first time or again.
    Connecting,
    /// Connected.
    Connected,
    /// Not connected; the hub tries again.
    Failed {
        /// Time of the next attempt.
        retry_at: Instant,
    },
    /// Not connected after too many attempts. The hub tries again when a person asks for it
    /// ([`Hub::retry`](crate::Hub::retry)), when the login or the configuration changes, or when the server is used
    /// after a pause ([`ReconnectPolicy::breaker_pause`](crate::reconnect::ReconnectPolicy::breaker_pause)).
    Stopped {
        /// Number of attempts after which the hub stopped.
        attempts: usize,
    },
    /// A person must log in.
    NeedsAuth,
    /// A person must register a client at the authorization server.
    NeedsClientRegistration,
}

impl ServerState {
    pub(crate) fn of_phase(phase: Phase) -> Self {
        match phase {
            Phase::Disabled => Self::Disabled,
            Phase::Idle => Self::Idle,
            Phase::Connecting => Self::Connecting,
            Phase::Connected { .. } => Self::Connected,
            Phase::Waiting { retry_at } => Self::Failed { retry_at },
            Phase::Stopped { attempts, .. } => Self::Stopped { attempts },
            Phase::Locked(Lock::NeedsAuth) => Self::NeedsAuth,
            Phase::Locked(Lock::NeedsClientRegistration) => Self::NeedsClientRegistration,
        }
    }

    /// The state as configuration files and listings spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed { .. } | Self::Stopped { .. } => "failed",
            Self::NeedsAuth => "needs_auth",
            Self::NeedsClientRegistration => "needs_client_registration",
        }
    }
}

/// Changes of the states and lists of a hub's servers, to be waited for.
///
/// It tells that something changed, not what: [`Hub::statuses`](crate::Hub::statuses) has the rest.
/// Changes that come while the receiver is busy are told once.
#[derive(Clone)]
pub struct StatusChanges {
    pub(crate) states: watch::Receiver<u64>,
    pub(crate) lists: watch::Receiver<Arc<Snapshot>>,
}

impl StatusChanges {
    /// Waits for the next change. Returns false after the hub was dropped. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> bool {
        let changed = tokio::select! {
            changed = self.states.changed() => changed,
            changed = self.lists.changed() => changed,
        };
        // The caller looks at everything after this returns, and so has seen both.
        self.states.mark_unchanged();
        self.lists.mark_unchanged();
        changed.is_ok()
    }
}

impl fmt::Debug for StatusChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusChanges").finish_non_exhaustive()
    }
}

/// Copy of an error that many calls fail with: errors cannot be cloned.
#[derive(Debug, Clone)]
pub(crate) struct FailureReason {
    pub(crate) kind: Kind,
    pub(crate) text: Arc<str>,
}

impl FailureReason {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            text: Arc::from(error.to_string()),
        }
    }

    /// The reason without words of the server and paths of this machine.
    pub(crate) fn public_text(&self) -> &'static str {
        match self.kind {
            Kind::Connect => "the server cannot be reached",
            Kind::Closed => "the server ended or closed the connection",
            Kind::Timeout => "the server did not answer in time",
            Kind::Unauthorized => "the server needs a login",
            _ => "the server failed",
        }
    }
}
