use std::task::Waker;

use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};
use callgate_wire::roots::ListRootsResult;
use callgate_wire::sampling::CreateMessageResult;

use crate::error::Error;
use crate::mutex::Mutex;
use crate::seal::RoundState;

/// Input requests of a handler and the answers of its client, in one input round of a request.
///
/// The handler is run from the top in each round, so it asks the same questions in the same order
/// and gets the same answers, until it asks a new one.
#[derive(Default)]
pub(crate) struct InputExchange {
    /// Answers that came with the request, even to questions that the handler did not ask.
    pub(super) responses: InputResponses,
    /// State of the round before: its answers, and the state of the handler.
    pub(super) previous: RoundState,
    pub(super) state: Mutex<ExchangeState>,
}

#[derive(Default)]
pub(super) struct ExchangeState {
    /// Answers that were used in this round.
    used: InputResponses,
    /// Questions without an answer.
    open: InputRequests,
    detach: DetachState,
    /// Waker of the request that runs the handler.
    waker: Option<Waker>,
}

/// Step of a request on its way to become a task.
#[derive(Default, PartialEq, Eq)]
enum DetachState {
    /// The tool or the client does not support it, or the request is a task already.
    #[default]
    Unavailable,
    /// The handler may ask for it.
    Allowed,
    /// The handler asked and waits for it.
    Requested,
}

/// Reason for which a handler stopped before it returned.
pub(crate) enum HandlerStop {
    /// The handler waits for answers to these input requests.
    InputRequired(InputRequests),
    /// The handler waits to become a task.
    Detach,
    /// The handler panicked.
    Panicked,
}

impl InputExchange {
    /// Answer to a question; `None` if there is none yet, and then the question is noted as open.
    pub(crate) fn answer(
        &self,
        key: &str,
        request: &InputRequest,
    ) -> Result<Option<InputResponse>, Error> {
        // The sealed answers of earlier rounds come first: they were checked when they arrived,
        // and a client cannot replace them later.
        if let Some(answer) = self.previous.answers.get(key) {
            return Ok(Some(answer.clone()));
        }
        let mut state = self.state.lock();
        if let Some(answer) = self.responses.get(key) {
            check_answer(key, request, answer)?;
            state.used.insert(key, answer.clone());
            return Ok(Some(answer.clone()));
        }
        if state.open.get(key).is_some_and(|open| open != request) {
            return Err(reused_key(key));
        }
        state.open.insert(key, request.clone());
        state.wake();
        Ok(None)
    }

    /// Answer that was used in this round or an earlier one.
    pub(crate) fn known_answer(&self, key: &str) -> Option<InputResponse> {
        let previous = self.previous.answers.get(key).cloned();
        previous.or_else(|| self.state.lock().used.get(key).cloned())
    }

    /// Lets the handler become a task when it asks for it.
    pub(crate) fn allow_detach(&self) {
        self.state.lock().detach = DetachState::Allowed;
    }

    /// Asks for the request to become a task. Returns false if it cannot, or is one already.
    pub(crate) fn request_detach(&self) -> bool {
        let mut state = self.state.lock();
        if state.detach == DetachState::Unavailable {
            return false;
        }
        state.detach = DetachState::Requested;
        state.wake();
        true
    }

    /// Notes that the request is a task from now on.
    pub(crate) fn set_detached(&self) {
        self.state.lock().detach = DetachState::Unavailable;
    }

    /// Reason for which the handler cannot go on; `None` if it can, and then `waker` is woken as
    /// soon as it cannot.
    pub(crate) fn poll_stop(&self, waker: &Waker) -> Option<HandlerStop> {
        let mut state = self.state.lock();
        // Questions before the detachment: a handler that asks and detaches concurrently becomes a
        // task in the next round, when it has its answers.
        if !state.open.is_empty() {
            return Some(HandlerStop::InputRequired(std::mem::take(&mut state.open)));
        }
        if state.detach == DetachState::Requested {
            return Some(HandlerStop::Detach);
        }
        state.waker = Some(waker.clone());
        None
    }

    /// State for the next round: all answers so far, and the state of the handler.
    pub(crate) fn next_round_state(&self, own: Option<String>) -> RoundState {
        let mut answers = self.previous.answers.clone();
        for (key, answer) in self.state.lock().used.iter() {
            answers.insert(key, answer.clone());
        }
        RoundState { answers, own }
    }
}

impl ExchangeState {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Checks that an answer is of the kind that was asked for.
pub(crate) fn check_answer(
    key: &str,
    request: &InputRequest,
    answer: &InputResponse,
) -> Result<(), Error> {
    let checked = match request {
        InputRequest::Elicit(_) => answer.decode::<ElicitResult>().map(drop),
        InputRequest::CreateMessage(_) => answer.decode::<CreateMessageResult>().map(drop),
        InputRequest::ListRoots(_) => answer.decode::<ListRootsResult>().map(drop),
        // The handler that asked is the only one that knows the answer.
        _ => Ok(()),
    };
    checked.map_err(|error| {
        let method = request.method();
        Error::invalid_params(format!(
            "the input response `{key}` does not answer `{method}`"
        ))
        .with_source(error)
    })
}

/// Error of a handler that asks two different questions with one key.
pub(crate) fn reused_key(key: &str) -> Error {
    Error::internal(format!(
        "the handler used the key `{key}` for two different input requests"
    ))
}
