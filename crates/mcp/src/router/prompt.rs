use std::sync::Arc;

use callgate_wire::content::Content;
use callgate_wire::prompt::{GetPromptResult, Prompt, PromptMessage};
use callgate_wire::result::Outcome;
use callgate_wire::{Map, RawJson, tag};

use super::context::RequestCx;
use super::handler::{Arguments, Handler};
use super::params;
use super::round::Round;
use super::service::Shared;
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply};

/// What a prompt can answer with.
pub trait PromptOutput {
    /// The answer as the protocol has it.
    ///
    /// # Errors
    /// The request failed.
    fn into_outcome(self) -> Result<Outcome<GetPromptResult>, Error>;
}

/// A prompt with its types forgotten.
pub(crate) struct PromptRoute {
    description: Option<String>,
    required: Vec<String>,
    function: Box<PromptFn>,
}

type PromptFn = dyn Fn(RequestCx, &RawJson) -> BoxFuture<'static, PromptOutcome> + Send + Sync;

type PromptOutcome = Result<Outcome<GetPromptResult>, Error>;

impl PromptRoute {
    pub(crate) fn new<S, H>(prompt: &Prompt, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: PromptOutput,
    {
        let arguments = prompt.arguments.iter().flatten();
        Self {
            description: prompt.description.clone(),
            required: arguments
                .filter(|argument| argument.required == Some(true))
                .map(|argument| argument.name.clone())
                .collect(),
            function: erase(handler),
        }
    }
}

/// Answers `prompts/get`.
pub(crate) async fn get(shared: &Arc<Shared>, call: Call) -> Result<Reply, Error> {
    let [name, arguments, responses, state] = call
        .params
        .pick_beside(call.cx.peer.meta(), params::MAY_ASK);
    let name = params::text(name.as_ref(), "name")?;
    let route = shared
        .catalog()
        .prompts
        .get(&name)
        .cloned()
        .ok_or_else(|| Error::invalid_params(format!("unknown prompt `{name}`")))?;
    let arguments = params::object(arguments, "arguments")?;
    check_arguments(&route, &arguments)?;
    let round = Round::begin(shared, call, [responses, state])?;
    let handler = (route.function)(round.cx.clone(), &arguments);
    match round.run(handler).await? {
        Outcome::Complete(mut result) => {
            result.description = result.description.or_else(|| route.description.clone());
            let meta = result.meta.take();
            shared.results.complete(&result, meta)
        }
        Outcome::InputRequired(result) => round.ask(shared, result),
        Outcome::Task(_) => Err(Error::internal("a prompt cannot be a task")),
    }
}

/// Checks that the arguments of a prompt are texts, with all that are required among them.
fn check_arguments(route: &PromptRoute, arguments: &RawJson) -> Result<(), Error> {
    let texts: Map<String> = arguments.decode().map_err(|error| {
        Error::invalid_params("the arguments of a prompt must be strings").with_source(error)
    })?;
    match route.required.iter().find(|name| !texts.contains(name)) {
        Some(missing) => Err(Error::invalid_params(format!(
            "the argument `{missing}` is required"
        ))),
        None => Ok(()),
    }
}

fn erase<S, H>(handler: H) -> Box<PromptFn>
where
    H: Handler<S>,
    H::Arguments: Arguments,
    H::Output: PromptOutput,
{
    Box::new(move |cx, arguments| match H::Arguments::decode(arguments) {
        Ok(arguments) => {
            let answer = handler.call(cx, arguments);
            Box::pin(async move { answer.await.into_outcome() })
        }
        Err(error) => {
            let error = Error::invalid_params(format!("`arguments`: {error}"));
            Box::pin(std::future::ready(Err(error)))
        }
    })
}

impl PromptOutput for GetPromptResult {
    fn into_outcome(self) -> PromptOutcome {
        Ok(Outcome::Complete(self))
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_outcome(self) -> PromptOutcome {
        Ok(Outcome::Complete(GetPromptResult {
            result_type: tag::Complete::Value,
            description: None,
            messages: self,
            meta: None,
        }))
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
        match self {
            Self::Complete(output) => output.into_outcome(),
            Self::InputRequired(result) => Ok(Outcome::InputRequired(result)),
            Self::Task(result) => Ok(Outcome::Task(result)),
        }
    }
}

impl<O: PromptOutput, E: Into<Error>> PromptOutput for Result<O, E> {
    fn into_outcome(self) -> PromptOutcome {
        self.map_err(Into::into)?.into_outcome()
    }
}
