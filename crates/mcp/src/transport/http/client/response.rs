use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Limits, Notification, Response, sse};
use futures_util::FutureExt;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use http::response::Parts;

use super::body::{BodyError, Stream};
use super::config::Config;
use super::exchange::{Exchange, Step};
use super::failure::{ErrorStatus, HttpFailure};
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::service::Reply;

/// Reads the response to one request.
pub(super) struct Reader<'a> {
    pub(super) exchange: &'a Exchange<'a>,
    pub(super) config: &'a Config,
    /// Counts the messages that the server should not have sent.
    pub(super) violations: &'a AtomicU64,
}

impl Reader<'_> {
    /// The outcome of the request. Dropping the future closes the response.
    pub(super) async fn read(&self, head: Parts, body: Stream) -> Result<Reply, Error> {
        if !head.status.is_success() {
            return Err(self.refusal(&head, body).await);
        }
        if head.status == StatusCode::ACCEPTED {
            return Err(self
                .exchange
                .violated("accepted the request but will not answer it"));
        }
        // Headers lie in the buffer of their connection, which is used again only once they are gone.
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
    async fn message(&self, body: Stream) -> Result<Reply, Error> {
        let limit = self.config.limits.json;
        let message = body
            .whole(limit)
            .await
            .map_err(|error| self.broken(error))?;
        match self.parse(&message, limit)? {
            Frame::Response(response) => self.exchange.response(response),
            Frame::Request(_) | Frame::Notification(_) => Err(self
                .exchange
                .violated("answered with a message that is no response")),
        }
    }

    /// Reads a stream of events up to the response.
    async fn events(&self, mut body: Stream) -> Result<Reply, Error> {
        let limit = self.config.limits.event;
        let mut parser = sse::Parser::new(limit);
        let mut events = Vec::new();
        while let Some(part) = body.next().await {
            let part = part.map_err(|error| self.broken(BodyError::Broken(error)))?;
            let pushed = parser.push(&part, &mut events);
            drop(part);
            for event in events.drain(..).filter(carries_message) {
                match self.exchange.receive(self.parse(&event.data, limit)?) {
                    Step::Ignore => {}
                    Step::Violation => self.count_violation(),
                    Step::Notify(notification) => {
                        deliver(&self.exchange.call().cx.notify, notification).await;
                    }
                    Step::Done(outcome) => {
                        finish(body).await;
                        return outcome;
                    }
                }
            }
            pushed.map_err(|error| self.too_large("an event", error.limit))?;
        }
        Err(self
            .exchange
            .failed(Kind::Closed, "ended the stream before the response"))
    }

    fn parse(&self, message: &Bytes, limit: usize) -> Result<Frame, Error> {
        parse(message, limit).map_err(|error| {
            self.exchange
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

    /// The error that a response with an error status stands for.
    async fn refusal(&self, head: &Parts, body: Stream) -> Error {
        let limit = self.config.limits.error;
        let beginning = body.beginning(limit).await;
        let credentials_refused =
            head.status == StatusCode::UNAUTHORIZED || head.headers.contains_key(WWW_AUTHENTICATE);
        match parse(&beginning, limit) {
            // Whatever id it has: some servers make one up when they refuse early.
            Ok(Frame::Response(Response {
                outcome: Err(error),
                ..
            })) if !credentials_refused => {
                Error::rpc(&self.config.name, error).with_source(ErrorStatus(head.status))
            }
            _ => self.failure(head, &beginning),
        }
    }

    fn failure(&self, head: &Parts, body: &[u8]) -> Error {
        let failure = HttpFailure::new(head, body, &self.config.headers);
        self.exchange
            .failed(failure.kind(), &format!("answered with {failure}"))
            .with_source(failure)
    }

    fn broken(&self, error: BodyError) -> Error {
        match error {
            BodyError::TooLarge { limit } => self.too_large("a response", limit),
            BodyError::Broken(error) => self
                .exchange
                .failed(Kind::Closed, "broke off within the response")
                .with_source(error),
        }
    }

    fn too_large(&self, what: &str, limit: usize) -> Error {
        let did = format!("sent {what} larger than {limit} bytes");
        self.exchange.failed(Kind::TooLarge, &did)
    }
}

/// What a body holds.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Json,
    Events,
    Other,
}

impl Content {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        // No compression was asked for.
        if headers.contains_key(CONTENT_ENCODING) {
            return Self::Other;
        }
        let value = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let essence = value.and_then(|value| value.split(';').next());
        match essence.map(str::trim) {
            Some(essence) if essence.eq_ignore_ascii_case("application/json") => Self::Json,
            Some(essence) if essence.eq_ignore_ascii_case("text/event-stream") => Self::Events,
            _ => Self::Other,
        }
    }
}

pub(crate) fn parse(message: &Bytes, limit: usize) -> Result<Frame, FrameError> {
    let limits = Limits {
        bytes: limit,
        ..Limits::default()
    };
    Frame::parse(message, &limits)
}

/// Events of other names, and those without data, are not messages.
pub(crate) fn carries_message(event: &sse::Event) -> bool {
    !event.data.is_empty() && event.event.as_deref().is_none_or(|name| name == "message")
}

/// How long one notification may wait for the caller to read those before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands a notification to the caller.
///
/// The server is slowed down to the pace of the caller, but a caller that does not read at all
/// while it waits for the response must not wait forever: then the oldest notifications make way.
async fn deliver(notify: &Notifier, notification: Notification) {
    let sent = tokio::time::timeout(PATIENCE, notify.send(notification.clone())).await;
    if sent.is_err() {
        notify.offer(notification);
    }
}

/// How long a stream may take to end after the response, if its connection is to be used again.
const LINGER: Duration = Duration::from_secs(1);

/// How much may still come until then.
const REST: usize = 16 * 1024;

/// Sees a stream to its end after the response, so that its connection can be used again.
///
/// The caller does not wait for the server: only what has arrived already is read at once.
pub(crate) async fn finish(mut body: Stream) {
    // The connection may have to run before it reports an end that came with the response.
    tokio::task::yield_now().await;
    if let Some(None) = body.next().now_or_never() {
        return;
    }
    // Whatever happens, the body is dropped, and the connection with it unless it ended well.
    tokio::spawn(tokio::time::timeout(LINGER, body.beginning(REST)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::{Method, RawJson};

    fn numbered(number: u32) -> Notification {
        Notification {
            method: Method::new(&number.to_string()),
            params: RawJson::empty_object(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_reads_nothing_does_not_hold_up_the_response_forever() {
        let (notify, mut notifications) = Notifier::channel(2);
        for number in 1..=3 {
            deliver(&notify, numbered(number)).await;
        }
        assert_eq!(notifications.try_next(), Some(numbered(2)));
        assert_eq!(notifications.try_next(), Some(numbered(3)));
        assert_eq!(notifications.dropped(), 1);
    }
}
