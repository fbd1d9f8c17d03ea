use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// When requests waited for the authorizer, and maybe for a person, instead of for the server.
#[derive(Debug, Default)]
pub(super) struct HoldUps(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    going_on: usize,
    last_end: Option<Instant>,
}

/// One request waits; until this is dropped.
pub(super) struct HoldUp<'a>(&'a HoldUps);

impl HoldUps {
    pub(super) fn begin(&self) -> HoldUp<'_> {
        self.state().going_on += 1;
        HoldUp(self)
    }

    /// Until when any request waited: until now, if one still does.
    pub(super) fn until(&self) -> Option<Instant> {
        let state = self.state();
        match state.going_on {
            0 => state.last_end,
            _ => Some(Instant::now()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HoldUp<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.going_on -= 1;
        state.last_end = Some(Instant::now());
    }
}
