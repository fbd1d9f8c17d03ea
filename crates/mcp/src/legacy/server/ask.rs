use std::sync::Arc;

use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::{InputResponse, InputResponses};
use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::{Method, RawJson, RpcError, Splice};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::convert::{self, Asked, Kind};
use super::outlet::Outlet;
use super::questions::{Answer, Question};
use super::session::Session;
use crate::error::{self, Error};

/// What the client answered, and the pages that its user agreed to open.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) responses: InputResponses,
    pub(super) opened: Vec<String>,
}

/// The most questions that one reply may ask.
const MOST_AT_ONCE: usize = 64;

impl Session {
    /// Asks the client all of `requests` on `outlet` and waits for all the answers. The questions
    /// say which `task` they belong to, if to one.
    ///
    /// Dropping the future tells the client that the questions are not wanted any more.
    ///
    /// # Errors
    /// A question cannot be asked, or its answer is one that cannot be passed on, or comes too late.
    pub(super) async fn ask(
        &self,
        requests: &RawJson,
        outlet: &Arc<dyn Outlet>,
        task: Option<&RawJson>,
    ) -> Result<Answers, Error> {
        if !outlet.carries_questions() {
            return Err(unheard());
        }
        let asked = self.asked(requests)?;
        let mut waiting = Vec::with_capacity(asked.len());
        for (key, Asked { kind, params }) in asked {
            outlet.room().await;
            let method = Method::new(kind.method());
            let params = related_to(task, params)?;
            let question = self.questions.ask(outlet, &method, &params)?;
            waiting.push(answer(key, kind, question));
        }
        let answers = timeout(self.config.answer, try_join_all(waiting)).await;
        let answers = answers.map_err(|_| {
            let message = "the client did not answer a question in time";
            Error::new(error::Kind::InputRequired, message)
        })??;
        let mut all = Answers::default();
        for (key, response, opened) in answers {
            all.responses.insert(key, response);
            all.opened.extend(opened);
        }
        Ok(all)
    }

    /// Reads all questions before the first is asked.
    fn asked(&self, requests: &RawJson) -> Result<Vec<(String, Asked)>, Error> {
        let mut asked = Vec::new();
        for member in requests.members() {
            if asked.len() == MOST_AT_ONCE {
                let message = format!("the server asks more than {MOST_AT_ONCE} questions at once");
                return Err(Error::new(error::Kind::InputRequired, message));
            }
            let key = member.key().map_err(|error| {
                Error::new(error::Kind::Protocol, "malformed input requests").with_source(error)
            })?;
            let can = &self.upstream.identity.capabilities;
            let question = convert::question(self.version(), can, &requests.value_of(&member))?;
            asked.push((key.into_owned(), question));
        }
        Ok(asked)
    }
}

/// The end of a call that asks somebody who would not hear it.
pub(super) fn unheard() -> Error {
    let message = "the server has a question, and a client that accepts no events cannot be asked";
    Error::new(error::Kind::InputRequired, message)
}

/// Waits for one answer.
async fn answer(
    key: String,
    kind: Kind,
    mut question: Question,
) -> Result<(String, InputResponse, Option<String>), Error> {
    let response = accept(&kind, question.answer().await?)?;
    let opened = match kind {
        Kind::Url(id) => Some(id).filter(|_| is_consent(&response)),
        _ => None,
    };
    Ok((key, response, opened))
}

/// An answer as the server gets it.
///
/// That the client cannot ask its user means the same as the user going away. There is no such
/// answer for messages of a model and for roots.
fn accept(kind: &Kind, answer: Answer) -> Result<InputResponse, Error> {
    match (kind, answer) {
        (_, Ok(result)) if result.is_object() => Ok(InputResponse::from(result)),
        (Kind::Form | Kind::Url(_), _) => Ok(InputResponse::from(&ElicitResult::cancel())),
        (Kind::Message | Kind::Roots, answer) => {
            let name = kind.method();
            let said: Option<RpcError> = answer.err().and_then(|error| error.decode().ok());
            let said = said.map_or_else(
                || "its answer is not an object".to_owned(),
                |error| error.message,
            );
            let message = format!("the client refused `{name}`: {said}");
            Err(Error::new(error::Kind::InputRequired, message))
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
        .map_err(|error| Error::new(error::Kind::Protocol, "malformed `_meta`").with_source(error))
}

fn is_consent(response: &InputResponse) -> bool {
    let action = response.as_raw().get("action");
    action.is_some_and(|action| action.text().as_deref() == Some("accept"))
}
