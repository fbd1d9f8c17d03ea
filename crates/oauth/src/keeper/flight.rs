use std::sync::Arc;

use tokio::sync::watch;

use super::error::KeeperError;

/// One task that gets another token, which everybody who wants one waits for.
///
/// It goes on if nobody waits any more: a token that was given out is never thrown away.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    kind: Kind,
    end: watch::Receiver<Option<Outcome>>,
}

/// How a flight ended.
pub(super) type Outcome = Result<(), Arc<KeeperError>>;

/// What a flight is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To renew a token that still works.
    Renew,
    /// To replace a token that does not work.
    Recover,
    /// To get a token for more.
    StepUp,
    /// To log in because a person said so.
    LogIn,
}

/// Tells everybody how a flight ended.
pub(super) type Landing = watch::Sender<Option<Outcome>>;

impl Flight {
    /// Begins a flight, whose end the task that carries it out announces.
    pub(super) fn new(kind: Kind) -> (Self, Landing) {
        let (landing, end) = watch::channel(None);
        (Self { kind, end }, landing)
    }

    /// What it is for.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it is still under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.end.has_changed().is_ok() && self.end.borrow().is_none()
    }

    /// Waits for the end.
    pub(super) async fn end(mut self) -> Outcome {
        match self.end.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            // The task panicked, or the runtime is going down.
            Err(_) => Err(Arc::new(KeeperError::Interrupted)),
        }
    }
}
