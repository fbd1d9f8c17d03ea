use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};
use callgate_wire::roots::ListRootsResult;
use callgate_wire::sampling::CreateMessageResult;

use crate::error::Error;
use crate::seal::RoundState;

/// What a handler has asked its client in this round, and what has been answered so far.
///
/// A handler is run again from the top in each round, so it asks the same questions in the same
/// order and gets the same answers, until it asks something new.
#[derive(Default)]
pub(crate) struct Dialogue {
    /// Answers that came with the request.
    responses: InputResponses,
    /// What the round before handed over.
    earlier: RoundState,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// Answers that were used in this round.
    used: InputResponses,
    /// Questions without an answer.
    open: InputRequests,
    detach: Detach,
    /// Wakes the one who runs the handler.
    runner: Option<Waker>,
}

/// Whether the request goes on as a task.
#[derive(Default, PartialEq, Eq)]
enum Detach {
    /// It cannot, or it does already.
    #[default]
    Never,
    /// If the handler wants it to.
    Possible,
    /// The handler waits for it.
    Wanted,
}

/// Why a handler cannot go on.
pub(crate) enum Pause {
    /// It waits for answers to these questions.
    Asked(InputRequests),
    /// It wants to go on as a task.
    Detach,
}

impl Dialogue {
    pub(crate) fn new(responses: InputResponses, earlier: RoundState) -> Self {
        Self {
            responses,
            earlier,
            progress: Mutex::default(),
        }
    }

    /// The answers that came with the request, whatever they answer.
    pub(crate) fn responses(&self) -> &InputResponses {
        &self.responses
    }

    /// What the handler handed over in the round before.
    pub(crate) fn own_state(&self) -> Option<&str> {
        self.earlier.own.as_deref()
    }

    /// The answer to a question, or `None` once it is noted as one to ask.
    pub(crate) fn answer(
        &self,
        key: &str,
        request: &InputRequest,
    ) -> Result<Option<InputResponse>, Error> {
        if let Some(answer) = self.earlier.answers.get(key) {
            return Ok(Some(answer.clone()));
        }
        let mut progress = self.progress();
        if let Some(answer) = self.responses.get(key) {
            check_answer(key, request, answer)?;
            progress.used.insert(key, answer.clone());
            return Ok(Some(answer.clone()));
        }
        if progress.open.get(key).is_some_and(|open| open != request) {
            let message = format!("the key `{key}` was used for two questions");
            return Err(Error::internal(message));
        }
        progress.open.insert(key, request.clone());
        progress.wake_runner();
        Ok(None)
    }

    /// An answer that was given in this or an earlier round.
    pub(crate) fn remembered(&self, key: &str) -> Option<InputResponse> {
        let earlier = self.earlier.answers.get(key).cloned();
        earlier.or_else(|| self.progress().used.get(key).cloned())
    }

    /// Lets the handler go on as a task when it wants to.
    pub(crate) fn allow_detach(&self) {
        self.progress().detach = Detach::Possible;
    }

    /// Asks for the request to go on as a task; whether it will.
    pub(crate) fn want_detach(&self) -> bool {
        let mut progress = self.progress();
        if progress.detach == Detach::Never {
            return false;
        }
        progress.detach = Detach::Wanted;
        progress.wake_runner();
        true
    }

    /// Notes that the request goes on as a task.
    pub(crate) fn detached(&self) {
        self.progress().detach = Detach::Never;
    }

    /// Why the handler cannot go on; if it can, `runner` is woken when it cannot.
    pub(crate) fn pause_or_wake(&self, runner: &Waker) -> Option<Pause> {
        let mut progress = self.progress();
        if !progress.open.is_empty() {
            return Some(Pause::Asked(std::mem::take(&mut progress.open)));
        }
        if progress.detach == Detach::Wanted {
            return Some(Pause::Detach);
        }
        progress.runner = Some(runner.clone());
        None
    }

    /// What the next round is to be told.
    pub(crate) fn hand_over(&self, own: Option<String>) -> RoundState {
        let mut answers = self.earlier.answers.clone();
        for (key, answer) in self.progress().used.iter() {
            answers.insert(key, answer.clone());
        }
        RoundState { answers, own }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn wake_runner(&mut self) {
        if let Some(runner) = self.runner.take() {
            runner.wake();
        }
    }
}

/// Whether an answer is of the kind that was asked for.
pub(crate) fn check_answer(
    key: &str,
    request: &InputRequest,
    answer: &InputResponse,
) -> Result<(), Error> {
    let checked = match request {
        InputRequest::Elicit(_) => answer.decode::<ElicitResult>().map(drop),
        InputRequest::CreateMessage(_) => answer.decode::<CreateMessageResult>().map(drop),
        InputRequest::ListRoots(_) => answer.decode::<ListRootsResult>().map(drop),
    };
    checked.map_err(|error| {
        let method = request.method();
        Error::invalid_params(format!(
            "the input response `{key}` does not answer `{method}`"
        ))
        .with_source(error)
    })
}
