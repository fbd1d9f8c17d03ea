use callgate_wire::result::ResultType;
use callgate_wire::{Method, RawJson, method};

use super::handle::Client;
use super::input::may_ask;
use crate::error::{Error, Kind};
use crate::service::Reply;

/// What a reply says, once it is known to be one that may be given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The result.
    Complete(RawJson),
    /// The server needs input first.
    InputRequired(RawJson),
    /// The server goes on in the background.
    Task(RawJson),
}

impl Answer {
    /// The result, whatever kind it is.
    pub(super) fn into_result(self) -> RawJson {
        match self {
            Self::Complete(result) | Self::InputRequired(result) | Self::Task(result) => result,
        }
    }
}

impl Client {
    /// Reads the type of a reply to `method`; one that was not offered is a breach of protocol.
    pub(super) fn read(&self, method: &Method, reply: Reply) -> Result<Answer, Error> {
        let (found, result) = match reply {
            Reply::InputRequired(result) => (Ok(ResultType::InputRequired), result),
            Reply::Complete(result) => (ResultType::of(&result), result),
        };
        let refuse = |what: String| Err(self.of_server(Error::new(Kind::Protocol, what)));
        match found {
            _ if !result.is_object() => {
                refuse(format!("the result of `{method}` is not an object"))
            }
            Ok(ResultType::Complete) => Ok(Answer::Complete(result)),
            Ok(ResultType::InputRequired) if may_ask(method) => asks(&result)
                .then_some(Answer::InputRequired(result))
                .map_or_else(
                    || refuse(format!("`{method}` asks for input but for none")),
                    Ok,
                ),
            Ok(ResultType::Task) if self.takes_task(method) => Ok(Answer::Task(result)),
            _ => {
                let found = result.get("resultType");
                let found = found.as_ref().map_or("input_required", RawJson::as_str);
                refuse(format!(
                    "`{method}` was answered with the result type {found}, which it must not have"
                ))
            }
        }
    }

    fn takes_task(&self, method: &Method) -> bool {
        self.shared.tasks && method.as_str() == method::TOOLS_CALL
    }
}

/// Whether a result that asks for input says what for, or at least what to come back with.
fn asks(required: &RawJson) -> bool {
    required.get("inputRequests").is_some() || required.get("requestState").is_some()
}
