use std::sync::Arc;

use callgate_wire::content::Content;
use callgate_wire::prompt::{GetPromptResult, Prompt, PromptMessage};
use callgate_wire::result::Outcome;
use callgate_wire::{Map, RawJson};

use super::handler::{ErasedHandler, Handler, erase};
use super::handler_call::HandlerCall;
use super::params;
use super::service::RouterState;
use crate::error::Error;
use crate::service::{Call, Reply};

/// Result of a prompt handler.
pub trait PromptOutput {
    /// Converts to the result of the protocol, or to input requests.
    ///
    /// # Errors
    /// The request failed.
    fn into_outcome(self) -> Result<Outcome<GetPromptResult>, Error>;
}

/// Prompt with its type-erased handler.
pub(crate) struct PromptRoute {
    pub(super) prompt: Prompt,
    function: Arc<ErasedHandler<(), PromptOutcome>>,
}

type PromptOutcome = Result<Outcome<GetPromptResult>, Error>;

impl PromptRoute {
    pub(crate) fn new<S, H>(prompt: Prompt, handler: H) -> Self
    where
        H: Handler<S, Output: PromptOutput>,
    {
        Self {
            prompt,
            function: erase(
                handler,
                |output: H::Output, ()| output.into_outcome(),
                |error, _, ()| Err(Error::invalid_params(format!("`arguments`: {error}"))),
            ),
        }
    }
}

/// Answers `prompts/get`.
pub(crate) async fn get(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let [name, arguments, responses, state] = params::handler_members(&call);
    let name = params::target(&call.method, name.as_ref())?;
    let route = router
        .catalog()
        .prompts
        .get(&name)
        .cloned()
        .ok_or_else(|| Error::invalid_params(format!("unknown prompt `{name}`")))?;
    let arguments = params::object(arguments, "arguments")?;
    check_arguments(&route.prompt, &arguments)?;
    let request = HandlerCall::new(router, call, [responses, state])?;
    let handler = (route.function)(request.cx.clone(), &arguments, ());
    let complete = |mut result: GetPromptResult| {
        result.description = result
            .description
            .or_else(|| route.prompt.description.clone());
        let meta = result.meta.take();
        router.results.complete(&result, meta)
    };
    request.run(router, handler, complete).await
}

/// Checks that the arguments of a prompt are strings and that no required one is missing.
fn check_arguments(prompt: &Prompt, arguments: &RawJson) -> Result<(), Error> {
    let texts: Map<String> = arguments.decode().map_err(|error| {
        Error::invalid_params("the arguments of a prompt must be strings").with_source(error)
    })?;
    let mut declared = prompt.arguments.iter().flatten();
    match declared.find(|known| known.required == Some(true) && !texts.contains(&known.name)) {
        Some(missing) => Err(Error::invalid_params(format!(
            "the argument `{}` is required",
            missing.name
        ))),
        None => Ok(()),
    }
}

impl PromptOutput for GetPromptResult {
    fn into_outcome(self) -> PromptOutcome {
        Ok(Outcome::Complete(self))
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_outcome(self) -> PromptOutcome {
        Ok(Outcome::Complete(GetPromptResult::new(self)))
    }
}

impl PromptOutput for PromptMessage {
    fn into_outcome(self) -> PromptOutcome {
        vec![self].into_outcome()
    }
}

impl PromptOutput for String {
    fn into_outcome(self) -> PromptOutcome {
        PromptMessage::user(Content::text(self)).into_outcome()
    }
}

impl PromptOutput for &'static str {
    fn into_outcome(self) -> PromptOutcome {
        self.to_owned().into_outcome()
    }
}

impl<O: PromptOutput> PromptOutput for Outcome<O> {
    fn into_outcome(self) -> PromptOutcome {
        self.and_then(O::into_outcome)
    }
}

impl<O: PromptOutput, E: Into<Error>> PromptOutput for Result<O, E> {
    fn into_outcome(self) -> PromptOutcome {
        self.map_err(Into::into)?.into_outcome()
    }
}
