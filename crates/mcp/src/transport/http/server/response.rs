use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use callgate_wire::{FrameError, Id, encode};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};

use super::auth::CredentialError;
use super::body::{EventChunks, LARGE, ResponseBody};
use crate::error::Error;
use crate::server::{self, CallerBudget, UnsentBudget, reply};
use crate::service::{Caller, Reply};

/// Reason to refuse a request before its message is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is not exactly one valid `Host`.
    BadHost,
    /// The host, the origin or the site is not allowed.
    Forbidden,
    /// The head can be read in more than one way.
    Ambiguous,
    NotFound,
    MethodNotAllowed {
        allow: &'static str,
    },
    Unauthorized,
    /// The token verifier refuses it.
    Credential(Box<CredentialError>),
    UnsupportedMediaType,
    NotAcceptable,
    BodyTooLarge,
    BodyTooSlow,
    BodyBroken,
    /// The bodies of all connections together are too large.
    BodyBudgetExceeded,
    /// Too many answers wait to be sent, to this caller or to all.
    AnswersUnread,
}

/// Value of `Retry-After` while too many answers are unread.
const BUSY_SECONDS: u64 = server::RETRY_AFTER.as_secs();

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

/// The response to a refused request.
pub(super) fn refuse(refusal: Refusal) -> Response<ResponseBody> {
    let (status, body) = match &refusal {
        Refusal::BadHost => (400, message!("exactly one valid Host header is required")),
        Refusal::Forbidden => (403, message!("the Host or Origin is not allowed here")),
        Refusal::Ambiguous => (400, message!("the request head is ambiguous")),
        // Without a body: a 404 with an error of the protocol would say that the method is unknown.
        Refusal::NotFound => (404, ""),
        Refusal::MethodNotAllowed { .. } => (405, ""),
        Refusal::Unauthorized => (401, ""),
        Refusal::Credential(error) => match **error {
            CredentialError::Unauthorized(_) => (401, ""),
            CredentialError::Forbidden(_) => (403, ""),
            CredentialError::Unavailable => {
                (503, message!("tokens cannot be verified at the moment"))
            }
        },
        Refusal::UnsupportedMediaType => (415, message!("Content-Type must be application/json")),
        Refusal::NotAcceptable => (
            406,
            message!("Accept must allow application/json or text/event-stream"),
        ),
        Refusal::BodyTooLarge => (413, message!("the body is too large")),
        Refusal::BodyTooSlow => (408, message!("the body took too long")),
        Refusal::BodyBroken => (400, message!("the body ended early or is malformed")),
        Refusal::BodyBudgetExceeded => {
            (503, message!("too many large requests at once; try again"))
        }
        Refusal::AnswersUnread => (
            503,
            message!("too many answers are unread; read them, then try again"),
        ),
    };
    let mut response = if body.is_empty() {
        Response::new(ResponseBody::empty())
    } else {
        json(ResponseBody::whole(Bytes::from_static(body.as_bytes())))
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
        Refusal::Credential(error) => match *error {
            CredentialError::Unauthorized(challenge) | CredentialError::Forbidden(challenge) => {
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            // No challenge: another token would fail in the same way.
            CredentialError::Unavailable => {}
        },
        Refusal::AnswersUnread => {
            headers.insert(RETRY_AFTER, HeaderValue::from(BUSY_SECONDS));
        }
        // The rest of the request cannot be told from the next one.
        Refusal::Ambiguous | Refusal::BodyTooSlow => close_after(&mut response),
        _ => {}
    }
    response
}

/// The response to a request whose client has to read earlier answers first.
#[cfg(feature = "legacy")]
pub(crate) fn answers_unread() -> Response<ResponseBody> {
    refuse(Refusal::AnswersUnread)
}

/// The response to a message that is refused before the service is called.
pub(crate) fn reject(id: Option<&Id>, error: &Error) -> Response<ResponseBody> {
    error_response(400, |out| reply::error_response(out, id, error))
}

/// The response to a body that is not a message.
pub(super) fn reject_frame(error: &FrameError) -> Response<ResponseBody> {
    error_response(400, |out| {
        encode::error(out, error.id.as_ref(), &error.to_rpc());
    })
}

/// The response to a notification.
pub(crate) fn accepted() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The response with the outcome of a call as one JSON message.
pub(super) fn outcome(
    id: &Id,
    outcome: Result<Reply, Error>,
    unsent: &Arc<UnsentBudget>,
    caller: &Caller,
) -> Response<ResponseBody> {
    match outcome {
        Ok(reply) => match whole_result(id, reply, unsent, caller) {
            Ok(body) => json(body),
            Err(error) => {
                let mut response = failure(id, &error);
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
        },
        Err(error) => failure(id, &error),
    }
}

/// The response whose body is an event stream.
pub(crate) fn event_stream(stream: impl EventChunks + 'static) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::events(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that compresses the stream would hold events back.
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-store, no-transform"),
    );
    // nginx and proxies like it collect a response before they pass it on, unless they are told not to.
    headers.insert(&X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// Makes `response` the last one of its connection.
pub(super) fn close_after(response: &mut Response<ResponseBody>) {
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
}

/// The body with a result, if there is room for another unsent answer.
fn whole_result(
    id: &Id,
    reply: Reply,
    unsent: &Arc<UnsentBudget>,
    caller: &Caller,
) -> Result<ResponseBody, Error> {
    let result = reply.into_result();
    let mut out = BytesMut::new();
    if result.as_bytes().len() < LARGE {
        encode::result(&mut out, id, &result);
        return Ok(ResponseBody::whole(out.freeze()));
    }
    encode::result_prefix(&mut out, id);
    Ok(ResponseBody::parts([
        out.freeze(),
        CallerBudget::new(unsent, caller).admit(result.into_bytes())?,
        Bytes::from_static(encode::RESULT_SUFFIX),
    ]))
}

/// The response with the error of a call.
pub(super) fn failure(id: &Id, error: &Error) -> Response<ResponseBody> {
    let mut response = error_response(reply::status(error), |out| {
        reply::error_response(out, Some(id), error);
    });
    set_retry_after(&mut response, error);
    response
}

/// Adds the time after which the request of this error may be tried again, if it is known.
pub(crate) fn set_retry_after(response: &mut Response<ResponseBody>, error: &Error) {
    if let Some(seconds) = retry_after(error) {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

fn error_response(status: u16, write: impl FnOnce(&mut BytesMut)) -> Response<ResponseBody> {
    let mut out = BytesMut::new();
    write(&mut out);
    let mut response = json(ResponseBody::whole(out.freeze()));
    *response.status_mut() = status_code(status);
    response
}

/// Value of `Retry-After`, in whole seconds.
fn retry_after(error: &Error) -> Option<u64> {
    let time = error.retry_after()?;
    // Rounded up, because a client that comes back too early is refused again.
    Some(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

/// The response with `body`, which is JSON.
pub(crate) fn json(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
