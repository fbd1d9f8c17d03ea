//! Reads members of the params of a request without decoding the rest.

use std::borrow::Cow;

use callgate_wire::RawJson;

use crate::error::Error;

/// The members of a request by name that may ask for input.
pub(crate) const MAY_ASK: [&str; 4] = ["name", "arguments", "inputResponses", "requestState"];

/// The text of a member that must be there.
pub(crate) fn text<'a>(value: Option<&'a RawJson>, key: &str) -> Result<Cow<'a, str>, Error> {
    value
        .and_then(RawJson::text)
        .ok_or_else(|| Error::invalid_params(format!("`{key}` must be a string")))
}

/// An object that counts as empty where it is absent.
pub(crate) fn object(value: Option<RawJson>, key: &str) -> Result<RawJson, Error> {
    match value {
        None => Ok(RawJson::empty_object()),
        Some(value) if value.is_object() => Ok(value),
        Some(_) => Err(Error::invalid_params(format!("`{key}` must be an object"))),
    }
}
