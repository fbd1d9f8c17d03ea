use std::fmt;
use std::sync::Arc;

use callgate_wire::elicitation::{ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams};
use callgate_wire::input::{InputRequest, InputResponse};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult};

use crate::error::{Error, Kind};
use crate::service::BoxFuture;

/// Why a client does not give the input that a server asked for.
///
/// The call that needed the input ends with an error that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    reason: String,
}

impl Refused {
    /// A refusal for this reason.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// What answers the input requests of a server. A kind without handler is one never declared.
#[derive(Clone, Default)]
pub(super) struct Handlers {
    pub(super) form: Option<Handler<ElicitFormParams, ElicitResult>>,
    pub(super) url: Option<Handler<ElicitUrlParams, ElicitResult>>,
    pub(super) sampling: Option<Sampling>,
    pub(super) roots: Option<Handler<(), Result<Vec<Root>, Refused>>>,
}

#[derive(Clone)]
pub(super) struct Sampling {
    pub(super) handler: Handler<CreateMessageParams, Result<CreateMessageResult, Refused>>,
    pub(super) tools: SamplingTools,
}

/// Whether a server may offer tools to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SamplingTools {
    Allowed,
    Refused,
}

pub(super) type Handler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<'static, A> + Send + Sync>;

/// The handler that calls `function`.
pub(super) fn handler<Q, A, F, R>(function: F) -> Handler<Q, A>
where
    F: Fn(Q) -> R + Send + Sync + 'static,
    R: Future<Output = A> + Send + 'static,
{
    Arc::new(move |request| Box::pin(function(request)))
}

impl Handlers {
    /// Answers one input request.
    pub(super) async fn answer(&self, request: &InputRequest) -> Result<InputResponse, Error> {
        match request {
            InputRequest::Elicit(request) => self.elicit(&request.params).await,
            InputRequest::CreateMessage(request) => self.sample(&request.params).await,
            InputRequest::ListRoots(_) => self.list_roots().await,
        }
    }

    async fn elicit(&self, params: &ElicitParams) -> Result<InputResponse, Error> {
        let answer = match params {
            ElicitParams::Form(params) => {
                let handler = self.form.as_ref();
                handler.ok_or_else(|| undeclared("elicitation by form"))?(params.clone())
            }
            ElicitParams::Url(params) => {
                let handler = self.url.as_ref();
                handler.ok_or_else(|| undeclared("elicitation by URL"))?(params.clone())
            }
        };
        Ok(InputResponse::from(&answer.await))
    }

    async fn sample(&self, params: &CreateMessageParams) -> Result<InputResponse, Error> {
        let sampling = self.sampling.as_ref();
        let Sampling { handler, tools } = sampling.ok_or_else(|| undeclared("sampling"))?;
        let wants_tools = params.tools.is_some() || params.tool_choice.is_some();
        if wants_tools && *tools == SamplingTools::Refused {
            return Err(undeclared("sampling with tools"));
        }
        let message = handler(params.clone()).await;
        let message = message.map_err(|reason| refused("sampling", reason))?;
        Ok(InputResponse::from(&message))
    }

    async fn list_roots(&self) -> Result<InputResponse, Error> {
        let handler = self.roots.as_ref().ok_or_else(|| undeclared("roots"))?;
        let roots = handler(()).await;
        let roots = roots.map_err(|reason| refused("roots", reason))?;
        Ok(InputResponse::from(&ListRootsResult { roots }))
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("form", &self.form.is_some())
            .field("url", &self.url.is_some())
            .field("sampling", &self.sampling.is_some())
            .field("roots", &self.roots.is_some())
            .finish()
    }
}

fn undeclared(what: &str) -> Error {
    let message = format!("the server asks for {what}, which this client did not offer");
    Error::new(Kind::Protocol, message)
}

fn refused(what: &str, reason: Refused) -> Error {
    let message = format!("the server's request for {what} was refused: {reason}");
    Error::new(Kind::InputRequired, message).with_source(reason)
}
