use std::sync::Arc;

use callgate_wire::completion::{CompleteParams, CompleteResult, Completion, Reference};

use super::catalog::Catalog;
use super::context::RequestCx;
use super::handler::Handler;
use super::service::RouterState;
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply};

/// Result of a completion handler: the values, best first.
pub trait CompletionOutput {
    /// Converts to the completion of the protocol.
    ///
    /// # Errors
    /// The request failed.
    fn into_completion(self) -> Result<Completion, Error>;
}

/// Type-erased completion handler.
pub(crate) type CompletionFn = dyn Fn(RequestCx, CompleteParams) -> BoxFuture<'static, Result<Completion, Error>>
    + Send
    + Sync;

/// Answers `completion/complete`.
pub(crate) async fn complete(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let catalog = router.catalog();
    let Some(function) = catalog.completion.clone() else {
        return Err(Error::method_not_found(&call.method));
    };
    let params: CompleteParams = call
        .params()
        .decode()
        .map_err(|error| Error::invalid_params(error.to_string()))?;
    check_reference(&catalog, &params.reference)?;
    // A snapshot that is held while the handler runs would make each change copy the catalog.
    drop(catalog);
    let cx = RequestCx::new(call.cx, None);
    let completion = function(cx, params).await?;
    let result = CompleteResult::new(within_limit(completion));
    router.results.complete(&result, None)
}

/// Erases the types of a handler.
pub(crate) fn erase<S, H>(handler: H) -> Arc<CompletionFn>
where
    H: Handler<S, Arguments = CompleteParams, Output: CompletionOutput>,
{
    Arc::new(move |cx, params| {
        let answer = handler.call(cx, params);
        Box::pin(async move { answer.await.into_completion() })
    })
}

/// Refuses a reference to an unknown prompt or resource template.
fn check_reference(catalog: &Catalog, reference: &Reference) -> Result<(), Error> {
    match reference {
        Reference::Prompt(prompt) if catalog.prompts.get(&prompt.name).is_none() => Err(
            Error::invalid_params(format!("unknown prompt `{}`", prompt.name)),
        ),
        Reference::ResourceTemplate(template)
            // The specification allows the URI of a plain resource here too.
            if catalog.templates.get(&template.uri).is_none()
                && catalog.resources.get(&template.uri).is_none() =>
        {
            Err(Error::invalid_params(format!(
                "unknown resource template `{}`",
                template.uri
            )))
        }
        _ => Ok(()),
    }
}

/// Shortens a completion to the number of values that the specification allows.
fn within_limit(mut completion: Completion) -> Completion {
    if completion.values.len() > Completion::MAX_VALUES {
        completion.values.truncate(Completion::MAX_VALUES);
        completion.has_more = Some(true);
    }
    completion
}

impl CompletionOutput for Completion {
    fn into_completion(self) -> Result<Completion, Error> {
        Ok(self)
    }
}

impl CompletionOutput for Vec<String> {
    fn into_completion(self) -> Result<Completion, Error> {
        Ok(Completion::of(self))
    }
}

impl<O: CompletionOutput, E: Into<Error>> CompletionOutput for Result<O, E> {
    fn into_completion(self) -> Result<Completion, Error> {
        self.map_err(Into::into)?.into_completion()
    }
}
