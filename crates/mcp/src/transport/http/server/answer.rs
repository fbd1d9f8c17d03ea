use bytes::{Bytes, BytesMut};
use callgate_wire::{FrameError, Id, encode};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};

use super::body::Body;
use super::events::EventStream;
use super::verifier::Unproven;
use crate::error::{Error, Kind};
use crate::server::reply;
use crate::service::Reply;

/// Why a request is refused before there is a message to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is not exactly one valid `Host`.
    BadHost,
    /// The host, the origin or the site is not one we answer.
    Forbidden,
    /// The head can be read in more than one way.
    Ambiguous,
    NotFound,
    MethodNotAllowed {
        allow: &'static str,
    },
    Unauthorized,
    /// The verifier of tokens refuses it.
    Unproven(Box<Unproven>),
    UnsupportedMediaType,
    NotAcceptable,
    BodyTooLarge,
    BodyTooSlow,
    BodyBroken,
    /// There is no room for the body beside those of others.
    NoRoom,
}

/// Results of at least this many bytes are sent as they are, smaller ones copied into one buffer.
const LARGE: usize = 8 * 1024;

static X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A JSON-RPC error without id that says `$text`.
macro_rules! message {
    ($text:literal) => {
        concat!(
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":""#,
            $text,
            r#""}}"#
        )
    };
}

/// The response to a request that is refused before there is a message to answer.
pub(super) fn refuse(refusal: Refusal) -> Response<Body> {
    let (status, body) = match &refusal {
        Refusal::BadHost => (400, message!("exactly one valid Host header is required")),
        Refusal::Forbidden => (403, message!("forbidden")),
        Refusal::Ambiguous => (400, message!("the request head is ambiguous")),
        Refusal::NotFound => (404, ""),
        Refusal::MethodNotAllowed { .. } => (405, ""),
        Refusal::Unauthorized => (401, ""),
        Refusal::Unproven(unproven) => match **unproven {
            Unproven::Unauthorized(_) => (401, ""),
            Unproven::Forbidden(_) => (403, ""),
            Unproven::Unavailable => (503, message!("tokens cannot be verified at the moment")),
        },
        Refusal::UnsupportedMediaType => (415, message!("Content-Type must be application/json")),
        Refusal::NotAcceptable => (
            406,
            message!("Accept must allow application/json or text/event-stream"),
        ),
        Refusal::BodyTooLarge => (413, message!("the body is too large")),
        Refusal::BodyTooSlow => (408, message!("the body took too long")),
        Refusal::BodyBroken => (400, message!("the body ended early or is malformed")),
        Refusal::NoRoom => (503, message!("too many large requests at once; try again")),
    };
    let mut response = if body.is_empty() {
        Response::new(Body::empty())
    } else {
        json(Body::whole(Bytes::from_static(body.as_bytes())))
    };
    *response.status_mut() = status_code(status);
    let headers = response.headers_mut();
    match refusal {
        Refusal::MethodNotAllowed { allow } => {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        Refusal::Unauthorized => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refusal::Unproven(unproven) => match *unproven {
            Unproven::Unauthorized(challenge) | Unproven::Forbidden(challenge) => {
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            Unproven::Unavailable => {}
        },
        Refusal::Ambiguous | Refusal::BodyTooSlow => close_after(&mut response),
        _ => {}
    }
    response
}

/// The response to a message that is refused before anybody is called.
pub(super) fn reject(id: Option<&Id>, error: &Error) -> Response<Body> {
    let mut out = BytesMut::new();
    reply::error_response(&mut out, id, error);
    let mut response = json(Body::whole(out.freeze()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// The response to a body that is no message.
pub(super) fn reject_frame(error: &FrameError) -> Response<Body> {
    let mut out = BytesMut::new();
    encode::error(&mut out, error.id.as_ref(), &error.to_rpc());
    let mut response = json(Body::whole(out.freeze()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// The response to a notification.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The response with the outcome of a call as one JSON message.
pub(super) fn outcome(id: &Id, outcome: Result<Reply, Error>) -> Response<Body> {
    match outcome {
        Ok(reply) => json(whole_result(id, reply)),
        Err(error) => failure(id, &error),
    }
}

/// The response whose body is a stream of events.
pub(super) fn events(stream: EventStream) -> Response<Body> {
    event_stream(Body::events(stream))
}

/// The response with `body`, which is a stream of events.
pub(super) fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-store, no-transform"),
    );
    headers.insert(&X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// Makes `response` the last one of its connection.
pub(super) fn close_after(response: &mut Response<Body>) {
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
}

fn whole_result(id: &Id, reply: Reply) -> Body {
    let result = reply.into_result();
    let mut out = BytesMut::new();
    if result.as_bytes().len() < LARGE {
        encode::result(&mut out, id, &result);
        return Body::whole(out.freeze());
    }
    encode::result_prefix(&mut out, id);
    Body::parts([
        out.freeze(),
        result.into_bytes(),
        Bytes::from_static(encode::RESULT_SUFFIX),
    ])
}

fn failure(id: &Id, error: &Error) -> Response<Body> {
    let mut out = BytesMut::new();
    reply::error_response(&mut out, Some(id), error);
    let mut response = json(Body::whole(out.freeze()));
    *response.status_mut() = status_code(reply::status(error));
    if let Some(seconds) = retry_after(error) {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// After how many seconds a request that was too much may come again.
fn retry_after(error: &Error) -> Option<u64> {
    if error.kind() != Kind::Busy {
        return None;
    }
    let milliseconds: u64 = error.data()?.get("retryAfterMs")?.decode().ok()?;
    Some(milliseconds.div_ceil(1000))
}

/// The response with `body`, which is JSON.
pub(super) fn json(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
