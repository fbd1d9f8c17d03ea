use std::time::Duration;

use callgate_wire::input::{InputRequest, InputRequests, InputResponses};
use callgate_wire::{Method, RawJson, Splice, method};

use super::answer::Answer;
use super::backoff::Backoff;
use super::handle::Client;
use crate::error::{Error, Kind};

/// How a request ended after all input was given.
#[derive(Debug)]
pub(super) struct Driven {
    /// The final answer, which does not ask for input.
    pub(super) answer: Answer,
    /// How often input was asked for. A result that took input must not be kept.
    pub(super) rounds: usize,
}

/// How long to wait when a server asks for nothing but another try.
pub(crate) const TRY_AGAIN: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(10),
};

impl Client {
    /// Sends a request, and again with the input that the server asks for, until it is answered.
    ///
    /// Each round is a request of its own: the original parameters, fresh metadata, and the newest
    /// answers and state only.
    pub(super) async fn drive(&self, method: &Method, params: &RawJson) -> Result<Driven, Error> {
        let limit = self.shared.limits.rounds;
        let mut asked = params.clone();
        let mut tries = 0;
        for rounds in 0.. {
            let reply = self.exchange(method, &asked).await?;
            let required = match self.read(method, reply)? {
                Answer::InputRequired(required) => required,
                answer => return Ok(Driven { answer, rounds }),
            };
            if rounds == limit {
                break;
            }
            let responses = self.gather(&required).await?;
            if responses.is_empty() {
                tokio::time::sleep(TRY_AGAIN.delay(tries)).await;
                tries += 1;
            }
            asked = next_round(params, &responses, required.get("requestState").as_ref())?;
        }
        let message = format!("`{method}` still asks for input after {limit} rounds");
        Err(self.of_server(Error::new(Kind::InputRequired, message)))
    }

    /// Gathers the input that `required` asks for.
    async fn gather(&self, required: &RawJson) -> Result<InputResponses, Error> {
        let Some(requests) = required.get("inputRequests") else {
            return Ok(InputResponses::new());
        };
        let requests: InputRequests = requests.decode().map_err(|error| {
            let error = Error::new(Kind::Protocol, "malformed input requests").with_source(error);
            self.of_server(error)
        })?;
        let limit = self.shared.limits.inputs;
        if requests.len() > limit {
            let message = format!("the server asks for more than {limit} inputs at once");
            return Err(self.of_server(Error::new(Kind::InputRequired, message)));
        }
        self.answer_each(requests.iter()).await
    }

    /// Answers input requests one after the other, so that a user is asked one thing at a time.
    pub(super) async fn answer_each(
        &self,
        requests: impl Iterator<Item = (&str, &InputRequest)>,
    ) -> Result<InputResponses, Error> {
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let response = self.shared.handlers.answer(request).await;
            responses.insert(key, response.map_err(|error| self.of_server(error))?);
        }
        Ok(responses)
    }
}

/// Whether the result of `method` may ask for input.
pub(crate) fn may_ask(method: &Method) -> bool {
    matches!(
        method.as_str(),
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}

/// The original params with the newest answers and state, the state as the bytes it came in.
pub(crate) fn next_round(
    params: &RawJson,
    responses: &InputResponses,
    state: Option<&RawJson>,
) -> Result<RawJson, Error> {
    let mut splice = Splice::new(params);
    splice = match responses.is_empty() {
        true => splice.remove(&["inputResponses"]),
        false => {
            let responses = RawJson::encode(responses).expect("answers are always JSON");
            splice.set(&["inputResponses"], &responses)
        }
    };
    splice = match state {
        Some(state) => splice.set(&["requestState"], state),
        None => splice.remove(&["requestState"]),
    };
    splice
        .finish()
        .map_err(|error| Error::invalid_params("params must be an object").with_source(error))
}
