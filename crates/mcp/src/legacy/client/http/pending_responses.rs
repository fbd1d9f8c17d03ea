use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::{Id, RawJson, Response};
use tokio::sync::oneshot;

use crate::mutex::Mutex;

/// Table of the requests that wait for their responses, by number.
#[derive(Default)]
pub(crate) struct PendingResponses(Mutex<PendingState>);

#[derive(Default)]
struct PendingState {
    entries: HashMap<u64, oneshot::Sender<Result<RawJson, RawJson>>>,
    ended: bool,
}

/// Entry of a waiting request; dropping it removes the entry.
pub(crate) struct PendingResponse {
    waiting: Arc<PendingResponses>,
    number: u64,
    /// Outcome of the request; an error if the session ends before it.
    pub(crate) outcome: oneshot::Receiver<Result<RawJson, RawJson>>,
}

/// Reason why a request is not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The session has ended.
    Ended,
    /// Too many requests wait already.
    Full,
}

/// Maximum number of waiting requests.
const MAX_PENDING: usize = 1024;

impl PendingResponses {
    pub(crate) fn enter(self: &Arc<Self>, number: u64) -> Result<PendingResponse, Rejected> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.0.lock();
        if state.ended {
            return Err(Rejected::Ended);
        }
        if state.entries.len() >= MAX_PENDING {
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
    pub(crate) fn answer(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::as_number);
        let entry = number.and_then(|number| self.0.lock().entries.remove(&number));
        if let Some(entry) = entry {
            entry.send(response.outcome).ok();
        }
    }

    /// Fails all waiting requests, and those to come.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        state.ended = true;
        state.entries.clear();
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.waiting.0.lock().entries.remove(&self.number);
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
