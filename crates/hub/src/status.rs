use std::sync::Arc;

use callgate_mcp::Error;
use tokio::time::Instant;

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
    /// Number of tools that the server offers.
    pub tools: usize,
    /// Number of prompts that the server offers.
    pub prompts: usize,
    /// Number of resources that the server offers.
    pub resources: usize,
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
    /// Not connected; the next attempt is at this time, or when the server is used.
    Failed {
        /// Time of the next attempt; `None` after too many attempts.
        retry_at: Option<Instant>,
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
            Phase::Waiting { retry_at } => Self::Failed {
                retry_at: Some(retry_at),
            },
            Phase::Stopped { .. } => Self::Failed { retry_at: None },
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
            Self::Failed { .. } => "failed",
            Self::NeedsAuth => "needs_auth",
            Self::NeedsClientRegistration => "needs_client_registration",
        }
    }
}

/// Copy of an error that many calls fail with: errors cannot be cloned.
#[derive(Debug, Clone)]
pub(crate) struct FailureReason {
    pub(crate) kind: callgate_mcp::Kind,
    pub(crate) text: Arc<str>,
}

impl FailureReason {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            text: Arc::from(error.to_string()),
        }
    }
}
