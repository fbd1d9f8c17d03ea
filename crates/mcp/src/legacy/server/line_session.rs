use std::sync::{Arc, OnceLock};

use callgate_wire::legacy::method as old;
use callgate_wire::{Frame, Limits, RawJson, Request, Response, meta};
use tokio::task::AbortHandle;

use super::client_request::{Message, MessageSink, RequestOrigin};
use super::handshake::is_handshake;
use super::session::{Received, Session, conversation_key};
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::server::accept::IncompleteMeta;
use crate::server::{ClientMessage, SessionLimits};
use crate::service::{BoxFuture, Caller, Service, Source, TransportKind};
use crate::transport::line::{LineServer, LineSessions};

/// Session of the old client at the other end of a line connection.
pub(crate) struct LineSession {
    service: Arc<dyn Service>,
    config: SessionLimits,
    limits: Limits,
    /// Key of the conversation, made for the first handshake.
    conversation: OnceLock<Arc<str>>,
    state: Mutex<LineSessionState>,
}

enum LineSessionState {
    /// There was no handshake yet, or it failed.
    Closed,
    /// The service is being asked for its capabilities. Messages that arrive meanwhile wait.
    Opening {
        queue: HandshakeQueue,
        abort: AbortHandle,
    },
    Open(Arc<Session>),
}

/// Messages that arrived during the handshake.
#[derive(Default)]
struct HandshakeQueue {
    messages: Vec<ClientMessage>,
    bytes: usize,
}

impl LineSession {
    pub(crate) fn new(service: Arc<dyn Service>, config: SessionLimits, limits: Limits) -> Self {
        Self {
            service,
            config,
            limits,
            conversation: OnceLock::new(),
            state: Mutex::new(LineSessionState::Closed),
        }
    }

    fn origin(&self) -> RequestOrigin {
        let key = self.conversation.get_or_init(conversation_key);
        RequestOrigin {
            caller: Caller::Local,
            source: Source::new(TransportKind::Lines).with_conversation(key.clone()),
            trace: None,
        }
    }

    /// Opens the session of this connection. A session that is open already is replaced.
    fn open(
        self: &Arc<Self>,
        state: &mut LineSessionState,
        request: Request,
        sink: Arc<dyn MessageSink>,
    ) {
        if let LineSessionState::Opening { .. } = state {
            let error = Error::new(Kind::InvalidRequest, "the session is being opened already");
            return sink.push(Message::response(Some(&request.id), &Err(error)));
        }
        if let LineSessionState::Open(session) = state {
            session.close();
        }
        let opening = self.clone().finish_handshake(request, sink);
        *state = LineSessionState::Opening {
            queue: HandshakeQueue::default(),
            abort: tokio::spawn(opening).abort_handle(),
        };
    }

    async fn finish_handshake(self: Arc<Self>, request: Request, sink: Arc<dyn MessageSink>) {
        let service = self.service.clone();
        let opened = Session::open(service, self.origin(), &request.params, self.config).await;
        // Locked until all queued messages are delivered: at the end of the input, an open session
        // without running requests would be taken for idle, and its messages would be lost.
        let mut state = self.state.lock();
        // At the end of the connection this task may be past the place where it can be aborted. Nothing
        // would close what it opens now.
        let LineSessionState::Opening { queue, .. } =
            std::mem::replace(&mut *state, LineSessionState::Closed)
        else {
            return;
        };
        let outcome = opened.map(|(session, result)| {
            *state = LineSessionState::Open(session);
            result
        });
        // Before the subscription and the queued messages: the response must be the first message of the
        // session.
        sink.push(Message::response(Some(&request.id), &outcome));
        if let LineSessionState::Open(session) = &*state {
            session.listen(Some(sink.clone()));
        }
        for message in queue.messages {
            self.deliver(&mut state, message, &sink);
        }
    }

    fn deliver(
        &self,
        state: &mut LineSessionState,
        message: ClientMessage,
        sink: &Arc<dyn MessageSink>,
    ) {
        match (state, message) {
            (LineSessionState::Open(session), message) => {
                match session.receive(message, &self.limits, self.origin(), sink) {
                    Ok(Received::Response(response)) => sink.push(response),
                    Ok(Received::Nothing | Received::Later) => {}
                    Err(error) => sink.push(Message::response(None, &Err(error))),
                }
            }
            (LineSessionState::Opening { queue, .. }, message) => {
                let refused = queue.add(message, &self.config);
                if let Err(ClientMessage::One(Frame::Request(request))) = refused {
                    let busy = Err(Error::new(Kind::Busy, "too many requests in flight"));
                    sink.push(Message::response(Some(&request.id), &busy));
                }
            }
            (LineSessionState::Closed, ClientMessage::One(Frame::Request(request))) => {
                let outcome = before_handshake(&request);
                sink.push(Message::response(Some(&request.id), &outcome));
            }
            (LineSessionState::Closed, _) => {}
        }
    }
}

impl LineSessions for LineSession {
    /// Decides whether a message is one of an older revision: here, for all line connections.
    fn take(
        self: Arc<Self>,
        message: ClientMessage,
        meta: Option<IncompleteMeta>,
        line: &Arc<LineServer>,
    ) -> Result<(), ClientMessage> {
        let mut state = self.state.lock();
        match message {
            // A request that names a revision in `_meta` is one of the newest revision, and wrong.
            ClientMessage::One(Frame::Request(request))
                if meta != Some(IncompleteMeta::Absent) && names_version(&request) =>
            {
                return Err(ClientMessage::One(Frame::Request(request)));
            }
            ClientMessage::One(Frame::Request(request)) if is_handshake(&request) => {
                self.open(&mut state, request, line.clone());
            }
            // Without a session these are no messages of an older revision.
            ClientMessage::Array(..) | ClientMessage::One(Frame::Notification(_))
                if matches!(*state, LineSessionState::Closed) =>
            {
                return Err(message);
            }
            message => {
                let sink: Arc<dyn MessageSink> = line.clone();
                self.deliver(&mut state, message, &sink);
            }
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        match &*self.state.lock() {
            LineSessionState::Closed => true,
            LineSessionState::Opening { .. } => false,
            LineSessionState::Open(session) => session.in_flight() == 0,
        }
    }

    fn close(&self) {
        match std::mem::replace(&mut *self.state.lock(), LineSessionState::Closed) {
            LineSessionState::Closed => {}
            LineSessionState::Opening { abort, .. } => abort.abort(),
            LineSessionState::Open(session) => session.close(),
        }
    }
}

impl MessageSink for LineServer {
    fn push(&self, message: Message) {
        self.push(|out| out.extend_from_slice(&message.json));
    }

    fn has_room(&self) -> bool {
        self.has_room()
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.room())
    }
}

impl HandshakeQueue {
    fn add(&mut self, message: ClientMessage, limits: &SessionLimits) -> Result<(), ClientMessage> {
        let bytes = self.bytes + size(&message);
        if self.messages.len() >= limits.in_flight || bytes > limits.in_flight_bytes {
            return Err(message);
        }
        self.bytes = bytes;
        self.messages.push(message);
        Ok(())
    }
}

fn size(message: &ClientMessage) -> usize {
    match message {
        ClientMessage::One(Frame::Request(request)) => request.params.as_bytes().len(),
        ClientMessage::One(Frame::Notification(notification)) => {
            notification.params.as_bytes().len()
        }
        ClientMessage::One(Frame::Response(Response { outcome, .. })) => match outcome {
            Ok(value) | Err(value) => value.as_bytes().len(),
        },
        ClientMessage::Array(array, _) => array.len(),
    }
}

fn names_version(request: &Request) -> bool {
    let version = request.params.at(&["_meta", meta::PROTOCOL_VERSION]);
    version.is_some()
}

/// The answer to a request before the handshake; only a ping is allowed there.
fn before_handshake(request: &Request) -> Result<RawJson, Error> {
    match request.method.as_str() {
        old::PING => Ok(RawJson::empty_object()),
        _ => Err(Error::invalid_params(
            "params must have the object `_meta`; a client of an older revision must send \
             `initialize` first",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Call, Reply};
    use callgate_wire::{Id, Method};

    /// Offers nothing.
    struct Bare;

    impl Service for Bare {
        fn call(&self, _: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let found = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
            let found = serde_json::from_str(found).unwrap();
            Box::pin(async { Ok(Reply::Complete(found)) })
        }
    }

    /// Sink of a connection that has ended.
    struct Ended;

    impl MessageSink for Ended {
        fn push(&self, _: Message) {}

        fn has_room(&self) -> bool {
            false
        }

        fn room(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn handshake() -> Request {
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
        Request {
            id: Id::number(1),
            method: Method::new(old::INITIALIZE),
            params: serde_json::from_str::<RawJson>(params).unwrap().into(),
        }
    }

    #[tokio::test]
    async fn a_handshake_that_finishes_after_the_end_of_the_connection_opens_nothing() {
        let (config, limits) = (SessionLimits::default(), Limits::default());
        let line = Arc::new(LineSession::new(Arc::new(Bare), config, limits));
        let sink = Arc::new(Ended);
        let kept = Arc::downgrade(&sink);
        // As another thread sees it that is past its last await: the task is aborted too late.
        line.close();
        line.clone().finish_handshake(handshake(), sink).await;
        assert!(matches!(*line.state.lock(), LineSessionState::Closed));
        assert!(kept.upgrade().is_none(), "the connection is kept");
    }
}
