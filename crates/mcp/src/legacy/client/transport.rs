use callgate_wire::{Frame, Id, Method, Notification, RawJson, Request, RpcError, Version, code};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::error::Error;
use crate::service::BoxFuture;

/// What carries the messages of one connection to an old server.
///
/// Messages of the server that belong to no request of ours go to the [`Heard`] that the transport
/// was opened with.
pub(crate) trait Transport: Send + Sync + 'static {
    /// Sends a request and waits for its result.
    ///
    /// What the server sends on the stream of this very request goes to `heard`. Dropping the
    /// future sends exactly one `notifications/cancelled` if the request was sent and is not
    /// answered, but never for `initialize`. The error of a connection or session that is gone has
    /// the kind `Closed`; it is safe to retry where the server cannot have seen the request.
    fn request(
        &self,
        request: Outgoing,
        heard: Heard,
    ) -> BoxFuture<'static, Result<RawJson, Error>>;

    /// Sends a notification.
    fn notify(&self, notification: Notification) -> BoxFuture<'static, Result<(), Error>>;

    /// Answers a request of the server.
    fn respond(
        &self,
        id: Id,
        outcome: Result<RawJson, RpcError>,
    ) -> BoxFuture<'static, Result<(), Error>>;

    /// Lets messages come that belong to no request, where that takes a stream of its own.
    ///
    /// # Errors
    /// The server offers no such stream.
    fn listen(&self) -> BoxFuture<'static, Result<(), Error>>;

    /// Speaks `version` from now on.
    fn negotiated(&self, version: Version);

    /// Whether the connection or the session is gone for good.
    fn is_over(&self) -> bool;

    /// Until when any request waited for anybody but the server, if one did.
    fn held_up_until(&self) -> Option<Instant> {
        None
    }
}

/// A request on its way to an old server; the transport gives it an id.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) params: RawJson,
}

/// What a server sends that is no response.
#[derive(Debug, Clone)]
pub(crate) enum Incoming {
    Request(Request),
    Notification(Notification),
}

/// The bounded way of incoming messages to whoever deals with them.
#[derive(Debug, Clone)]
pub(crate) struct Heard(mpsc::Sender<Incoming>);

/// The end of a [`Heard`] where messages arrive.
pub(crate) type Hearing = mpsc::Receiver<Incoming>;

impl Heard {
    pub(crate) fn channel(capacity: usize) -> (Self, Hearing) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), receiver)
    }

    /// Passes on a message that is no response, without waiting.
    ///
    /// A question that there is no room for, or nobody to hear, is refused: what to answer it with.
    pub(crate) fn offer(&self, frame: Frame) -> Option<(Id, RpcError)> {
        let message = match frame {
            Frame::Request(request) => Incoming::Request(request),
            Frame::Notification(notification) => Incoming::Notification(notification),
            Frame::Response(_) => return None,
        };
        let refused = self.0.try_send(message).err()?;
        match refused.into_inner() {
            Incoming::Request(request) => {
                let error = RpcError::new(code::INTERNAL_ERROR, "too many messages wait");
                Some((request.id, error))
            }
            Incoming::Notification(Notification { method, .. }) => {
                tracing::debug!(%method, "dropped a notification: too many messages wait");
                None
            }
        }
    }
}
