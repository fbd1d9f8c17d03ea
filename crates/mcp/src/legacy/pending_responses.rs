use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::{Id, RawJson, Response};
use tokio::sync::oneshot;

use crate::mutex::Mutex;

/// Table of the requests that wait for their responses, by number: ours to an old server, or those
/// of a session to an old client.
pub(super) struct PendingResponses {
    max: usize,
    state: Mutex<PendingState>,
}

/// Outcome of a request: a result, or an error as it came.
pub(super) type Outcome = Result<RawJson, RawJson>;

#[derive(Default)]
struct PendingState {
    entries: HashMap<u64, oneshot::Sender<Outcome>>,
    ended: bool,
}

/// Entry of a waiting request; dropping it removes the entry.
pub(super) struct PendingResponse {
    waiting: Arc<PendingResponses>,
    pub(super) number: u64,
    /// Outcome of the request; an error if the session ends before it.
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

/// Reason why a request is not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The session has ended.
    Ended,
    /// Too many requests wait already.
    Full,
}

/// Maximum number of requests that wait for an old server.
const MAX_PENDING: usize = 1024;

impl Default for PendingResponses {
    fn default() -> Self {
        Self::new(MAX_PENDING)
    }
}

impl PendingResponses {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            state: Mutex::default(),
        }
    }

    pub(super) fn enter(self: &Arc<Self>, number: u64) -> Result<PendingResponse, Rejected> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.state.lock();
        if state.ended {
            return Err(Rejected::Ended);
        }
        if state.entries.len() >= self.max {
            return Err(Rejected::Full);
        }
        state.entries.insert(number, sender);
        Ok(PendingResponse {
            waiting: self.clone(),
            number,
            outcome,
        })
    }

    /// Delivers a response to the request that waits for it.
    pub(super) fn answer(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::echoed_number);
        let entry = number.and_then(|number| self.state.lock().entries.remove(&number));
        match entry {
            // The receiver is gone if the request is being dropped at this moment.
            Some(entry) => drop(entry.send(response.outcome)),
            None => tracing::debug!(id = ?response.id, "ignored a response to no request"),
        }
    }

    /// Fails all waiting requests, and those to come.
    #[cfg(feature = "http-client")]
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        // Dropping the senders fails the requests that wait.
        state.entries.clear();
    }
}

impl PendingResponse {
    /// Removes the entry. True if there was no response yet.
    pub(super) fn leave(&self) -> bool {
        let mut state = self.waiting.state.lock();
        state.entries.remove(&self.number).is_some()
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(id: u64) -> Response {
        Response {
            id: Some(Id::number(id)),
            outcome: Ok(RawJson::empty_object()),
        }
    }

    #[tokio::test]
    async fn a_response_reaches_its_request_and_no_other() {
        let waiting = Arc::new(PendingResponses::default());
        let (mut first, mut second) = (waiting.enter(1).unwrap(), waiting.enter(2).unwrap());
        waiting.answer(response(3));
        waiting.answer(response(2));
        waiting.answer(response(2));
        assert_eq!((&mut second.outcome).await, Ok(Ok(RawJson::empty_object())));
        let mut as_string = waiting.enter(3).unwrap();
        waiting.answer(Response {
            id: Some(Id::text("3")),
            ..response(3)
        });
        let outcome = (&mut as_string.outcome).await;
        assert_eq!(outcome, Ok(Ok(RawJson::empty_object())));
        waiting.end();
        assert!((&mut first.outcome).await.is_err());
        assert_eq!(waiting.enter(4).err(), Some(Rejected::Ended));
    }

    #[test]
    fn only_so_many_wait_and_those_that_leave_make_room() {
        let waiting = Arc::new(PendingResponses::default());
        let mut tickets: Vec<_> = (0..MAX_PENDING as u64)
            .map(|number| waiting.enter(number).unwrap())
            .collect();
        assert_eq!(waiting.enter(5000).err(), Some(Rejected::Full));
        tickets.pop();
        assert!(waiting.enter(5001).is_ok());
    }
}
