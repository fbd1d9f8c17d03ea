use bytes::{Bytes, BytesMut};
use callgate_wire::{Id, Method, RawJson, encode};

use crate::error::Error;
use crate::server::reply;
use crate::service::BoxFuture;

/// One stream of messages to an old client.
pub(crate) trait Outlet: Send + Sync + 'static {
    /// Appends a message. Never waits; what comes after the end of the stream goes nowhere.
    fn push(&self, message: Message);

    /// Waits until another message should be appended.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// Whether the client hears requests here, and not only the response.
    fn carries_questions(&self) -> bool {
        true
    }
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

impl Message {
    pub(crate) fn notification(method: &Method, params: &RawJson) -> Self {
        Self::write(MessageKind::Notification, |out| {
            encode::notification(out, method, params);
        })
    }

    pub(crate) fn request(id: &Id, method: &Method, params: &RawJson) -> Self {
        Self::write(MessageKind::Request, |out| {
            encode::request(out, id, method, params);
        })
    }

    /// The response to the request `id`; an error without an id answers what could not be read.
    pub(crate) fn response(id: Option<&Id>, outcome: &Result<RawJson, Error>) -> Self {
        Self::write(MessageKind::Response, |out| match (outcome, id) {
            (Ok(result), Some(id)) => encode::result(out, id, result),
            (Ok(_), None) => {}
            (Err(error), id) => reply::error_response(out, id, error),
        })
    }

    fn write(kind: MessageKind, write: impl FnOnce(&mut BytesMut)) -> Self {
        let mut json = BytesMut::new();
        write(&mut json);
        Self {
            kind,
            json: json.freeze(),
        }
    }
}
