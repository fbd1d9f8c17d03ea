use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use callgate_wire::legacy::cancel::CancelledParams;
use callgate_wire::{
    Frame, Id, Method, Notification, RawJson, Response, RpcError, Version, encode,
};
use callgate_wire::{header, method};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use tokio::sync::watch;

use super::events::{EventReader, frames};
use super::lost_session::session_is_gone;
use crate::error::{Error, Kind};
use crate::legacy::client::MessageSender;
use crate::legacy::client::background::BackgroundSender;
use crate::transport::CloseReason;
use crate::transport::http::client::{
    Body, BodyStream, ErrorStatus, HttpFailure, HttpUpstream, carries_message, finish, framed,
    parse, with_retry_after,
};

/// One session with an old server: the headers of its requests, and its end.
pub(crate) struct SessionLink {
    upstream: Arc<HttpUpstream>,
    /// Request target of POSTs, if it is not the URL of the server; it identifies the session then.
    target: Option<Uri>,
    session: OnceLock<HeaderValue>,
    version: OnceLock<Version>,
    next_id: AtomicU64,
    ended: watch::Sender<Option<SessionEnd>>,
    background: BackgroundSender,
}

/// End of a session.
enum SessionEnd {
    /// This process ended it.
    Here,
    ByServer(CloseReason),
}

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);

impl SessionLink {
    pub(crate) fn new(
        upstream: Arc<HttpUpstream>,
        target: Option<Uri>,
        background: BackgroundSender,
    ) -> Self {
        Self {
            upstream,
            target,
            session: OnceLock::new(),
            version: OnceLock::new(),
            next_id: AtomicU64::new(1),
            ended: watch::Sender::new(None),
            background,
        }
    }

    pub(crate) fn upstream(&self) -> &HttpUpstream {
        &self.upstream
    }

    pub(crate) fn background(&self) -> &BackgroundSender {
        &self.background
    }

    /// Number of the next request; each is used once.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets the revision that was agreed on.
    pub(crate) fn negotiated(&self, version: Version) {
        // It is set once: a second handshake has a link of its own.
        self.version.set(version).ok();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Ends the session here. True if it was open until now.
    pub(crate) fn end(&self) -> bool {
        self.end_as(SessionEnd::Here)
    }

    /// Ends the session because the server `did` something.
    pub(crate) fn end_by_server(&self, did: &str) {
        let reason = CloseReason::by_server(&self.upstream.config().name, Kind::Closed, did);
        self.end_as(SessionEnd::ByServer(reason));
    }

    /// Ends the session because the server cannot be reached any more.
    pub(super) fn end_by_loss(&self, error: &Error) {
        let reason = CloseReason::of_error(&self.upstream.config().name, error);
        self.end_as(SessionEnd::ByServer(reason));
    }

    /// Waits for the end of the session; `None` if it was ended here. Dropping the future is safe.
    pub(crate) async fn ended_by_server(&self) -> Option<CloseReason> {
        let mut ended = self.ended.subscribe();
        // It cannot fail: the sender lives as long as `self`.
        let end = ended.wait_for(Option::is_some).await.ok()?;
        match &*end {
            Some(SessionEnd::ByServer(reason)) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Ends the session, once: the first end counts.
    fn end_as(&self, end: SessionEnd) -> bool {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            if is_first {
                *ended = Some(end);
            }
            is_first
        })
    }

    /// Takes the session id from the response to the handshake, if it has one.
    pub(crate) fn learn_session(&self, head: &Parts) -> Result<(), Error> {
        let Some(session) = head.headers.get(SESSION) else {
            return Ok(());
        };
        // The specification allows visible ASCII characters only.
        if session.is_empty() || !session.as_bytes().iter().all(u8::is_ascii_graphic) {
            return Err(self.failed(Kind::Protocol, "named a session that cannot be named back"));
        }
        let mut session = session.clone();
        // The id is all that a stranger needs to take part in the session.
        session.set_sensitive(true);
        self.session.set(session).ok();
        Ok(())
    }

    /// True if the server has named the session.
    pub(crate) fn keeps_state(&self) -> bool {
        self.session.get().is_some() || self.target.is_some()
    }

    /// A POST of one message.
    pub(crate) fn post(&self, message: Bytes) -> Request<Body> {
        let target = self.target.as_ref().unwrap_or(&self.upstream.target);
        self.request(http::Method::POST, target.clone(), framed(message))
    }

    /// A GET of a stream, or of the rest of one after the event `last_id`.
    pub(crate) fn get(&self, last_id: Option<&HeaderValue>) -> Request<Body> {
        let target = self.upstream.target.clone();
        let mut request = self.request(http::Method::GET, target, Body::default());
        let headers = request.headers_mut();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last_id) = last_id {
            headers.insert(LAST_EVENT_ID, last_id.clone());
        }
        request
    }

    /// A DELETE of the session, if it has an id.
    pub(crate) fn delete(&self) -> Option<Request<Body>> {
        self.session.get()?;
        let target = self.upstream.target.clone();
        let mut request = self.request(http::Method::DELETE, target, Body::default());
        request.headers_mut().remove(CONTENT_TYPE);
        Some(request)
    }

    fn request(&self, method: http::Method, target: Uri, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = target;
        *request.headers_mut() = self.headers();
        request
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = self.upstream.constant_headers.clone();
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        match self.version.get() {
            // Older revisions and HTTP+SSE do not know this header.
            Some(version) if *version >= Version::V2025_06_18 && self.target.is_none() => {
                let version = HeaderValue::from_static(version.as_str());
                headers.insert(PROTOCOL_VERSION, version);
            }
            _ => {}
        }
        headers
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, notification: &Notification) -> Result<(), Error> {
        let mut message = BytesMut::new();
        encode::notification(&mut message, &notification.method, &notification.params);
        self.say(message.freeze()).await
    }

    /// Answers a request of the server.
    pub(crate) async fn respond(
        &self,
        id: &Id,
        outcome: &Result<RawJson, RpcError>,
    ) -> Result<(), Error> {
        let mut message = BytesMut::new();
        match outcome {
            Ok(result) => encode::result(&mut message, id, result),
            Err(error) => encode::error(&mut message, Some(id), error),
        }
        self.say(message.freeze()).await
    }

    /// Sends the cancellation of the request `number` in the background.
    pub(crate) fn cancel(self: Arc<Self>, number: u64) {
        if self.is_closed() {
            return;
        }
        let params = CancelledParams::new(Id::number(number));
        let notification = Notification {
            method: Method::new(method::NOTIFICATIONS_CANCELLED),
            params: RawJson::encode(&params).expect("the params of a cancellation are JSON"),
        };
        let background = self.background.clone();
        background.run(async move {
            if let Err(error) = self.notify(&notification).await {
                tracing::debug!(%error, "cannot send a cancellation to an old server");
            }
        });
    }

    /// Queues a message of the server that is not a response.
    pub(crate) fn dispatch(self: &Arc<Self>, messages: &MessageSender, frame: Frame) {
        if let Some((id, refusal)) = messages.offer(frame) {
            let link = self.clone();
            // In the background: the reader of a stream must not wait for a POST.
            self.background.run(async move {
                if let Err(error) = link.respond(&id, &Err(refusal)).await {
                    tracing::debug!(%error, "cannot send an answer to an old server");
                }
            });
        }
    }

    /// The error of a response with an error status; `id` is the one of the request, if it has one.
    ///
    /// If the server does not know the session any more, the session ends for all calls.
    pub(crate) async fn refusal(&self, head: &Parts, body: BodyStream, id: Option<&Id>) -> Error {
        let config = self.upstream.config();
        let beginning = body.beginning(config.limits.error).await;
        let message = parse(&beginning, config.limits.error).ok();
        let status = head.status.as_u16();
        // Before there is a session, the same answers say that the endpoint is another one.
        let has_session = self.session.get().is_some() || self.target.is_some();
        if has_session {
            let text = String::from_utf8_lossy(&beginning);
            if session_is_gone(status, id, message.as_ref(), &text) {
                self.end_by_server("no longer knows the session");
                return self.gone();
            }
        }
        match message {
            // With any id: some servers invent one when they refuse a request early.
            Some(Frame::Response(Response {
                outcome: Err(error),
                ..
            // A refusal of credentials stays an HTTP failure, which keeps the challenges for the login.
            })) if status != 401 && status != 403 => {
                let error = Error::rpc(&config.name, error);
                with_retry_after(error.with_source(ErrorStatus(head.status)), &head.headers)
            }
            _ => with_retry_after(self.failure(head, &beginning), &head.headers),
        }
    }

    /// The error of a response that carries no message.
    pub(crate) fn failure(&self, head: &Parts, body: &[u8]) -> Error {
        let mut ours = self.upstream.config().headers.clone();
        if let Some(session) = self.session.get() {
            ours = ours.and_secret(SESSION, session.clone());
        }
        let failure = HttpFailure::new(head, body, &ours);
        self.failed(failure.kind(), &format!("answered with {failure}"))
            .with_source(failure)
    }

    /// The error of a request that was refused because the session has ended.
    pub(crate) fn gone(&self) -> Error {
        // The server refused the request because of its session, and so did not act on it.
        self.failed(Kind::Closed, "no longer knows the session")
            .retry_safe()
    }

    /// An error that says what the server `did`.
    pub(crate) fn failed(&self, kind: Kind, did: &str) -> Error {
        let name = &self.upstream.config().name;
        Error::new(kind, format!("server `{name}` {did}")).from_upstream(name)
    }

    /// The error of a server that sent `what` beyond the limit of bytes.
    pub(super) fn too_large(&self, what: &str, limit: usize) -> Error {
        let did = format!("sent {what} larger than {limit} bytes");
        self.failed(Kind::TooLarge, &did)
    }

    /// Outcome of a request, as the server answered it.
    pub(super) fn outcome(&self, answer: Result<RawJson, RawJson>) -> Result<RawJson, Error> {
        match answer {
            Ok(result) if result.is_object() => Ok(result),
            Ok(_) => Err(self.failed(Kind::Protocol, "answered with a result that is no object")),
            Err(error) => Err(Error::rpc(&self.upstream.config().name, error)),
        }
    }

    /// Passes the messages of a stream to `take` up to its end; malformed ones are skipped.
    pub(super) async fn read_messages(
        &self,
        events: &mut EventReader,
        mut take: impl FnMut(Frame),
    ) -> Result<(), Error> {
        let config = self.upstream.config();
        loop {
            let next = events.next().await;
            let next = next.map_err(|error| self.too_large("an event", error.limit))?;
            let Some(event) = next else { return Ok(()) };
            if !carries_message(&event) {
                continue;
            }
            match frames(&event.data, config.limits.event) {
                Ok(frames) => frames.into_iter().for_each(&mut take),
                Err(error) => {
                    tracing::warn!(server = %config.name, %error, "skipped a malformed message");
                }
            }
        }
    }

    /// Posts a message that has no answer.
    async fn say(&self, message: Bytes) -> Result<(), Error> {
        if self.is_closed() {
            return Err(self.gone());
        }
        let (head, body) = self.upstream.send(self.post(message)).await?;
        if !head.status.is_success() {
            return Err(self.refusal(&head, body, None).await);
        }
        finish(body).await;
        Ok(())
    }
}
