//! The only mapping from our errors to the wire.

use bytes::BytesMut;
#[cfg(feature = "http-server")]
use callgate_wire::code;
use callgate_wire::{Id, RpcError, encode};

use crate::error::Error;
use crate::service::Reply;

/// Appends the response to the request `id`, on one line.
pub(crate) fn response(out: &mut BytesMut, id: &Id, outcome: &Result<Reply, Error>) {
    match outcome {
        Ok(reply) => encode::result(out, id, reply.result()),
        Err(error) => error_response(out, Some(id), error),
    }
}

/// Appends an error response, on one line.
pub(crate) fn error_response(out: &mut BytesMut, id: Option<&Id>, error: &Error) {
    match error.raw() {
        Some(raw) => encode::raw_error(out, id, raw),
        None => encode::error(out, id, &to_rpc(error)),
    }
}

/// An error as the caller sees it.
pub(crate) fn to_rpc(error: &Error) -> RpcError {
    let upstream = error.raw().and_then(|raw| raw.decode().ok());
    upstream.unwrap_or_else(|| {
        let mut rpc = RpcError::new(error.code(), error.to_string());
        rpc.data = error.data().cloned();
        rpc
    })
}

/// The HTTP status of a response that carries `error`.
#[cfg(feature = "http-server")]
pub(crate) fn status(error: &Error) -> u16 {
    match error.code() {
        code::PARSE_ERROR
        | code::INVALID_REQUEST
        | code::HEADER_MISMATCH
        | code::MISSING_REQUIRED_CLIENT_CAPABILITY
        | code::UNSUPPORTED_PROTOCOL_VERSION => 400,
        code::METHOD_NOT_FOUND => 404,
        code::RATE_LIMITED => 429,
        // Errors of a method, invalid params included, are ordinary responses: the specification sets no
        // status for them. Missing metadata, which is 400, was refused before the call.
        _ => 200,
    }
}
