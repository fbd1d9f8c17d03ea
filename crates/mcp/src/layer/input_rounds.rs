use std::sync::Arc;
use std::time::Duration;

use callgate_wire::input::{InputRequests, InputResponses};
use callgate_wire::{Method, RawJson, Splice};

use crate::client::Backoff;
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};

/// Input rounds: gives the input that a service asks for and sends the request again, until it ends.
///
/// The caller never sees [`Reply::InputRequired`].
#[derive(Clone)]
pub struct InputRounds<S> {
    service: S,
    answers: Arc<dyn AnswerInput>,
    limit: usize,
}

/// Source of the input that a service asks for.
pub trait AnswerInput: Send + Sync + 'static {
    /// Answers the input requests of `call`, each under its key.
    ///
    /// # Errors
    /// The input cannot be given; the call ends with this error.
    fn answer<'a>(
        &'a self,
        call: &'a Call,
        requests: InputRequests,
    ) -> BoxFuture<'a, Result<InputResponses, Error>>;
}

impl<S: Service> InputRounds<S> {
    /// Answers what `service` asks for from `answers`, at most `limit` times for one request.
    pub fn new(service: S, answers: Arc<dyn AnswerInput>, limit: usize) -> Self {
        Self {
            service,
            answers,
            limit,
        }
    }
}

impl<S: Service> Service for InputRounds<S> {
    fn call(&self, mut call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let mut rounds = Rounds::new(&call.method, call.params(), self.limit);
            loop {
                let reply = self.service.call(call.clone()).await?;
                let responses = match rounds.receive(reply)? {
                    Round::Done(reply) => return Ok(reply),
                    Round::Wait(delay) => {
                        tokio::time::sleep(delay).await;
                        InputResponses::new()
                    }
                    Round::Ask(requests) => {
                        let requests = input_requests(&requests)?;
                        self.answers.answer(&call, requests).await?
                    }
                };
                call.set_params(rounds.next_params(&responses)?);
            }
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

/// The rounds of one request: decides what follows each reply. It does no I/O.
#[derive(Debug)]
pub(crate) struct Rounds {
    method: Method,
    /// The params of the first round; later ones add answers and state to these.
    params: RawJson,
    limit: usize,
    asked: usize,
    waits: u32,
    state: Option<RawJson>,
}

/// Consequence of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// The request is over.
    Done(Reply),
    /// The server needs answers to these `inputRequests`.
    Ask(RawJson),
    /// The server needs nothing but another request, after this time.
    Wait(Duration),
}

/// Delays before requests that a server wants again without asking for anything.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(10),
};

impl Rounds {
    /// A request with these params, which may ask for input `limit` times.
    pub(crate) fn new(method: &Method, params: &RawJson, limit: usize) -> Self {
        Self {
            method: method.clone(),
            params: params.clone(),
            limit,
            asked: 0,
            waits: 0,
            state: None,
        }
    }

    /// Takes the reply of a round.
    pub(crate) fn receive(&mut self, reply: Reply) -> Result<Round, Error> {
        let required = match reply {
            Reply::InputRequired(required) => required,
            reply => return Ok(Round::Done(reply)),
        };
        let method = &self.method;
        let [requests, state] = Self::check(method, &required)?;
        if self.asked == self.limit {
            let limit = self.limit;
            let text = format!("`{method}` still asks for input after {limit} rounds");
            return Err(Error::new(Kind::InputRequired, text));
        }
        self.asked += 1;
        self.state = state;
        Ok(match requests {
            Some(requests) => Round::Ask(requests),
            None => {
                self.waits += 1;
                Round::Wait(AGAIN.delay(self.waits - 1))
            }
        })
    }

    /// Returns the `inputRequests` and the `requestState` of an `InputRequiredResult`.
    ///
    /// # Errors
    /// The method must not ask for input, or the result has neither of them.
    pub(crate) fn check(
        method: &Method,
        required: &RawJson,
    ) -> Result<[Option<RawJson>; 2], Error> {
        let refuse = |text| Err(Error::new(Kind::Protocol, text));
        if !method.may_ask_input() {
            return refuse(format!(
                "`{method}` was answered with the result type \"input_required\", which it must not have"
            ));
        }
        match required.pick(["inputRequests", "requestState"]) {
            [None, None] => refuse(format!("`{method}` asks for input but for none")),
            found => Ok(found),
        }
    }

    /// Number of times that input was asked for.
    pub(crate) fn asked(&self) -> usize {
        self.asked
    }

    /// The params of the next round: the original ones with the newest answers and state only, the
    /// state as the bytes it came in.
    pub(crate) fn next_params(&self, responses: &InputResponses) -> Result<RawJson, Error> {
        let encoded;
        let mut splice = Splice::new(&self.params);
        splice = match responses.is_empty() {
            true => splice.remove(&["inputResponses"]),
            false => {
                encoded = RawJson::encode(responses).expect("answers are always JSON");
                splice.set(&["inputResponses"], &encoded)
            }
        };
        splice = match &self.state {
            Some(state) => splice.set(&["requestState"], state),
            None => splice.remove(&["requestState"]),
        };
        splice
            .finish()
            .map_err(|error| Error::invalid_params("params must be an object").with_source(error))
    }
}

/// Reads the `inputRequests` of a result.
pub(crate) fn input_requests(requests: &RawJson) -> Result<InputRequests, Error> {
    requests
        .decode()
        .map_err(|error| Error::new(Kind::Protocol, "malformed input requests").with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use callgate_wire::Id;
    use callgate_wire::input::InputResponse;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const ASKS: &str = r#"{"resultType":"input_required","requestState":"s1","inputRequests":{"k":{"method":"roots/list"}}}"#;

    /// Asks for roots until it has them, and never stops where its tool is `more`.
    struct Asks(AtomicUsize);

    impl Service for Asks {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let [name, answers] = call.params().pick(["name", "inputResponses"]);
            let never_done = name.is_some_and(|name| name.is("more"));
            let result = match answers {
                Some(_) if !never_done => RawJson::clone(call.params()),
                _ => serde_json::from_str(ASKS).unwrap(),
            };
            Box::pin(async { Ok(Reply::of_result(result)) })
        }
    }

    struct Roots;

    impl AnswerInput for Roots {
        fn answer<'a>(
            &'a self,
            _: &'a Call,
            requests: InputRequests,
        ) -> BoxFuture<'a, Result<InputResponses, Error>> {
            let mut responses = InputResponses::new();
            let roots = callgate_wire::roots::ListRootsResult::new(Vec::new());
            for (key, _) in requests.iter() {
                responses.insert(key, InputResponse::from(&roots));
            }
            Box::pin(async { Ok(responses) })
        }
    }

    async fn check(method: &str, params: &str, expect: Result<&str, &str>, calls: usize) {
        let service = Arc::new(Asks(AtomicUsize::new(0)));
        let rounds = InputRounds::new(service.clone(), Arc::new(Roots), 3);
        let params = serde_json::from_str(params).unwrap();
        let call = Call::new(Method::new(method), params, Cx::new(Id::number(1)));
        let outcome = rounds.call(call).await;
        let seen = outcome
            .map(|reply| reply.into_result().as_str().to_owned())
            .map_err(|error| error.to_string());
        let expect = expect.map(str::to_owned).map_err(str::to_owned);
        assert_eq!((seen, service.0.load(Ordering::Relaxed)), (expect, calls));
    }

    #[tokio::test]
    async fn input_is_given_until_the_request_ends_or_has_asked_too_often() {
        check(
            "tools/call",
            r#"{"name":"t","n":1e2}"#,
            Ok(r#"{"name":"t","n":1e2,"inputResponses":{"k":{"roots":[]}},"requestState":"s1"}"#),
            2,
        )
        .await;
        check(
            "tools/call",
            r#"{"name":"more"}"#,
            Err("`tools/call` still asks for input after 3 rounds"),
            4,
        )
        .await;
        let text = "`tools/list` was answered with the result type \"input_required\", which it must not have";
        check("tools/list", "{}", Err(text), 1).await;
    }
}
