use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use callgate_wire::{Id, Method, ObjectEdit, RawJson, RawParams, Request, encode};

use crate::error::Error;
#[cfg(feature = "http-server")]
use crate::server::CallerBudget;
use crate::server::reply;
use crate::service::{BoxFuture, Caller, Cx, PeerInfo, Source, TraceContext};

/// Request of an old client, and the stream that its response goes to.
pub(super) struct ClientRequest {
    pub(super) id: Id,
    pub(super) method: Method,
    pub(super) params: RawParams,
    pub(super) origin: RequestOrigin,
    pub(super) sink: Arc<dyn MessageSink>,
}

/// Origin of a request of an old client.
///
/// It belongs to the request, not to the session: a later token may grant less than the one that
/// opened the session.
#[derive(Debug, Clone)]
pub(crate) struct RequestOrigin {
    pub(crate) caller: Caller,
    pub(crate) source: Source,
    pub(crate) trace: Option<Box<TraceContext>>,
}

impl ClientRequest {
    pub(super) fn new(request: Request, origin: RequestOrigin, sink: Arc<dyn MessageSink>) -> Self {
        let Request { id, method, params } = request;
        Self {
            id,
            method,
            params,
            origin,
            sink,
        }
    }

    /// The context of a call that is made for this request, with the claims of its client.
    pub(super) fn context(&self, peer: Arc<PeerInfo>) -> Cx {
        self.origin.context(self.id.clone(), peer)
    }
}

impl RequestOrigin {
    /// The context of a call that is made for a request of this origin, with the claims of its
    /// client.
    pub(super) fn context(&self, id: Id, peer: Arc<PeerInfo>) -> Cx {
        let mut cx = Cx::of_peer(id, peer);
        (cx.caller, cx.source) = (self.caller.clone(), self.source.clone());
        if let Some(trace) = &self.trace {
            cx.set_trace_headers(TraceContext::clone(trace));
        }
        cx
    }
}

/// Stream of messages to an old client.
pub(crate) trait MessageSink: Send + Sync + 'static {
    /// Appends a message. Never waits; messages after the end of the stream are dropped.
    fn push(&self, message: Message);

    /// True if another message should be appended.
    fn has_room(&self) -> bool;

    /// Waits until another message should be appended.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// Memory of the unsent messages, if it is shared with other streams.
    #[cfg(feature = "http-server")]
    fn unsent(&self) -> Option<&CallerBudget> {
        None
    }

    /// True if the client reads requests here, and not only the response.
    fn carries_questions(&self) -> bool {
        true
    }
}

/// Waits until another message should be appended to `sink`.
pub(super) async fn wait_for_room(sink: &Arc<dyn MessageSink>) {
    // Almost always there is room, and nothing to wait for.
    if !sink.has_room() {
        sink.room().await;
    }
}

/// Message to an old client, encoded on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: MessageKind,
    pub(crate) json: Bytes,
}

/// Kind of a message to an old client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Notification,
    /// A question, which the client has to answer.
    Request,
    /// The response to the request that the stream was opened for; the last message on it.
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

    /// The response to the request `id`. An error without id answers a message that cannot be read.
    pub(crate) fn response(id: Option<&Id>, outcome: &Result<RawJson, Error>) -> Self {
        Self::write(MessageKind::Response, |out| match (outcome, id) {
            (Ok(result), Some(id)) => encode::result(out, id, result),
            (Ok(_), None) => {}
            (Err(error), id) => reply::error_response(out, id, error),
        })
    }

    /// The response with this result.
    pub(super) fn result(id: &Id, result: &RawJson) -> Self {
        Self::write(MessageKind::Response, |out| encode::result(out, id, result))
    }

    /// The response with the result that `edit` makes.
    pub(super) fn edited_result(id: &Id, edit: &ObjectEdit<'_>) -> Self {
        Self::write(MessageKind::Response, |out| {
            encode::edited_result(out, id, edit);
        })
    }

    /// The response to the request `id` if there is room for it on `sink`, or else an error.
    pub(super) fn admitted(response: Self, id: &Id, sink: &dyn MessageSink) -> Self {
        #[cfg(feature = "http-server")]
        if let Some(unsent) = sink.unsent() {
            return match unsent.admit(response.json) {
                Ok(json) => Self { json, ..response },
                Err(error) => Self::response(Some(id), &Err(error)),
            };
        }
        let _ = (id, sink);
        response
    }

    /// The same message, which counts as unsent on `sink`.
    pub(super) fn counted(self, sink: &dyn MessageSink) -> Self {
        #[cfg(feature = "http-server")]
        if let Some(unsent) = sink.unsent() {
            let json = unsent.count(self.json);
            return Self { json, ..self };
        }
        let _ = sink;
        self
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
