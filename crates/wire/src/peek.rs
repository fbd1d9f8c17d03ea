//! Decoding of values whose shape depends on one of their members.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::decode::DecodeError;
use crate::raw::RawJson;

/// The text of the member `key`, which decides how to read the rest.
pub(crate) fn tag<E: Error>(raw: &RawJson, key: &'static str) -> Result<String, E> {
    let value = raw.get(key).ok_or_else(|| E::missing_field(key))?;
    let text = value.text().map(std::borrow::Cow::into_owned);
    text.ok_or_else(|| E::custom(format_args!("member `{key}` must be a string")))
}

/// Reads the same span as a `T`.
pub(crate) fn decode<T: DeserializeOwned, E: Error>(raw: &RawJson) -> Result<T, E> {
    let decoded: Result<T, DecodeError> = raw.decode();
    decoded.map_err(|error| E::custom(error.message()))
}

/// Reads an optional member of which `null` is a value of its own.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}
