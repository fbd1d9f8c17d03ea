use bytes::{Bytes, BytesMut};
use callgate_wire::{Id, RawJson, RpcError, Version, code, encode};
use http::header::{HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde::Serialize;

use super::events::Events;
use super::store::Full;
use crate::error::{Error, Kind};
use crate::server::reply;

/// A response to an old client.
pub(crate) type Answer = Response<Content>;

/// The body of a response to an old client.
#[derive(Debug)]
pub(crate) enum Content {
    /// No body.
    Empty,
    /// One message, or a batch of them.
    Json(Bytes),
    /// A stream of events.
    Events(Box<Events>),
}

/// After how many seconds a client may ask again for a session.
const RETRY_SECONDS: u64 = 30;

pub(super) fn accepted() -> Answer {
    empty(StatusCode::ACCEPTED)
}

pub(super) fn empty(status: StatusCode) -> Answer {
    with_status(status, Content::Empty)
}

pub(super) fn json(message: Bytes) -> Answer {
    Response::new(Content::Json(message))
}

pub(super) fn events(events: Events) -> Answer {
    Response::new(Content::Events(Box::new(events)))
}

/// The session is gone: the one thing that 404 means to an old client.
///
/// The code in the body must not be that of an unknown method, which together with 404 would be the
/// answer of a newer server.
pub(super) fn no_session(id: Option<&Id>) -> Answer {
    let message = "the session has ended or never was: open a new one with `initialize`";
    refuse(StatusCode::NOT_FOUND, id, message)
}

pub(super) fn unknown_version(id: Option<&Id>) -> Answer {
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

/// The response to something that no old client may send like this.
pub(super) fn refuse(status: StatusCode, id: Option<&Id>, message: &str) -> Answer {
    let mut out = BytesMut::new();
    encode::error(&mut out, id, &RpcError::new(code::INVALID_REQUEST, message));
    with_status(status, Content::Json(out.freeze()))
}

/// The response to something that is refused with `error`.
pub(super) fn reject(id: Option<&Id>, error: &Error) -> Answer {
    let mut out = BytesMut::new();
    reply::error_response(&mut out, id, error);
    with_status(StatusCode::BAD_REQUEST, Content::Json(out.freeze()))
}

/// The response to a client for whose session there is no place.
pub(super) fn full(full: Full, id: Option<&Id>) -> Answer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        retry_after_ms: u64,
    }
    let (status, message) = match full {
        Full::Caller => (
            StatusCode::TOO_MANY_REQUESTS,
            "you have too many sessions open: end some with DELETE, or let them expire",
        ),
        Full::Server => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the server has too many sessions open: try again later",
        ),
    };
    let data = RawJson::encode(&Data {
        retry_after_ms: RETRY_SECONDS * 1000,
    })
    .expect("a number is always JSON");
    let error = Error::new(Kind::Busy, message).with_data(data);
    let mut answer = reject(id, &error);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    answer
}

fn with_status(status: StatusCode, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    answer
}
