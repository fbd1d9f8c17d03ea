use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_wire::{Frame, Id, Method, Notification, RawJson, Request, RpcError, Version, code};
use serde::Serialize;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::Error;
use crate::service::BoxFuture;

/// Transport of one session with an old server.
///
/// Messages of the server that belong to none of our requests go to the [`MessageSender`] that the
/// transport was opened with.
pub(crate) trait SessionTransport: Send + Sync + 'static {
    /// Sends a request and waits for its result.
    ///
    /// Messages on the stream of this very request go to `messages`. Dropping the future sends exactly
    /// one `notifications/cancelled` if the request was sent and is not answered, but never for
    /// `initialize`. If the connection or session has ended, the error has the kind `Closed`; a retry
    /// is safe if the server cannot have seen the request.
    fn request(
        &self,
        request: OldRequest,
        messages: MessageSender,
    ) -> BoxFuture<'static, Result<RawJson, Error>>;

    /// Sends a request that no caller made, such as one for the list of tools. Messages on its stream are
    /// taken as those that belong to no request.
    fn ask(&self, request: OldRequest) -> BoxFuture<'static, Result<RawJson, Error>>;

    fn notify(&self, notification: Notification) -> BoxFuture<'static, Result<(), Error>>;

    /// Answers a request of the server.
    fn respond(
        &self,
        id: Id,
        outcome: Result<RawJson, RpcError>,
    ) -> BoxFuture<'static, Result<(), Error>>;

    /// Opens the stream of messages that belong to no request, if the transport has a separate one.
    ///
    /// # Errors
    /// The server offers no such stream.
    fn listen(&self) -> BoxFuture<'static, Result<StreamEnd, Error>> {
        Box::pin(std::future::ready(Ok(StreamEnd::never())))
    }

    /// Sets the revision that was agreed on.
    fn negotiated(&self, _version: Version) {}

    /// True if the connection or the session has ended.
    fn is_closed(&self) -> bool;

    /// Time until which a request waited for the authorizer instead of the server, if one did.
    fn auth_wait_until(&self) -> Option<Instant> {
        None
    }
}

/// End of a separate stream of messages that belong to no request: the session may go on without it.
#[derive(Debug, Clone)]
pub(crate) struct StreamEnd(Option<watch::Receiver<()>>);

impl StreamEnd {
    /// The end of a stream that lasts as long as its session.
    pub(crate) fn never() -> Self {
        Self(None)
    }

    /// The end of a stream that lasts as long as the sender.
    #[cfg(feature = "http-client")]
    pub(crate) fn dropped(stream: watch::Receiver<()>) -> Self {
        Self(Some(stream))
    }

    /// Waits for the end. Dropping the future is safe.
    pub(crate) async fn wait(&mut self) {
        match &mut self.0 {
            // Nothing is ever sent, so this is the end of the sender.
            Some(stream) => while stream.changed().await.is_ok() {},
            None => std::future::pending().await,
        }
    }
}

/// Request to an old server; the transport gives it an id.
#[derive(Debug, Clone)]
pub(crate) struct OldRequest {
    pub(crate) method: Method,
    pub(crate) params: RawJson,
}

impl OldRequest {
    pub(super) fn new(method: &str, params: &impl Serialize) -> Self {
        Self {
            method: Method::new(method),
            params: RawJson::encode(params).expect("params are always JSON"),
        }
    }
}

/// Message of an old server that is not a response.
#[derive(Debug, Clone)]
pub(crate) enum ServerMessage {
    Request(Request),
    Notification(Notification),
}

/// Sending end of the bounded queue of messages of an old server.
#[derive(Debug, Clone)]
pub(crate) struct MessageSender {
    sender: mpsc::Sender<ServerMessage>,
    dropped: Arc<AtomicU64>,
}

/// Receiving end of a [`MessageSender`].
pub(crate) type MessageReceiver = mpsc::Receiver<ServerMessage>;

impl MessageSender {
    pub(crate) fn channel(capacity: usize) -> (Self, MessageReceiver) {
        let (sender, receiver) = mpsc::channel(capacity);
        let dropped = Arc::default();
        (Self { sender, dropped }, receiver)
    }

    /// Queues a message that is not a response, without waiting.
    ///
    /// Returns the answer to a request that there is no room for, or that comes after the call or session
    /// that it belongs to. Such a notification is dropped, with a warning if there was no room.
    pub(crate) fn offer(&self, frame: Frame) -> Option<(Id, RpcError)> {
        let message = match frame {
            Frame::Request(request) => ServerMessage::Request(request),
            Frame::Notification(notification) => ServerMessage::Notification(notification),
            Frame::Response(_) => return None,
        };
        let refused = self.sender.try_send(message).err()?;
        let is_closed = matches!(refused, TrySendError::Closed(_));
        match refused.into_inner() {
            ServerMessage::Request(request) => {
                let text = match is_closed {
                    true => "the request or session that this belongs to has ended",
                    false => "too many messages wait to be handled",
                };
                Some((request.id, RpcError::new(code::INTERNAL_ERROR, text)))
            }
            ServerMessage::Notification(Notification { method, .. }) if is_closed => {
                tracing::debug!(%method, "dropped a notification: what it belongs to has ended");
                None
            }
            ServerMessage::Notification(Notification { method, .. }) => {
                // Relaxed: each number is seen once, which is all that the log needs.
                let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
                if is_worth_a_warning(dropped) {
                    tracing::warn!(%method, dropped, "dropped a notification: too many messages wait to be handled");
                }
                None
            }
        }
    }
}

/// True for the first dropped message and then each time their number has doubled, so that a flood
/// of messages is not a flood of log lines.
fn is_worth_a_warning(dropped: u64) -> bool {
    dropped.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_dropped_message_is_worth_a_warning_and_then_a_summary() {
        let warned: Vec<u64> = (1..100).filter(|n| is_worth_a_warning(*n)).collect();
        assert_eq!(warned, [1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn messages_without_room_or_reader_are_refused_or_dropped() {
        let (messages, incoming) = MessageSender::channel(1);
        let notification = || {
            Frame::Notification(Notification {
                method: Method::new("m"),
                params: RawJson::empty_object(),
            })
        };
        for _ in 0..3 {
            assert_eq!(messages.offer(notification()), None);
        }
        assert_eq!(messages.dropped.load(Ordering::Relaxed), 2);
        let request = Frame::Request(Request {
            id: Id::number(7),
            method: Method::new("m"),
            params: callgate_wire::RawParams::empty(),
        });
        let refusal = |text: &str| (Id::number(7), RpcError::new(code::INTERNAL_ERROR, text));
        let full = messages.offer(request.clone()).unwrap();
        assert_eq!(full, refusal("too many messages wait to be handled"));
        assert_eq!(messages.dropped.load(Ordering::Relaxed), 2);

        // A queue whose reader is gone is no full one.
        drop(incoming);
        let closed = messages.offer(request).unwrap();
        let ended = "the request or session that this belongs to has ended";
        assert_eq!(closed, refusal(ended));
        assert_eq!(messages.offer(notification()), None);
        assert_eq!(messages.dropped.load(Ordering::Relaxed), 2);
    }
}
