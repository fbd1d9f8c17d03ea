//! Members of the params of a request, read without decoding the rest.

use std::borrow::Cow;

use callgate_wire::{Method, RawJson};

use crate::error::Error;
use crate::service::Call;

/// Target of a request: the value of the member that names its tool, prompt, resource or task.
pub(crate) fn target<'a>(
    method: &Method,
    value: Option<&'a RawJson>,
) -> Result<Cow<'a, str>, Error> {
    text(value, target_member(method))
}

/// Params of a request that a handler answers and that may ask for input: its target, `arguments`,
/// `inputResponses` and `requestState`.
pub(crate) fn handler_members(call: &Call) -> [Option<RawJson>; 4] {
    let target = target_member(&call.method);
    let members = [target, "arguments", "inputResponses", "requestState"];
    call.params().pick(members)
}

/// Member that names the target of the request.
pub(crate) fn target_member(method: &Method) -> &'static str {
    method.target_member().expect("the method has a target")
}

/// Text of a required member.
pub(crate) fn text<'a>(value: Option<&'a RawJson>, key: &str) -> Result<Cow<'a, str>, Error> {
    value
        .and_then(RawJson::text)
        .ok_or_else(|| Error::invalid_params(format!("`{key}` must be a string")))
}

/// Optional object member; an absent one is empty.
pub(crate) fn object(value: Option<RawJson>, key: &str) -> Result<RawJson, Error> {
    match value {
        None => Ok(RawJson::empty_object()),
        Some(value) if value.is_object() => Ok(value),
        Some(_) => Err(Error::invalid_params(format!("`{key}` must be an object"))),
    }
}
