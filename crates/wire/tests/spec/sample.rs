//! Values that we write, each for a type of the schema.

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};
use callgate_wire::{Frame, Id, Limits, Method, RawJson, RpcError, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Something we wrote, and the type of the schema that it should fit.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) json: RawJson,
}

/// Writes a value, and sees that it reads back.
pub(crate) fn value<T>(name: &'static str, value: &T) -> Sample
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let json = RawJson::encode(value).unwrap();
    let back: T = json
        .decode()
        .unwrap_or_else(|error| panic!("{name}: {error}: {json:?}"));
    assert_eq!(&back, value, "{name}");
    Sample { name, json }
}

/// Writes a request with these parameters.
pub(crate) fn request(name: &'static str, method: &str, params: &impl Serialize) -> Sample {
    let params = RawJson::encode(params).unwrap();
    message(name, |out| {
        encode::request(out, &Id::text("r-1"), &Method::new(method), &params);
    })
}

/// Writes a notification with these parameters.
pub(crate) fn notification(name: &'static str, method: &str, params: &impl Serialize) -> Sample {
    let params = RawJson::encode(params).unwrap();
    message(name, |out| {
        encode::notification(out, &Method::new(method), &params);
    })
}

/// Writes a response with this result.
pub(crate) fn response(name: &'static str, result: &impl Serialize) -> Sample {
    let result = RawJson::encode(result).unwrap();
    message(name, |out| encode::result(out, &Id::number(7), &result))
}

/// Writes a response with this error.
pub(crate) fn error_response(name: &'static str, error: &RpcError) -> Sample {
    message(name, |out| encode::error(out, Some(&Id::number(7)), error))
}

/// The value after `set` has set its optional members: outside of the crate these types cannot be written as literals.
pub(crate) fn with<T>(mut value: T, set: impl FnOnce(&mut T)) -> T {
    set(&mut value);
    value
}

/// The JSON of a literal.
pub(crate) fn json(value: &Value) -> RawJson {
    RawJson::encode(value).unwrap()
}

fn message(name: &'static str, write: impl FnOnce(&mut BytesMut)) -> Sample {
    let mut out = BytesMut::new();
    write(&mut out);
    let bytes: Bytes = out.freeze();
    Frame::parse(&bytes, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let json = RawJson::parse_strict(bytes, &Limits::default()).unwrap();
    Sample { name, json }
}
