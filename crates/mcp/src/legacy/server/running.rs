use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_wire::Id;
use tokio::task::AbortHandle;

/// The requests of one session that are being worked on.
///
/// A client may use an id for many requests at once, so requests have numbers of their own.
#[derive(Debug)]
pub(super) struct Running {
    most: usize,
    most_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<u64, Entry>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    id: Id,
    bytes: usize,
    abort: AbortHandle,
}

impl Running {
    pub(super) fn new(most: usize, most_bytes: usize) -> Self {
        Self {
            most,
            most_bytes,
            state: Mutex::default(),
        }
    }

    /// Adds the request that `start` starts under the number it is given, if there is room.
    pub(super) fn add(
        &self,
        id: &Id,
        bytes: usize,
        start: impl FnOnce(u64) -> AbortHandle,
    ) -> Result<(), Full> {
        // Held while it starts: the request cannot end before it has been added.
        let mut state = self.state();
        let fits = state.requests.len() < self.most && state.bytes + bytes <= self.most_bytes;
        if !state.requests.is_empty() && !fits {
            return Err(Full);
        }
        let number = state.next;
        state.next += 1;
        state.bytes += bytes;
        let entry = Entry {
            id: id.clone(),
            bytes,
            abort: start(number),
        };
        state.requests.insert(number, entry);
        Ok(())
    }

    /// Speaks for a request for the last time, unless it has been canceled.
    pub(super) fn finish(&self, number: u64, say: impl FnOnce()) {
        let mut state = self.state();
        if let Some(entry) = state.requests.remove(&number) {
            state.bytes -= entry.bytes;
            say();
        }
    }

    /// Ends the request with this id; nothing more is said for it.
    ///
    /// With several of them nobody can tell which is meant, and all go on: a cancellation may
    /// come too late, but must not hit the work of somebody else.
    pub(super) fn cancel(&self, id: &Id) {
        let mut state = self.state();
        let mut meant = state.requests.iter().filter(|(_, entry)| entry.id == *id);
        let (Some((number, _)), None) = (meant.next(), meant.next()) else {
            return;
        };
        let number = *number;
        if let Some(entry) = state.requests.remove(&number) {
            state.bytes -= entry.bytes;
            entry.abort.abort();
        }
    }

    /// Ends all requests.
    pub(super) fn cancel_all(&self) {
        let mut state = self.state();
        state.bytes = 0;
        for (_, entry) in state.requests.drain() {
            entry.abort.abort();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state().requests.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There is no room for another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;
