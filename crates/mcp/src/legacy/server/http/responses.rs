use bytes::{Bytes, BytesMut};
use callgate_wire::legacy::code as old;
use callgate_wire::{Id, RawJson, RpcError, Version, code, encode};
use http::header::{HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::json;

use super::session_table::{SessionLimit, TableFull};
use crate::error::Error;
use crate::transport::http::server::{ResponseBody, response};

pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// The response with one message, or a batch of them.
pub(super) fn json(message: Bytes) -> Response<ResponseBody> {
    response::json(ResponseBody::whole(message))
}

/// The session does not exist, which is all that 404 means to an old client.
///
/// The code in the body must not be that of an unknown method, which together with 404 would be the
/// answer of a newer server.
pub(super) fn no_session(id: Option<&Id>) -> Response<ResponseBody> {
    let message = "the session has ended or never was: open a new one with `initialize`";
    refuse(StatusCode::NOT_FOUND, id, message)
}

pub(super) fn unknown_version(id: Option<&Id>) -> Response<ResponseBody> {
    let known: Vec<_> = Version::ALL
        .iter()
        .filter(|version| !version.is_modern())
        .map(|version| version.as_str())
        .collect();
    let message = format!(
        "header `MCP-Protocol-Version` must name one of {}",
        known.join(", ")
    );
    refuse(StatusCode::BAD_REQUEST, id, &message)
}

/// The response to a request that breaks the rules of the transport.
pub(super) fn refuse(status: StatusCode, id: Option<&Id>, message: &str) -> Response<ResponseBody> {
    let mut out = BytesMut::new();
    encode::error(&mut out, id, &RpcError::new(code::INVALID_REQUEST, message));
    let mut response = json(out.freeze());
    *response.status_mut() = status;
    response
}

/// The response to a client that may not open another session now.
pub(super) fn full(full: TableFull, id: Option<&Id>) -> Response<ResponseBody> {
    let (status, message) = match full.limit {
        SessionLimit::Caller => (
            StatusCode::TOO_MANY_REQUESTS,
            "session limit of this caller reached: end sessions with DELETE, or retry after the time in Retry-After",
        ),
        SessionLimit::Server => (
            StatusCode::SERVICE_UNAVAILABLE,
            "session limit of the server reached: retry after the time in Retry-After",
        ),
    };
    // Whole seconds, rounded up: the header has no smaller unit.
    let seconds = full.retry_after.as_millis().div_ceil(1000).max(1);
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    let milliseconds = seconds.saturating_mul(1000);
    let data = json!({ "reason": "rate_limited", "retryAfterMs": milliseconds });
    let data = RawJson::encode(&data).expect("data is always JSON");
    // Old revisions have no code for it but that of any server error.
    let error = Error::custom(old::SERVER_ERROR, message).with_data(data);
    let mut response = response::reject(id, &error);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
