use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::cancel::CancelledParams;
use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::{InputResponse, InputResponses};
use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::{Id, Method, RawJson, Response, RpcError, Splice, method};
use futures_util::future::try_join_all;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::client_request::{Message, MessageSink};
use super::convert::{self, QuestionKind};
use super::session::Session;
use crate::error::{Error, Kind};
use crate::mutex::Mutex;

/// Questions to one old client that it has not answered yet.
#[derive(Debug)]
pub(super) struct PendingQuestions {
    most: usize,
    state: Mutex<QuestionTable>,
}

/// Answer of a client: a result, or an error as it came.
pub(super) type Answer = Result<RawJson, RawJson>;

#[derive(Debug, Default)]
struct QuestionTable {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Answer>>,
}

/// One question. Dropping it before the answer cancels it at the client.
pub(super) struct Question {
    number: u64,
    answer: oneshot::Receiver<Answer>,
    questions: Arc<PendingQuestions>,
    sink: Arc<dyn MessageSink>,
}

impl PendingQuestions {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Sends a question on `sink`, under an id that is new in this session.
    pub(super) fn ask(
        self: &Arc<Self>,
        sink: &Arc<dyn MessageSink>,
        method: &Method,
        params: &RawJson,
    ) -> Result<Question, Error> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state.lock();
        if state.open.len() >= self.most {
            let message = "the client has too many questions to answer already";
            return Err(Error::new(Kind::Busy, message));
        }
        state.last += 1;
        let number = state.last;
        state.open.insert(number, sender);
        drop(state);
        sink.push(Message::request(&Id::number(number), method, params));
        Ok(Question {
            number,
            answer,
            questions: self.clone(),
            sink: sink.clone(),
        })
    }

    /// Takes an answer. An answer to an unknown or canceled question is ignored.
    pub(super) fn receive_answer(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::as_number);
        let asked = number.and_then(|number| self.state.lock().open.remove(&number));
        match asked {
            // The receiver is gone if the question is being canceled at this moment.
            Some(asked) => drop(asked.send(response.outcome)),
            None => tracing::debug!(id = ?response.id, "ignored an answer to no question"),
        }
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
        if self
            .questions
            .state
            .lock()
            .open
            .remove(&self.number)
            .is_none()
        {
            return;
        }
        let params = RawJson::encode(&CancelledParams::new(Id::number(self.number)))
            .expect("params are always JSON");
        let cancelled = Method::new(method::NOTIFICATIONS_CANCELLED);
        self.sink.push(Message::notification(&cancelled, &params));
    }
}

/// Answers of a client, and the ids of the URLs that its user agreed to open.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) responses: InputResponses,
    pub(super) opened: Vec<String>,
}

/// Maximum number of questions in one reply.
const MAX_QUESTIONS: usize = 64;

impl Session {
    /// Sends all of `requests` to the client on `sink` and waits for all answers. The questions of
    /// a `task` carry its metadata.
    ///
    /// Dropping the future cancels the questions at the client.
    ///
    /// # Errors
    /// A question cannot be asked, or its answer is refused or comes too late.
    pub(super) async fn ask(
        &self,
        requests: &RawJson,
        sink: &Arc<dyn MessageSink>,
        task: Option<&RawJson>,
    ) -> Result<Answers, Error> {
        if !sink.carries_questions() {
            return Err(questions_not_accepted());
        }
        let asked = self.asked(requests)?;
        let mut waiting = Vec::with_capacity(asked.len());
        for (key, convert::Question { kind, params }) in asked {
            sink.room().await;
            let method = Method::new(kind.method());
            let params = related_to(task, params)?;
            let question = self.questions.ask(sink, &method, &params)?;
            waiting.push(answer(key, kind, question));
        }
        let answers = timeout(self.config.answer, try_join_all(waiting)).await;
        let answers = answers.map_err(|_| {
            let message = "the client did not answer a question in time";
            Error::new(Kind::InputRequired, message)
        })??;
        let mut all = Answers::default();
        for (key, response, opened) in answers {
            all.responses.insert(key, response);
            all.opened.extend(opened);
        }
        Ok(all)
    }

    /// Reads all questions before the first one is sent.
    fn asked(&self, requests: &RawJson) -> Result<Vec<(String, convert::Question)>, Error> {
        let mut asked = Vec::new();
        for member in requests.members() {
            if asked.len() == MAX_QUESTIONS {
                let message =
                    format!("the server asks more than {MAX_QUESTIONS} questions at once");
                return Err(Error::new(Kind::InputRequired, message));
            }
            let key = member.key().map_err(|error| {
                Error::new(Kind::Protocol, "malformed input requests").with_source(error)
            })?;
            let can = &self.upstream.identity.capabilities;
            let question = convert::question(self.version(), can, &requests.value_of(&member))?;
            asked.push((key.into_owned(), question));
        }
        Ok(asked)
    }
}

/// Error of a call whose client accepts no events, and so receives no questions.
pub(super) fn questions_not_accepted() -> Error {
    let message = "the server has a question, and a client that accepts no events cannot be asked";
    Error::new(Kind::InputRequired, message)
}

/// Waits for one answer.
async fn answer(
    key: String,
    kind: QuestionKind,
    mut question: Question,
) -> Result<(String, InputResponse, Option<String>), Error> {
    let response = accept(&kind, question.answer().await?)?;
    let opened = match kind {
        QuestionKind::Url(id) => Some(id).filter(|_| is_consent(&response)),
        _ => None,
    };
    Ok((key, response, opened))
}

/// The answer for the server.
///
/// A client that cannot ask its user means the same as a user who cancels. There is no such answer
/// for messages of a model and for roots.
fn accept(kind: &QuestionKind, answer: Answer) -> Result<InputResponse, Error> {
    match (kind, answer) {
        (_, Ok(result)) if result.is_object() => Ok(InputResponse::from(result)),
        (QuestionKind::Form | QuestionKind::Url(_), _) => {
            Ok(InputResponse::from(&ElicitResult::cancel()))
        }
        (QuestionKind::Message | QuestionKind::Roots, answer) => {
            let name = kind.method();
            let said: Option<RpcError> = answer.err().and_then(|error| error.decode().ok());
            let said = said.map_or_else(
                || "its answer is not an object".to_owned(),
                |error| error.message,
            );
            let message = format!("the client refused `{name}`: {said}");
            Err(Error::new(Kind::InputRequired, message))
        }
    }
}

fn related_to(task: Option<&RawJson>, params: RawJson) -> Result<RawJson, Error> {
    let Some(task) = task else {
        return Ok(params);
    };
    Splice::new(&params)
        .set(&["_meta", RELATED_TASK], task)
        .finish()
        .map_err(|error| Error::new(Kind::Protocol, "malformed `_meta`").with_source(error))
}

fn is_consent(response: &InputResponse) -> bool {
    let action = response.as_raw().get("action");
    action.is_some_and(|action| action.text().as_deref() == Some("accept"))
}
