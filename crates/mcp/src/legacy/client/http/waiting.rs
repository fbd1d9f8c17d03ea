use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::{Id, RawJson, Response};
use tokio::sync::oneshot;

/// The requests that wait for their responses, by number.
#[derive(Default)]
pub(super) struct Waiting(Mutex<State>);

#[derive(Default)]
struct State {
    entries: HashMap<u64, oneshot::Sender<Result<RawJson, RawJson>>>,
    ended: bool,
}

/// A place among the requests that wait; dropping it gives it up.
pub(super) struct Ticket {
    waiting: Arc<Waiting>,
    number: u64,
    /// The outcome, once it is there; an error where none will come any more.
    pub(super) outcome: oneshot::Receiver<Result<RawJson, RawJson>>,
}

/// Why a request may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// No response will come any more.
    Ended,
    /// Too many wait already.
    Full,
}

/// How many requests wait at once.
const MOST: usize = 1024;

impl Waiting {
    pub(super) fn enter(self: &Arc<Self>, number: u64) -> Result<Ticket, Refused> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.state();
        if state.ended {
            return Err(Refused::Ended);
        }
        if state.entries.len() >= MOST {
            return Err(Refused::Full);
        }
        state.entries.insert(number, sender);
        Ok(Ticket {
            waiting: self.clone(),
            number,
            outcome,
        })
    }

    /// Hands a response to the request that waits for it, if one does.
    pub(super) fn answer(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::as_number);
        let entry = number.and_then(|number| self.state().entries.remove(&number));
        if let Some(entry) = entry {
            entry.send(response.outcome).ok();
        }
    }

    /// No response will come any more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.entries.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.state().entries.remove(&self.number);
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
        let waiting = Arc::new(Waiting::default());
        let (mut first, mut second) = (waiting.enter(1).unwrap(), waiting.enter(2).unwrap());
        waiting.answer(response(3));
        waiting.answer(response(2));
        waiting.answer(response(2));
        assert_eq!((&mut second.outcome).await, Ok(Ok(RawJson::empty_object())));
        waiting.end();
        assert!((&mut first.outcome).await.is_err());
        assert_eq!(waiting.enter(4).err(), Some(Refused::Ended));
    }

    #[test]
    fn only_so_many_wait_and_those_that_leave_make_room() {
        let waiting = Arc::new(Waiting::default());
        let mut tickets: Vec<_> = (0..MOST as u64)
            .map(|number| waiting.enter(number).unwrap())
            .collect();
        assert_eq!(waiting.enter(5000).err(), Some(Refused::Full));
        tickets.pop();
        assert!(waiting.enter(5001).is_ok());
    }
}
