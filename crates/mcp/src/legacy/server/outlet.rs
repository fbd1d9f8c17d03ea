use bytes::Bytes;

use crate::service::BoxFuture;

/// One stream of messages to an old client.
pub(crate) trait Outlet: Send + Sync + 'static {
    /// Appends a message. Never waits; what comes after the end of the stream goes nowhere.
    fn push(&self, message: Message);

    /// Waits until another message should be appended.
    fn room(&self) -> BoxFuture<'_, ()>;
}

/// A message to an old client, encoded on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: MessageKind,
    pub(crate) json: Bytes,
}

/// What a message means to the stream that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// Something the client should know.
    Notification,
    /// Something the client has to answer.
    Request,
    /// The answer to what the stream was opened for; the last message on it.
    Response,
}
