use std::future::pending;

use callgate_wire::elicitation::{ElicitAction, ElicitParams, ElicitResult};
use callgate_wire::input::{InputRequest, InputRequests, InputResponse, InputResponses};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult, IncludeContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::context::{RequestCx, missing_capability};
use super::dialogue::Dialogue;
use super::schema;
use crate::error::Error;
use crate::service::PeerInfo;

/// What the user did with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elicited<T> {
    /// Filled it in.
    Accepted(T),
    /// Said no.
    Declined,
    /// Went away without an answer.
    Cancelled,
}

/// Asking the client, its user or its model.
///
/// A request that needs an answer ends here, and the client sends it again with the answer. The
/// handler is then run from the top, and what was asked before is answered at once. So whatever a
/// handler does before it asks, it does again: ask first, act later. Questions that are asked
/// concurrently travel together. Inside a task nothing is run again: the task waits.
///
/// Each question has a key, unique in the request; asking the same key again gives the same answer.
impl RequestCx {
    /// Asks one question.
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
            return match self.dialogue()?.remembered(key) {
                Some(answer) => Ok(answer),
                None => task.ask(key, request).await,
            };
        }
        match self.dialogue()?.answer(key, &request)? {
            Some(answer) => Ok(answer),
            // The one who runs the handler ends the request here.
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

    /// Asks the user.
    ///
    /// # Errors
    /// The client cannot ask its user in this way, or answers something else.
    pub async fn elicit(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, Error> {
        read(key, &self.ask(key, params).await?)
    }

    /// Shows the user a form with the fields of `T`, which must be plain: texts, numbers, yes or
    /// no, one of some texts.
    ///
    /// # Errors
    /// The client cannot show forms, or answers something else; or `T` has other fields.
    pub async fn elicit_form<T>(&self, key: &str, message: &str) -> Result<Elicited<T>, Error>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let fields = schema::form_schema::<T>().ok_or_else(|| {
            Error::internal("a form can only have plain fields, and this type has others")
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
        }
    }

    /// Asks the model of the client for a message.
    ///
    /// # Errors
    /// The client does not let servers use its model in this way, or answers something else.
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Error> {
        read(key, &self.ask(key, params).await?)
    }

    /// Asks for the directories and files that the client works on.
    ///
    /// # Errors
    /// The client does not tell, or answers something else.
    pub async fn list_roots(&self, key: &str) -> Result<Vec<Root>, Error> {
        let answer = self.ask(key, InputRequest::list_roots()).await?;
        let result: ListRootsResult = read(key, &answer)?;
        Ok(result.roots)
    }

    /// The answers that came with this request, for a handler that asks by returning an
    /// [`InputRequiredResult`](callgate_wire::input::InputRequiredResult) of its own.
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        static NONE: InputResponses = InputResponses::new();
        self.dialogue().map_or(&NONE, Dialogue::responses)
    }

    /// The `request_state` that the handler itself returned in the round before.
    ///
    /// The client carried it sealed: it has not been read or changed, and it belongs to this very
    /// request of this caller.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.dialogue().ok()?.own_state()
    }

    /// Refuses questions that the client did not say it can answer.
    pub(crate) fn check_askable(&self, request: &InputRequest) -> Result<(), Error> {
        match undeclared(self.peer(), request) {
            Some(path) => Err(missing_capability(path)),
            None => Ok(()),
        }
    }
}

/// The capability that the client would have to declare to be asked this.
fn undeclared(peer: &PeerInfo, request: &InputRequest) -> Option<&'static [&'static str]> {
    let lacks = |path: &'static [&'static str]| (!peer.declares(path)).then_some(path);
    match request {
        InputRequest::Elicit(request) => match request.params {
            ElicitParams::Form(_) => lacks_form(peer).then_some(&["elicitation", "form"]),
            ElicitParams::Url(_) => lacks(&["elicitation", "url"]),
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
    }
}

/// A client that elicits without saying how shows forms.
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
