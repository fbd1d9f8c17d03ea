use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Limits, Notification, Response, sse};
use futures_util::FutureExt;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use http::response::Parts;

use super::body::{BodyError, BodyStream};
use super::config::HttpConfig;
use super::failure::{ErrorStatus, HttpFailure};
use super::pending_request::{MessageAction, PendingRequest};
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::service::Reply;

/// Reads the response to one request.
pub(super) struct ResponseReader<'a> {
    pub(super) request: &'a PendingRequest<'a>,
    pub(super) config: &'a HttpConfig,
    /// Counter of the messages that the server must not send.
    pub(super) violations: &'a AtomicU64,
}

impl ResponseReader<'_> {
    /// Reads the outcome of the request. Dropping the future closes the response.
    pub(super) async fn read(&self, head: Parts, body: BodyStream) -> Result<Reply, Error> {
        if !head.status.is_success() {
            return Err(self.refusal(&head, body).await);
        }
        // The specification has 202 for notifications only.
        if head.status == StatusCode::ACCEPTED {
            return Err(self
                .request
                .violated("accepted the request but will not answer it"));
        }
        // The head is dropped before the body is read: headers are slices of the buffer of the
        // connection, which cannot be used again while they live.
        match Content::of(&head.headers) {
            Content::Json => {
                drop(head);
                self.message(body).await
            }
            Content::Events => {
                drop(head);
                self.events(body).await
            }
            Content::Other => {
                let beginning = body.beginning(self.config.limits.error).await;
                Err(self.failure(&head, &beginning))
            }
        }
    }

    /// Reads a response that is one message.
    async fn message(&self, body: BodyStream) -> Result<Reply, Error> {
        let limit = self.config.limits.json;
        let message = body
            .whole(limit)
            .await
            .map_err(|error| self.broken(error))?;
        match self.parse(&message, limit)? {
            Frame::Response(response) => self.request.response(response),
            Frame::Request(_) | Frame::Notification(_) => Err(self
                .request
                .violated("answered with a message that is no response")),
        }
    }

    /// Reads a stream of events up to the response.
    async fn events(&self, mut body: BodyStream) -> Result<Reply, Error> {
        let limit = self.config.limits.event;
        let mut parser = sse::Parser::new(limit);
        let mut events = Vec::new();
        let mut delivery = Delivery::new(&self.request.call.cx.notify);
        while let Some(part) = body.next().await {
            let part = part.map_err(|error| self.broken(BodyError::Broken(error)))?;
            let pushed = parser.push(&part, &mut events);
            // It is a slice of the buffer of the connection, which can be used again while events are
            // delivered.
            drop(part);
            for event in events.drain(..).filter(carries_message) {
                match self.request.receive(self.parse(&event.data, limit)?) {
                    MessageAction::Ignore => {}
                    MessageAction::Violation => self.count_violation(),
                    MessageAction::Notify(notification) => {
                        delivery.deliver(notification).await;
                    }
                    MessageAction::Done(outcome) => {
                        finish(body).await;
                        return outcome;
                    }
                }
            }
            // Only after the events that came before the one that is too large: the response may be among
            // them.
            pushed.map_err(|error| self.too_large("an event", error.limit))?;
        }
        // The server may have acted on the request, so the error does not say that a retry is safe.
        Err(self
            .request
            .failed(Kind::Closed, "ended the stream before the response"))
    }

    fn parse(&self, message: &Bytes, limit: usize) -> Result<Frame, Error> {
        parse(message, limit).map_err(|error| {
            self.request
                .violated(&format!("sent a malformed message: {error}"))
                .with_source(error)
        })
    }

    fn count_violation(&self) {
        self.violations.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            server = %self.config.name,
            "ignored a request that the server sent in answer to a request"
        );
    }

    /// The error of a response with an error status.
    async fn refusal(&self, head: &Parts, body: BodyStream) -> Error {
        let limit = self.config.limits.error;
        let beginning = body.beginning(limit).await;
        // A refusal of credentials stays an HTTP failure, whose challenges the login needs, even if its body
        // is an error of the protocol.
        let credentials_refused =
            head.status == StatusCode::UNAUTHORIZED || head.headers.contains_key(WWW_AUTHENTICATE);
        match parse(&beginning, limit) {
            // With any id: some servers invent one when they refuse a request early.
            Ok(Frame::Response(Response {
                outcome: Err(error),
                ..
            })) if !credentials_refused => {
                let error = Error::rpc(&self.config.name, error);
                with_retry_after(error.with_source(ErrorStatus(head.status)), &head.headers)
            }
            _ => with_retry_after(self.failure(head, &beginning), &head.headers),
        }
    }

    fn failure(&self, head: &Parts, body: &[u8]) -> Error {
        let failure = HttpFailure::new(head, body, &self.config.headers);
        self.request
            .failed(failure.kind(), &format!("answered with {failure}"))
            .with_source(failure)
    }

    fn broken(&self, error: BodyError) -> Error {
        match error {
            BodyError::TooLarge { limit } => self.too_large("a response", limit),
            BodyError::Broken(error) => self
                .request
                .failed(Kind::Closed, "broke off within the response")
                .with_source(error),
        }
    }

    fn too_large(&self, what: &str, limit: usize) -> Error {
        let did = format!("sent {what} larger than {limit} bytes");
        self.request.failed(Kind::TooLarge, &did)
    }
}

/// Longest time of `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The error of a response with these headers, with the time of `Retry-After` if they have one.
pub(crate) fn with_retry_after(error: Error, headers: &HeaderMap) -> Error {
    match retry_after(headers) {
        Some(after) => error.with_retry_after(after),
        None => error,
    }
}

/// The time of `Retry-After`. A date is ignored: few servers send one, and their clocks differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = value.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// Kind of a body.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Json,
    Events,
    Other,
}

impl Content {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        // Compression was not requested, and is not supported.
        if headers.contains_key(CONTENT_ENCODING) {
            return Self::Other;
        }
        let value = headers.get(CONTENT_TYPE);
        // Most servers send no parameters.
        if value.is_some_and(|value| value == "application/json") {
            return Self::Json;
        }
        let value = value.and_then(|value| value.to_str().ok());
        let essence = value.and_then(|value| value.split(';').next());
        match essence.map(str::trim) {
            Some(essence) if essence.eq_ignore_ascii_case("application/json") => Self::Json,
            Some(essence) if essence.eq_ignore_ascii_case("text/event-stream") => Self::Events,
            _ => Self::Other,
        }
    }
}

pub(crate) fn parse(message: &Bytes, limit: usize) -> Result<Frame, FrameError> {
    let limits = Limits::default().with_bytes(limit);
    Frame::parse(message, &limits)
}

/// True for an event that is a message: one with data, and without another event name.
pub(crate) fn carries_message(event: &sse::Event) -> bool {
    !event.data.is_empty() && event.event.as_deref().is_none_or(|name| name == "message")
}

/// Time that a notification waits for a full queue of its caller.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Delivery of the notifications of one response to the caller.
///
/// The server is slowed down to the pace of the caller. But a caller that reads no notifications
/// while it waits for the response must get the response: after the timeout the oldest notification
/// is dropped, and no other one waits until the caller has read some.
struct Delivery<'a> {
    notify: &'a Notifier,
    /// False once the caller has let a notification wait for too long.
    waits: bool,
}

impl<'a> Delivery<'a> {
    fn new(notify: &'a Notifier) -> Self {
        let waits = true;
        Self { notify, waits }
    }

    async fn deliver(&mut self, notification: Notification) {
        // A clone, because a timeout drops the notification that waits.
        let sending = self.notify.send(notification.clone());
        self.waits = match self.waits {
            true => tokio::time::timeout(DELIVERY_TIMEOUT, sending)
                .await
                .is_ok(),
            false => sending.now_or_never().is_some(),
        };
        if !self.waits {
            self.notify.offer(notification);
        }
    }
}

/// Time for a stream to end after the response; then its connection is closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum bytes that may come until then.
const LINGER_BYTES: usize = 16 * 1024;

/// Reads a stream to its end after the response, so that its connection can be used again.
///
/// The caller does not wait for that: the rest is read in the background.
pub(crate) async fn finish(mut body: BodyStream) {
    // Lets the task of the connection run: the end may have come together with the response.
    tokio::task::yield_now().await;
    if let Some(None) = body.next().now_or_never() {
        return;
    }
    // In the end the body is dropped; unless it was read to the end, that closes the connection.
    tokio::spawn(tokio::time::timeout(
        LINGER_TIMEOUT,
        body.beginning(LINGER_BYTES),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::{Method, RawJson};
    use tokio::time::Instant;

    fn numbered(number: u32) -> Notification {
        Notification {
            method: Method::new(&number.to_string()),
            params: RawJson::empty_object(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_reads_nothing_does_not_hold_up_the_response_forever() {
        let (notify, mut notifications) = Notifier::channel(2);
        let mut delivery = Delivery::new(&notify);
        let begun = Instant::now();
        for number in 1..=4 {
            delivery.deliver(numbered(number)).await;
        }
        assert_eq!(begun.elapsed().as_secs(), 5);
        assert_eq!(notifications.try_next(), Some(numbered(3)));
        // A caller that reads again is waited for again.
        for number in 5..=6 {
            delivery.deliver(numbered(number)).await;
        }
        assert_eq!(begun.elapsed().as_secs(), 10);
        assert_eq!(notifications.try_next(), Some(numbered(5)));
        assert_eq!(notifications.try_next(), Some(numbered(6)));
        assert_eq!(notifications.dropped(), 3);
    }
}
