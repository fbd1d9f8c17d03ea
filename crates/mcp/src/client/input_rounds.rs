use callgate_wire::input::{InputRequest, InputResponses};
use callgate_wire::{Method, RawJson, method};

use super::typed_client::Client;
use crate::error::{Error, Kind};
use crate::layer::{Round, Rounds, input_requests};
use crate::service::Reply;

/// Last reply of a request, after all input was given.
#[derive(Debug)]
pub(super) struct FinalReply {
    /// A result or a task.
    pub(super) reply: Reply,
    /// Number of times that the server asked for input.
    pub(super) rounds: usize,
}

impl Client {
    /// Sends a request, and repeats it with the input that the server asks for, until it ends.
    ///
    /// Each round is a request of its own: the original parameters, fresh metadata, and the newest
    /// answers and state only.
    pub(super) async fn request_with_input(
        &self,
        method: &Method,
        params: &RawJson,
    ) -> Result<FinalReply, Error> {
        let mut rounds = Rounds::new(method, params, self.shared.limits.input_rounds);
        let mut round_params = params.clone();
        loop {
            let reply = self.send(method, &round_params).await?;
            let round = rounds.receive(self.check_reply(method, reply)?);
            let responses = match round.map_err(|error| self.server_error(error))? {
                Round::Done(reply) => {
                    let rounds = rounds.asked();
                    return Ok(FinalReply { reply, rounds });
                }
                Round::Ask(requests) => self.answer_round(&requests).await?,
                Round::Wait(delay) => {
                    tokio::time::sleep(delay).await;
                    InputResponses::new()
                }
            };
            round_params = rounds.next_params(&responses)?;
        }
    }

    /// Returns the reply if `method` may have a reply of this kind.
    pub(super) fn check_reply(&self, method: &Method, reply: Reply) -> Result<Reply, Error> {
        let refuse = |text: String| Err(self.server_error(Error::new(Kind::Protocol, text)));
        let result = reply.result();
        match &reply {
            _ if !result.is_object() => {
                refuse(format!("the result of `{method}` is not an object"))
            }
            Reply::Complete(_) => Ok(reply),
            Reply::InputRequired(_) => match Rounds::check(method, result) {
                Ok(_) => Ok(reply),
                Err(error) => Err(self.server_error(error)),
            },
            Reply::Task(_) if self.shared.allows_tasks && method.as_str() == method::TOOLS_CALL => {
                Ok(reply)
            }
            _ => {
                let found = result.get("resultType");
                let found = found.as_ref().map_or("none", RawJson::as_str);
                refuse(format!(
                    "`{method}` was answered with the result type {found}, which it must not have"
                ))
            }
        }
    }

    /// Answers the `inputRequests` of one round.
    async fn answer_round(&self, requests: &RawJson) -> Result<InputResponses, Error> {
        let requests = input_requests(requests).map_err(|error| self.server_error(error))?;
        let limit = self.shared.limits.inputs;
        // Before the first question: the user must not answer some of them in vain.
        if requests.len() > limit {
            let message = format!("the server asks for more than {limit} inputs at once");
            return Err(self.server_error(Error::new(Kind::InputRequired, message)));
        }
        self.answer_inputs(requests.iter()).await
    }

    /// Answers input requests one after the other, so that a user is asked one thing at a time.
    pub(super) async fn answer_inputs(
        &self,
        requests: impl Iterator<Item = (&str, &InputRequest)>,
    ) -> Result<InputResponses, Error> {
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let response = self.shared.handlers.answer(request).await;
            responses.insert(key, response.map_err(|error| self.server_error(error))?);
        }
        Ok(responses)
    }
}
