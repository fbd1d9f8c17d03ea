use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::cancel::CancelledParams;
use callgate_wire::{Id, Method, RawJson, Response, method};
use tokio::sync::oneshot;

use super::outlet::{Message, Outlet};
use crate::error::{Error, Kind};

/// The questions that one old client has been asked and has not answered.
#[derive(Debug)]
pub(super) struct Questions {
    most: usize,
    state: Mutex<State>,
}

/// What a client says to a question: a result, or an error as it came.
pub(super) type Answer = Result<RawJson, RawJson>;

#[derive(Debug, Default)]
struct State {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Answer>>,
}

/// One question. Dropping it before the answer tells the client that it is not wanted any more.
pub(super) struct Question {
    number: u64,
    answer: oneshot::Receiver<Answer>,
    questions: Arc<Questions>,
    outlet: Arc<dyn Outlet>,
}

impl Questions {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Asks the client something on `outlet`, under an id that this session has not used before.
    pub(super) fn ask(
        self: &Arc<Self>,
        outlet: &Arc<dyn Outlet>,
        method: &Method,
        params: &RawJson,
    ) -> Result<Question, Error> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state();
        if state.open.len() >= self.most {
            let message = "the client has too many questions to answer already";
            return Err(Error::new(Kind::Busy, message));
        }
        state.last += 1;
        let number = state.last;
        state.open.insert(number, sender);
        drop(state);
        outlet.push(Message::request(&Id::number(number), method, params));
        Ok(Question {
            number,
            answer,
            questions: self.clone(),
            outlet: outlet.clone(),
        })
    }

    /// Takes an answer. One to no question, or to one that was given up, is ignored.
    pub(super) fn answered(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::as_number);
        let asked = number.and_then(|number| self.state().open.remove(&number));
        match asked {
            // Nobody waits if the question is being given up at this moment.
            Some(asked) => drop(asked.send(response.outcome)),
            None => tracing::debug!(id = ?response.id, "ignored an answer to no question"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    /// Waits for the answer.
    pub(super) async fn answer(&mut self) -> Result<Answer, Error> {
        (&mut self.answer)
            .await
            .map_err(|_| Error::internal("a question was lost"))
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if self.questions.state().open.remove(&self.number).is_none() {
            return;
        }
        let params = RawJson::encode(&CancelledParams::new(Id::number(self.number)))
            .expect("params are always JSON");
        let cancelled = Method::new(method::NOTIFICATIONS_CANCELLED);
        self.outlet.push(Message::notification(&cancelled, &params));
    }
}
