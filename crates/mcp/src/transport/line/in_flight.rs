use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_wire::Id;
use tokio::task::AbortHandle;

use super::config::Config;

/// The requests that a server is still working on after its first look at them.
///
/// A peer may use an id twice, so requests have numbers of their own.
#[derive(Debug)]
pub(super) struct InFlight {
    most: usize,
    most_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: HashMap<u64, Running>,
    next: u64,
    bytes: usize,
}

/// One request that is being worked on.
#[derive(Debug)]
pub(super) struct Running {
    /// The id that the peer gave it.
    pub(super) id: Id,
    /// The size of the request.
    pub(super) bytes: usize,
    /// Whether the request lasts until somebody ends it.
    pub(super) endless: bool,
    /// Ends the work.
    pub(super) abort: AbortHandle,
}

impl InFlight {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            most: config.in_flight,
            most_bytes: config.in_flight_bytes,
            state: Mutex::default(),
        }
    }

    /// Whether another request of this size may be worked on.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let state = self.state();
        state.running.is_empty()
            || state.running.len() < self.most && state.bytes + bytes <= self.most_bytes
    }

    /// Adds the request that `start` starts under the number it is given.
    pub(super) fn add(&self, start: impl FnOnce(u64) -> Running) {
        // Held while it starts: the request cannot end before it has been added.
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let running = start(number);
        state.bytes += running.bytes;
        state.running.insert(number, running);
    }

    /// Speaks for a request, unless it has been cancelled.
    pub(super) fn speak(&self, number: u64, say: impl FnOnce()) {
        let state = self.state();
        if state.running.contains_key(&number) {
            say();
        }
    }

    /// Speaks for a request for the last time, unless it has been cancelled.
    pub(super) fn finish(&self, number: u64, say: impl FnOnce()) {
        let mut state = self.state();
        if let Some(running) = state.running.remove(&number) {
            state.bytes -= running.bytes;
            say();
        }
    }

    /// Ends the requests that `unwanted` picks; nothing more is said for them.
    pub(super) fn cancel(&self, unwanted: impl Fn(&Running) -> bool) {
        let mut state = self.state();
        let cancelled: Vec<_> = state
            .running
            .extract_if(|_, running| unwanted(running))
            .map(|(_, running)| running)
            .collect();
        for running in cancelled {
            state.bytes -= running.bytes;
            running.abort.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().running.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
