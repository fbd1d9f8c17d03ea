use std::sync::Arc;

use tokio::sync::watch;

use super::error::TokenError;

/// Handle of the one task that gets another token for all waiting requests (single flight).
///
/// The task goes on if no request waits any more: a refresh token that was spent must not be lost.
#[derive(Debug, Clone)]
pub(super) struct SingleFlight {
    kind: FlightKind,
    end: watch::Receiver<Option<FlightOutcome>>,
}

/// Result of the task.
pub(super) type FlightOutcome = Result<(), Arc<TokenError>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlightKind {
    /// Refresh a token before it expires.
    Refresh,
    /// Replace a refused token.
    Recover,
    /// Get a token with more scopes.
    StepUp,
    /// Log in at the user's request.
    Login,
}

/// Announces the result of the task.
pub(super) type Completion = watch::Sender<Option<FlightOutcome>>;

impl SingleFlight {
    /// Creates the handle and the sender of its result.
    pub(super) fn new(kind: FlightKind) -> (Self, Completion) {
        let (completion, end) = watch::channel(None);
        (Self { kind, end }, completion)
    }

    pub(super) fn kind(&self) -> FlightKind {
        self.kind
    }

    /// Returns true while the task runs.
    pub(super) fn is_in_flight(&self) -> bool {
        // An error means that the task has ended. One that panicked must not block the next one.
        self.end.has_changed().is_ok() && self.end.borrow().is_none()
    }

    /// Waits for the result.
    pub(super) async fn end(mut self) -> FlightOutcome {
        match self.end.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            // The task panicked, or the runtime is shutting down.
            Err(_) => Err(Arc::new(TokenError::Interrupted)),
        }
    }
}
