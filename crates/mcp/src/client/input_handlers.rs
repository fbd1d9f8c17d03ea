use std::sync::Arc;

use callgate_wire::elicitation::{
    ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams, RequestedSchema,
};
use callgate_wire::input::{InputRequest, InputResponse};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult};
use callgate_wire::{Map, RawJson};

use crate::error::{Error, Kind};
use crate::service::BoxFuture;

/// Refusal of a handler to give the input that a server asked for.
///
/// The call that needed the input ends with an error that has this reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InputRefused {
    reason: String,
}

impl InputRefused {
    /// Refuses for this reason.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// Fills in a form: returns the answers in `given`, with the form's defaults for the missing ones.
///
/// `given` is an object; any other value counts as no answers.
///
/// ```
/// # use callgate_mcp::client::with_defaults;
/// # use callgate_mcp::wire::elicitation::{BooleanSchema, RequestedSchema};
/// # use callgate_mcp::wire::RawJson;
/// let newsletter = BooleanSchema::new().with_default(false);
/// let form = RequestedSchema::new().with_optional("newsletter", newsletter);
/// let given = RawJson::encode(&serde_json::json!({"name": "Ada"}))?;
/// assert_eq!(with_defaults(&form, &given).as_str(), r#"{"name":"Ada","newsletter":false}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn with_defaults(form: &RequestedSchema, given: &RawJson) -> RawJson {
    let mut answers: Map<RawJson> = given.decode().unwrap_or_default();
    for (name, field) in form.properties.iter() {
        let field = RawJson::encode(field).expect("a schema is JSON");
        if let Some(default) = field.get("default")
            && !answers.contains(name)
        {
            answers.insert(name, default);
        }
    }
    RawJson::encode(&answers).expect("an object of JSON values is JSON")
}

/// Handlers of the input requests of a server.
///
/// The client declares no capability for a kind of input without handler.
#[derive(Clone, Default)]
pub(super) struct InputHandlers {
    pub(super) form: Option<InputHandler<ElicitFormParams, ElicitResult>>,
    pub(super) url: Option<InputHandler<ElicitUrlParams, ElicitResult>>,
    pub(super) sampling:
        Option<InputHandler<CreateMessageParams, Result<CreateMessageResult, InputRefused>>>,
    pub(super) sampling_tools: SamplingTools,
    pub(super) roots: Option<InputHandler<(), Result<Vec<Root>, InputRefused>>>,
}

/// Permission of the server to offer tools to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SamplingTools {
    Allowed,
    #[default]
    Refused,
}

pub(super) type InputHandler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<'static, A> + Send + Sync>;

/// Makes a handler of an async function.
pub(super) fn handler<Q, A, F, R>(function: F) -> InputHandler<Q, A>
where
    F: Fn(Q) -> R + Send + Sync + 'static,
    R: Future<Output = A> + Send + 'static,
{
    Arc::new(move |request| Box::pin(function(request)))
}

impl InputHandlers {
    /// Answers one input request.
    pub(super) async fn answer(&self, request: &InputRequest) -> Result<InputResponse, Error> {
        match request {
            InputRequest::Elicit(request) => self.elicit(&request.params).await,
            InputRequest::CreateMessage(request) => self.sample(&request.params).await,
            InputRequest::ListRoots(_) => self.list_roots().await,
            _ => Err(undeclared(request.method())),
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
            _ => return Err(undeclared("elicitation of another mode")),
        };
        Ok(InputResponse::from(&answer.await))
    }

    async fn sample(&self, params: &CreateMessageParams) -> Result<InputResponse, Error> {
        let handler = self.sampling.as_ref();
        let handler = handler.ok_or_else(|| undeclared("sampling"))?;
        // A server may ask only for what the client declared, so the handler never sees the rest.
        let wants_tools = params.tools.is_some() || params.tool_choice.is_some();
        if wants_tools && self.sampling_tools == SamplingTools::Refused {
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
        Ok(InputResponse::from(&ListRootsResult::new(roots)))
    }
}

fn undeclared(what: &str) -> Error {
    let message = format!("the server asks for {what}, which this client did not offer");
    Error::new(Kind::Protocol, message)
}

fn refused(what: &str, reason: InputRefused) -> Error {
    let message = format!("the server's request for {what} was refused: {reason}");
    Error::new(Kind::InputRequired, message).with_source(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_field_has_its_default_and_given_values_win() {
        let form: RequestedSchema = serde_json::from_str(
            r#"{"type":"object","properties":{
                "name":{"type":"string","default":"John Doe"},
                "age":{"type":"integer","default":30},
                "score":{"type":"number","default":95.50},
                "status":{"type":"string","enum":["active","gone"],"default":"active"},
                "color":{"type":"string","oneOf":[{"const":"r","title":"Red"}],"default":"r"},
                "tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]},
                "verified":{"type":"boolean","default":true},
                "note":{"type":"string"}
            }}"#,
        )
        .unwrap();
        let check = |given: &str, expect: &str| {
            let given: RawJson = serde_json::from_str(given).unwrap();
            assert_eq!(with_defaults(&form, &given).as_str(), expect);
        };
        check(
            "{}",
            r#"{"name":"John Doe","age":30,"score":95.50,"status":"active","color":"r","tags":["a"],"verified":true}"#,
        );
        check(
            r#"{"verified":false,"other":1.0,"age":7,"name":"x","score":0,"status":"gone","color":"r","tags":[]}"#,
            r#"{"verified":false,"other":1.0,"age":7,"name":"x","score":0,"status":"gone","color":"r","tags":[]}"#,
        );
        check(
            "null",
            with_defaults(&form, &RawJson::empty_object()).as_str(),
        );
    }
}
