use std::future::poll_fn;
use std::task::Poll;
use std::time::SystemTime;

use callgate_wire::input::{InputRequests, InputRequiredResult, InputResponses};
use callgate_wire::result::Outcome;
use callgate_wire::{Method, RawJson, RawParams};

use super::context::RequestCx;
use super::input_exchange::{HandlerStop, InputExchange};
use super::params;
use super::service::RouterState;
use crate::error::Error;
use crate::layer::{Panicked, poll_guarded};
use crate::mutex::Mutex;
use crate::seal::{RequestDigest, RoundState};
use crate::service::{BoxFuture, Call, Reply};

/// Request whose handler may ask the client for input: `tools/call`, `prompts/get` or
/// `resources/read`.
///
/// A request that asks is sent again with the answers; each of these input rounds is a call of its
/// own here.
pub(crate) struct HandlerCall {
    pub(crate) cx: RequestCx,
    /// Written only if they are read as a whole, which few calls need.
    pub(crate) params: RawParams,
    method: Method,
}

const ONLY_TOOLS: &str = "only tools can become tasks";

impl HandlerCall {
    /// Reads the `inputResponses` and opens the sealed `requestState` of `call`.
    pub(crate) fn new(
        router: &RouterState,
        call: Call,
        [responses, state]: [Option<RawJson>; 2],
    ) -> Result<Self, Error> {
        let (method, params, cx) = call.into_parts();
        let responses = match responses {
            None => InputResponses::new(),
            Some(responses) => responses.decode().map_err(|error| {
                Error::invalid_params("`inputResponses` must be an object").with_source(error)
            })?,
        };
        let previous = match state {
            None => RoundState::default(),
            Some(state) => {
                let sealed = params::text(Some(&state), "requestState")?;
                let digest = RequestDigest::new(&cx.caller, &method, &params);
                router.sealer.open(&sealed, &digest, SystemTime::now())?
            }
        };
        let input = InputExchange {
            responses,
            previous,
            state: Mutex::default(),
        };
        Ok(Self {
            cx: RequestCx::new(cx, Some(input)),
            method,
            params,
        })
    }

    /// Runs the handler of a prompt or resource; `complete` makes the reply of its result. Dropping
    /// the future drops the handler.
    pub(crate) async fn run<T>(
        &self,
        router: &RouterState,
        mut handler: BoxFuture<'static, Result<Outcome<T>, Error>>,
        complete: impl FnOnce(T) -> Result<Reply, Error>,
    ) -> Result<Reply, Error> {
        let outcome = match run_handler(&self.cx, &mut handler).await {
            Ok(outcome) => outcome?,
            Err(HandlerStop::InputRequired(requests)) => {
                Outcome::InputRequired(InputRequiredResult::new(requests, None))
            }
            Err(HandlerStop::Detach) => return Err(Error::internal(ONLY_TOOLS)),
            Err(HandlerStop::Panicked) => return Err(panic_error()),
        };
        match outcome {
            Outcome::Complete(result) => complete(result),
            Outcome::InputRequired(result) => self.require_input(router, result),
            Outcome::Task(_) => Err(Error::internal(ONLY_TOOLS)),
            _ => Err(unknown_outcome()),
        }
    }

    /// Replies with the input requests of `result` and seals the state of the next round.
    pub(crate) fn require_input(
        &self,
        router: &RouterState,
        mut result: InputRequiredResult,
    ) -> Result<Reply, Error> {
        if result.input_requests.is_none() && result.request_state.is_none() {
            return Err(Error::internal(
                "the handler returned `InputRequiredResult` without input requests and state",
            ));
        }
        // A handler can return requests that never went through `RequestCx::ask`.
        for (_, request) in result.input_requests.iter().flat_map(InputRequests::iter) {
            self.cx.check_askable(request)?;
        }
        let state = self
            .cx
            .input()?
            .next_round_state(result.request_state.take());
        let digest = RequestDigest::new(self.cx.caller(), &self.method, &self.params);
        let expires = SystemTime::now() + router.catalog().state_ttl;
        result.request_state = Some(router.sealer.seal(&state, &digest, expires)?);
        let meta = result.meta.take();
        router
            .results
            .write(&result, meta)
            .map(Reply::InputRequired)
    }
}

/// Runs a handler until it returns or stops. One that stopped to become a task can be run on.
pub(crate) async fn run_handler<T>(
    cx: &RequestCx,
    handler: &mut BoxFuture<'static, T>,
) -> Result<T, HandlerStop> {
    poll_fn(|context| match poll_guarded(handler, context) {
        Poll::Ready(Ok(output)) => Poll::Ready(Ok(output)),
        Poll::Ready(Err(Panicked)) => Poll::Ready(Err(HandlerStop::Panicked)),
        // Looked at after the poll, so that questions asked concurrently travel together.
        Poll::Pending => match cx
            .input()
            .ok()
            .and_then(|input| input.poll_stop(context.waker()))
        {
            Some(stop) => Poll::Ready(Err(stop)),
            None => Poll::Pending,
        },
    })
    .await
}

/// Error of a handler whose outcome the router cannot reply with.
pub(crate) fn unknown_outcome() -> Error {
    Error::internal("the handler returned an outcome that this server does not know")
}

/// Error of a request whose handler panicked. The panic hook of the process prints the message of
/// the panic, which may hold secrets and is not for the client.
pub(crate) fn panic_error() -> Error {
    Error::internal("the handler of the request panicked")
}
