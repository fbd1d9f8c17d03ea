use std::sync::Arc;
use std::sync::atomic::Ordering;

use callgate_wire::cancel::CancelledParams;
use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::{InputResponse, InputResponses};
use callgate_wire::{Id, Method, RawJson, RpcError, method};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::client_request::{Message, MessageSink};
use super::convert::{self, QuestionKind};
use super::session::Session;
use crate::error::{Error, Kind};
use crate::legacy::pending_responses::{Outcome, PendingResponse};

/// One question. Dropping it before the answer cancels it at the client.
struct Question {
    pending: PendingResponse,
    sink: Arc<dyn MessageSink>,
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.pending.leave() {
            return;
        }
        let params = RawJson::encode(&CancelledParams::new(Id::number(self.pending.number)))
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

/// Maximum number of questions in one reply. A call whose service asks more fails.
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
            let params = match task {
                Some(task) => convert::related_to(task, &params)?,
                None => params,
            };
            // New in this session.
            // Relaxed: the numbers only have to differ.
            let number = self.last_question.fetch_add(1, Ordering::Relaxed) + 1;
            // Entered before it is sent, because the answer may come at once.
            let pending = self.questions.enter(number).map_err(|_| {
                let message = "the client has too many questions to answer already";
                Error::new(Kind::Busy, message)
            })?;
            sink.push(Message::request(&Id::number(number), &method, &params));
            let sink = sink.clone();
            waiting.push(answer(key, kind, Question { pending, sink }));
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
    let answer = (&mut question.pending.outcome).await;
    let answer = answer.map_err(|_| Error::internal("a question was lost"))?;
    let response = accept(&kind, answer)?;
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
fn accept(kind: &QuestionKind, answer: Outcome) -> Result<InputResponse, Error> {
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

fn is_consent(response: &InputResponse) -> bool {
    let action = response.as_raw().get("action");
    action.is_some_and(|action| action.text().as_deref() == Some("accept"))
}
