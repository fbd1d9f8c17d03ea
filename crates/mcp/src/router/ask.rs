use std::future::pending;

use callgate_wire::elicitation::{ElicitAction, ElicitParams, ElicitResult};
use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult, IncludeContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::context::{RequestCx, missing_capability};
use crate::error::Error;
use crate::schema;
use crate::service::PeerInfo;

/// Answer of the user to an elicitation form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Elicited<T> {
    /// The user submitted the form.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed the form without a choice.
    Cancelled,
}

/// Input requests: elicitation from the user, sampling from the model, roots of the client.
///
/// A request whose handler asks ends there, and the client sends it again with the answer (an input
/// round). The handler is then run from the top, and questions of earlier rounds are answered at
/// once. So an action of the handler before a question is done again: ask first, act later.
/// Questions that are asked concurrently travel together. Inside a task the handler is not run
/// again: it waits.
///
/// Each question has a key, unique in the request; asking with the same key again gives the same
/// answer.
impl RequestCx {
    /// Asks one question and returns the raw answer.
    ///
    /// # Errors
    /// The client did not declare that it can answer, or its answer is of the wrong kind.
    pub async fn ask(
        &self,
        key: &str,
        request: impl Into<InputRequest>,
    ) -> Result<InputResponse, Error> {
        let request = request.into();
        self.check_askable(&request)?;
        if let Some(task) = self.task() {
            // Answers of the rounds before the task began count in it too.
            return match self.input()?.known_answer(key) {
                Some(answer) => Ok(answer),
                None => task.ask(key, request).await,
            };
        }
        match self.input()?.answer(key, &request)? {
            Some(answer) => Ok(answer),
            // `run_handler` sees the open question, ends the request and drops this future.
            None => pending().await,
        }
    }

    /// Asks several questions at once; the answers have the same keys.
    ///
    /// # Errors
    /// The client did not declare that it can answer one, or an answer is of the wrong kind.
    pub async fn ask_all(&self, requests: InputRequests) -> Result<InputResponses, Error> {
        let asked = requests.into_iter().map(|(key, request)| async move {
            let answer = self.ask(&key, request).await?;
            Ok((key, answer))
        });
        let answers = futures_util::future::try_join_all(asked).await?;
        Ok(answers.into_iter().collect())
    }

    /// Elicits input from the user, by a form or a URL.
    ///
    /// # Errors
    /// The client does not support this kind of elicitation, or its answer is of the wrong kind.
    pub async fn elicit(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, Error> {
        read(key, &self.ask(key, params).await?)
    }

    /// Elicits a form with the fields of `T`, which must be strings, numbers, booleans, or choices
    /// of strings.
    ///
    /// # Errors
    /// The client does not support forms, its answer does not fit `T`, or `T` has other fields.
    pub async fn elicit_form<T>(&self, key: &str, message: &str) -> Result<Elicited<T>, Error>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let fields = schema::form_schema::<T>().ok_or_else(|| {
            Error::internal(
                "the type of a form can only have strings, numbers, booleans and choices",
            )
        })?;
        let result = self
            .elicit(key, ElicitParams::form(message, fields))
            .await?;
        match result.action {
            ElicitAction::Accept => {
                let content = result.content.ok_or_else(|| wrong_answer(key))?;
                let content = content
                    .decode()
                    .map_err(|error| wrong_answer(key).with_source(error))?;
                Ok(Elicited::Accepted(content))
            }
            ElicitAction::Decline => Ok(Elicited::Declined),
            ElicitAction::Cancel => Ok(Elicited::Cancelled),
            _ => Err(wrong_answer(key)),
        }
    }

    /// Samples a message from the model of the client.
    ///
    /// # Errors
    /// The client does not support this kind of sampling, or its answer is of the wrong kind.
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Error> {
        read(key, &self.ask(key, params).await?)
    }

    /// Lists the roots: directories and files that the client works on.
    ///
    /// # Errors
    /// The client does not support roots, or its answer is of the wrong kind.
    pub async fn list_roots(&self, key: &str) -> Result<Vec<Root>, Error> {
        let answer = self.ask(key, InputRequest::list_roots()).await?;
        let result: ListRootsResult = read(key, &answer)?;
        Ok(result.roots)
    }

    /// Input responses of this request, for a handler that asks by returning an
    /// [`InputRequiredResult`](callgate_wire::input::InputRequiredResult) of its own.
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        static NONE: InputResponses = InputResponses::new();
        self.input().map_or(&NONE, |input| &input.responses)
    }

    /// State that the handler itself returned as `request_state` in the round before.
    ///
    /// The client carried it sealed: it has not been read or changed, and it belongs to the same
    /// request of the same caller.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.input().ok()?.previous.own.as_deref()
    }

    /// Refuses questions for which the client did not declare the capability.
    pub(crate) fn check_askable(&self, request: &InputRequest) -> Result<(), Error> {
        match undeclared(self.peer(), request) {
            Some(path) => Err(missing_capability(path)),
            None => Ok(()),
        }
    }
}

/// Capability that the question needs and the client did not declare.
fn undeclared(peer: &PeerInfo, request: &InputRequest) -> Option<&'static [&'static str]> {
    let lacks = |path: &'static [&'static str]| (!peer.declares(path)).then_some(path);
    match request {
        InputRequest::Elicit(request) => match request.params {
            ElicitParams::Form(_) => lacks_form(peer).then_some(&["elicitation", "form"]),
            ElicitParams::Url(_) => lacks(&["elicitation", "url"]),
            _ => lacks(&["elicitation"]),
        },
        InputRequest::CreateMessage(request) => {
            let params = &request.params;
            let context = params.include_context;
            lacks(&["sampling"])
                .or_else(|| match (&params.tools, &params.tool_choice) {
                    (None, None) => None,
                    _ => lacks(&["sampling", "tools"]),
                })
                .or_else(|| match context {
                    None | Some(IncludeContext::None) => None,
                    Some(_) => lacks(&["sampling", "context"]),
                })
        }
        InputRequest::ListRoots(_) => lacks(&["roots"]),
        // The client itself refuses a kind of question that it does not support.
        _ => None,
    }
}

/// True if the client does not support forms. One that declares elicitation without a mode supports
/// them: the older revisions had no other mode.
fn lacks_form(peer: &PeerInfo) -> bool {
    !peer.declares(&["elicitation", "form"])
        && (!peer.declares(&["elicitation"]) || peer.declares(&["elicitation", "url"]))
}

fn read<T: DeserializeOwned>(key: &str, answer: &InputResponse) -> Result<T, Error> {
    answer
        .decode()
        .map_err(|error| wrong_answer(key).with_source(error))
}

fn wrong_answer(key: &str) -> Error {
    Error::invalid_params(format!(
        "the input response `{key}` is not what was asked for"
    ))
}
