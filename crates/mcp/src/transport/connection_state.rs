use std::fmt;
use std::process::ExitStatus;
use std::sync::Arc;

use callgate_wire::{RawJson, Version};
use tokio::sync::watch;

use crate::error::{Error, Kind};

/// State of the connection to a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ConnectionState {
    /// No call was made yet. A child process may run already, but its revision is unknown.
    NotConnected,
    /// The revision is being detected, or a session is being opened.
    Connecting,
    /// The server answers, in this revision.
    Connected {
        /// Revision that the server speaks.
        version: Version,
    },
    /// The connection is closed. Calls fail, unless the server can be connected to again.
    Closed(CloseReason),
}

/// Reason why a connection is closed, or why none could be made.
#[derive(Debug, Clone)]
pub struct CloseReason {
    server: Arc<str>,
    kind: Kind,
    message: String,
    data: Option<RawJson>,
    exit_status: Option<ExitStatus>,
}

impl ConnectionState {
    /// The reason of a closed connection.
    #[must_use]
    pub fn close_reason(&self) -> Option<&CloseReason> {
        match self {
            Self::Closed(reason) => Some(reason),
            _ => None,
        }
    }
}

impl CloseReason {
    pub(crate) fn new(server: &Arc<str>, kind: Kind, message: impl Into<String>) -> Self {
        Self {
            server: server.clone(),
            kind,
            message: message.into(),
            data: None,
            exit_status: None,
        }
    }

    /// The reason of a connection that ended because the server `did` something.
    pub(crate) fn by_server(server: &Arc<str>, kind: Kind, did: &str) -> Self {
        Self::new(server, kind, format!("server `{server}` {did}"))
    }

    /// The reason of a connection that this process closed.
    pub(crate) fn here(server: &Arc<str>) -> Self {
        let text = format!("the connection to `{server}` was closed");
        Self::new(server, Kind::Closed, text)
    }

    /// The reason that `error` gives.
    pub(crate) fn of_error(server: &Arc<str>, error: &Error) -> Self {
        Self {
            data: error.data().cloned(),
            ..Self::new(server, error.kind(), error.to_string())
        }
    }

    /// Adds the exit status of the server's process to a reason, and to its text.
    pub(crate) fn with_exit_status(mut self, status: ExitStatus) -> Self {
        self.message = format!("{} ({status})", self.message);
        self.exit_status = Some(status);
        self
    }

    /// Adds the end of the server's standard error to the text.
    pub(crate) fn with_stderr(mut self, tail: &str) -> Self {
        if !tail.is_empty() {
            self.message = format!("{}; end of its standard error:\n{tail}", self.message);
        }
        self
    }

    /// Kind of failure: [`Kind::Closed`] for a connection that ended.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Exit status of the server's process, if it ran as a child and has exited.
    #[must_use]
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.exit_status
    }

    /// The error that a call fails with for this reason.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let error = Error::new(self.kind, self.message.clone()).from_upstream(&self.server);
        match &self.data {
            Some(data) => error.with_data(data.clone()),
            None => error,
        }
    }
}

/// Waits until `reason` finds the reason of a close in `state`.
pub(crate) async fn closed<T>(
    state: &watch::Sender<T>,
    reason: impl Fn(&T) -> Option<&CloseReason>,
) -> CloseReason {
    let mut state = state.subscribe();
    let closed = state.wait_for(|state| reason(state).is_some()).await;
    let closed = closed.ok().and_then(|state| reason(&state).cloned());
    closed.expect("the sender lives: it is borrowed")
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
