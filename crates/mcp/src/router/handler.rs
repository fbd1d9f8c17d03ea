use std::future::{Future, ready};
use std::sync::Arc;

use callgate_wire::{DecodeError, RawJson};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;

use super::context::RequestCx;
use crate::service::BoxFuture;

/// Handler: an async function that answers the requests of one tool, prompt or resource.
///
/// The trait is implemented for functions without parameters, with arguments, with a [`RequestCx`],
/// and with a [`RequestCx`] and arguments in this order, so users never name it. Arguments are of
/// any type that can be deserialized, or [`RawArguments`].
pub trait Handler<Signature>: Send + Sync + 'static {
    /// Arguments of the function.
    type Arguments: Arguments;
    /// Result of the function.
    type Output;
    /// Future of the function.
    type Future: Future<Output = Self::Output> + Send + 'static;

    /// Answers one request. Dropping the future cancels it.
    fn call(&self, cx: RequestCx, arguments: Self::Arguments) -> Self::Future;
}

/// Arguments that a [`Handler`] can take.
pub trait Arguments: Sized + Send + 'static {
    /// Decodes arguments from the JSON text of the request, so that no number is rounded.
    ///
    /// # Errors
    /// The arguments have another shape.
    fn decode(raw: &RawJson) -> Result<Self, DecodeError>;
}

/// Raw arguments: the JSON of the request, checked against the schema of the tool but not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it wraps one value")]
pub struct RawArguments(pub RawJson);

/// Arguments of a function without any: those of the request are ignored.
///
/// Complete: it holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing")]
pub struct NoArguments;

impl<T: DeserializeOwned + Send + 'static> Arguments for T {
    fn decode(raw: &RawJson) -> Result<Self, DecodeError> {
        raw.decode()
    }
}

impl Arguments for RawArguments {
    fn decode(raw: &RawJson) -> Result<Self, DecodeError> {
        Ok(Self(raw.clone()))
    }
}

impl Arguments for NoArguments {
    fn decode(_raw: &RawJson) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

impl JsonSchema for NoArguments {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoArguments".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": false })
    }
}

/// Handler without its types: it takes the JSON of its arguments, and a value `C` that says what the
/// request is about.
pub(crate) type ErasedHandler<C, T> =
    dyn Fn(RequestCx, &RawJson, C) -> BoxFuture<'static, T> + Send + Sync;

/// Erases the types of a handler. `convert` makes the outcome of its output, and `refuse` the outcome
/// of arguments that have another shape.
pub(crate) fn erase<S, H, C, T>(
    handler: H,
    convert: impl Fn(H::Output, &C) -> T + Copy + Send + Sync + 'static,
    refuse: fn(DecodeError, &RawJson, &C) -> T,
) -> Arc<ErasedHandler<C, T>>
where
    H: Handler<S>,
    C: Send + 'static,
    T: Send + 'static,
{
    Arc::new(
        move |cx, arguments, about| match H::Arguments::decode(arguments) {
            Ok(arguments) => {
                let answer = handler.call(cx, arguments);
                Box::pin(async move { convert(answer.await, &about) })
            }
            Err(error) => Box::pin(ready(refuse(error, arguments, &about))),
        },
    )
}

impl<F, Fut> Handler<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, _cx: RequestCx, _arguments: NoArguments) -> Fut {
        self()
    }
}

impl<F, A, Fut> Handler<(A,)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: Arguments,
    Fut: Future + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, _cx: RequestCx, arguments: A) -> Fut {
        self(arguments)
    }
}

impl<F, Fut> Handler<(RequestCx,)> for F
where
    F: Fn(RequestCx) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, cx: RequestCx, _arguments: NoArguments) -> Fut {
        self(cx)
    }
}

impl<F, A, Fut> Handler<(RequestCx, A)> for F
where
    F: Fn(RequestCx, A) -> Fut + Send + Sync + 'static,
    A: Arguments,
    Fut: Future + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, cx: RequestCx, arguments: A) -> Fut {
        self(cx, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    #[derive(serde::Deserialize, Debug, PartialEq, Eq)]
    struct Large {
        number: u128,
        any: RawJson,
    }

    #[test]
    fn no_number_is_rounded_on_the_way() {
        let text = r#"{"number":12345678901234567890123,"any":[49E-31]}"#;
        let raw = RawJson::parse(text.into(), &Limits::default()).unwrap();
        let large: Large = Arguments::decode(&raw).unwrap();
        assert_eq!(large.number, 12_345_678_901_234_567_890_123);
        assert_eq!(large.any.as_str(), "[49E-31]");
    }
}
