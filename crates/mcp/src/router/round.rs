use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::SystemTime;

use callgate_wire::input::{InputRequests, InputRequiredResult, InputResponses};
use callgate_wire::result::Outcome;
use callgate_wire::{Method, RawJson};

use super::context::RequestCx;
use super::dialogue::{Dialogue, Pause};
use super::params;
use super::service::Shared;
use crate::error::Error;
use crate::seal::RoundState;
use crate::seal::request_digest;
use crate::service::{BoxFuture, Call, Reply};

/// One round of a request that may ask for input.
pub(crate) struct Round {
    pub(crate) cx: RequestCx,
    method: Method,
    params: RawJson,
}

/// How far a handler came.
pub(crate) enum Ran<T> {
    /// It answered.
    Done(T),
    /// It waits for answers to these questions.
    Asked(InputRequests),
    /// It wants to go on as a task.
    Detached,
    /// It panicked.
    Panicked,
}

impl Round {
    /// Begins the round that `call` asks for, given its `inputResponses` and `requestState`.
    pub(crate) fn begin(
        shared: &Shared,
        call: Call,
        [responses, state]: [Option<RawJson>; 2],
    ) -> Result<Self, Error> {
        let Call { method, params, cx } = call;
        let responses = match responses {
            None => InputResponses::new(),
            Some(responses) => responses.decode().map_err(|error| {
                Error::invalid_params("`inputResponses` must be an object").with_source(error)
            })?,
        };
        let earlier = match state {
            None => RoundState::default(),
            Some(state) => {
                let sealed = params::text(Some(&state), "requestState")?;
                let digest = request_digest(&cx.caller, &method, &params);
                shared.sealer.open(&sealed, &digest, SystemTime::now())?
            }
        };
        let dialogue = Dialogue::new(responses, earlier);
        Ok(Self {
            cx: RequestCx::new(cx, Some(dialogue)),
            method,
            params,
        })
    }

    /// How large the params of the request are.
    pub(crate) fn request_bytes(&self) -> usize {
        self.params.as_bytes().len()
    }

    /// Runs a handler that is not a tool until it answers or asks. Dropping the future drops the handler.
    pub(crate) async fn run<T>(
        &self,
        mut handler: BoxFuture<'static, Result<Outcome<T>, Error>>,
    ) -> Result<Outcome<T>, Error> {
        match drive(&self.cx, &mut handler).await {
            Ran::Done(outcome) => outcome,
            Ran::Asked(requests) => {
                let result = InputRequiredResult::new(requests, None);
                Ok(Outcome::InputRequired(result))
            }
            Ran::Detached => Err(Error::internal("only tools can become tasks")),
            Ran::Panicked => Err(panicked()),
        }
    }

    /// The reply that asks for input and seals what the next round is to be told.
    pub(crate) fn ask(
        &self,
        shared: &Shared,
        mut result: InputRequiredResult,
    ) -> Result<Reply, Error> {
        if result.input_requests.is_none() && result.request_state.is_none() {
            return Err(Error::internal("the handler asked for nothing"));
        }
        for (_, request) in result.input_requests.iter().flat_map(InputRequests::iter) {
            self.cx.check_askable(request)?;
        }
        let state = self.cx.dialogue()?.hand_over(result.request_state.take());
        let digest = request_digest(self.cx.caller(), &self.method, &self.params);
        let expires = SystemTime::now() + shared.catalog().state_ttl;
        result.request_state = Some(shared.sealer.seal(&state, &digest, expires)?);
        let meta = result.meta.take();
        shared
            .results
            .write(&result, meta)
            .map(Reply::InputRequired)
    }
}

/// Runs a handler until it answers or asks; what it does meanwhile is kept in `handler`.
pub(crate) async fn drive<T>(cx: &RequestCx, handler: &mut BoxFuture<'static, T>) -> Ran<T> {
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(output)) => Poll::Ready(Ran::Done(output)),
            Ok(Poll::Pending) => match cx.pause_or_wake(context.waker()) {
                Some(Pause::Asked(requests)) => Poll::Ready(Ran::Asked(requests)),
                Some(Pause::Detach) => Poll::Ready(Ran::Detached),
                None => Poll::Pending,
            },
            Err(_) => Poll::Ready(Ran::Panicked),
        }
    })
    .await
}

/// The error for a handler that panicked; what it said is on the standard error stream.
pub(crate) fn panicked() -> Error {
    Error::internal("the handler of the request panicked")
}
