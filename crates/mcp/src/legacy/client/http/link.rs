use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

use super::background::Background;
use super::refusal::session_is_gone;
use crate::error::{Error, Kind};
use crate::legacy::client::Heard;
use crate::transport::http::client::{
    Body, ErrorStatus, HttpFailure, Site, Stream, finish, framed, parse,
};

/// One session with an old server: what every request of it carries, and whether it still lasts.
pub(super) struct Link {
    site: Arc<Site>,
    /// Where messages are posted to, if that is not the URL of the server; it names the session.
    target: Option<Uri>,
    session: OnceLock<HeaderValue>,
    version: OnceLock<Version>,
    next_id: AtomicU64,
    over: AtomicBool,
    background: Background,
}

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);

impl Link {
    pub(super) fn new(site: Arc<Site>, target: Option<Uri>, background: Background) -> Self {
        Self {
            site,
            target,
            session: OnceLock::new(),
            version: OnceLock::new(),
            next_id: AtomicU64::new(1),
            over: AtomicBool::new(false),
            background,
        }
    }

    pub(super) fn site(&self) -> &Site {
        &self.site
    }

    pub(super) fn background(&self) -> &Background {
        &self.background
    }

    /// The number of the next request; none is ever used twice.
    pub(super) fn next_number(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Speaks `version` from now on.
    pub(super) fn negotiated(&self, version: Version) {
        // A second handshake would take a second link.
        self.version.set(version).ok();
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the session on our side; whether it lasted until now.
    pub(super) fn end(&self) -> bool {
        !self.over.swap(true, Ordering::AcqRel)
    }

    /// Keeps the id of the session that the response to the handshake names, if it names one.
    pub(super) fn learn_session(&self, head: &Parts) -> Result<(), Error> {
        let Some(session) = head.headers.get(SESSION) else {
            return Ok(());
        };
        if session.is_empty() || !session.as_bytes().iter().all(u8::is_ascii_graphic) {
            return Err(self.failed(Kind::Protocol, "named a session that cannot be named back"));
        }
        let mut session = session.clone();
        session.set_sensitive(true);
        self.session.set(session).ok();
        Ok(())
    }

    /// A POST of one message.
    pub(super) fn post(&self, message: Bytes) -> Request<Body> {
        let target = self.target.as_ref().unwrap_or(self.site.target());
        self.request(http::Method::POST, target.clone(), framed(message))
    }

    /// A GET of a stream, or of the rest of one after the event `last_id`.
    pub(super) fn get(&self, last_id: Option<&HeaderValue>) -> Request<Body> {
        let target = self.site.target().clone();
        let mut request = self.request(http::Method::GET, target, Body::default());
        let headers = request.headers_mut();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last_id) = last_id {
            headers.insert(LAST_EVENT_ID, last_id.clone());
        }
        request
    }

    /// A DELETE of the session, where it has an id.
    pub(super) fn delete(&self) -> Option<Request<Body>> {
        self.session.get()?;
        let target = self.site.target().clone();
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
        let mut headers = self.site.constant_headers().clone();
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        match self.version.get() {
            Some(version) if *version >= Version::V2025_06_18 && self.target.is_none() => {
                let version = HeaderValue::from_static(version.as_str());
                headers.insert(PROTOCOL_VERSION, version);
            }
            _ => {}
        }
        headers
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, notification: &Notification) -> Result<(), Error> {
        let mut message = BytesMut::new();
        encode::notification(&mut message, &notification.method, &notification.params);
        self.say(message.freeze()).await
    }

    /// Answers a request of the server.
    pub(super) async fn respond(
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

    /// Says that the request `number` is no longer wanted, some time soon.
    pub(super) fn cancel(self: Arc<Self>, number: u64) {
        if self.is_over() {
            return;
        }
        let params = CancelledParams {
            request_id: Some(Id::number(number)),
            ..CancelledParams::default()
        };
        let notification = Notification {
            method: Method::new(method::NOTIFICATIONS_CANCELLED),
            params: RawJson::encode(&params).expect("the params of a cancellation are JSON"),
        };
        let background = self.background.clone();
        background.run(async move {
            if let Err(error) = self.notify(&notification).await {
                tracing::debug!(%error, "an old server did not take a cancellation");
            }
        });
    }

    /// Passes on a message of the server that is no response.
    pub(super) fn hear(self: &Arc<Self>, heard: &Heard, frame: Frame) {
        if let Some((id, refusal)) = heard.offer(frame) {
            let link = self.clone();
            self.background.run(async move {
                if let Err(error) = link.respond(&id, &Err(refusal)).await {
                    tracing::debug!(%error, "an old server did not take an answer");
                }
            });
        }
    }

    /// The error that a response with an error status stands for, to the request `id` if to any.
    ///
    /// Where the session is gone, it is over for everybody.
    pub(super) async fn refusal(&self, head: &Parts, body: Stream, id: Option<&Id>) -> Error {
        let config = self.site.config();
        let beginning = body.beginning(config.limits.error).await;
        let message = parse(&beginning, config.limits.error).ok();
        let status = head.status.as_u16();
        let has_session = self.session.get().is_some() || self.target.is_some();
        if has_session {
            let text = String::from_utf8_lossy(&beginning);
            if session_is_gone(status, id, message.as_ref(), &text) {
                self.end();
                return self.gone();
            }
        }
        match message {
            // Whatever id it has: some servers make one up when they refuse early.
            Some(Frame::Response(Response {
                outcome: Err(error),
                ..
            })) if status != 401 && status != 403 => {
                Error::rpc(&config.name, error).with_source(ErrorStatus(head.status))
            }
            _ => self.failure(head, &beginning),
        }
    }

    /// The error of a response that carries no message.
    pub(super) fn failure(&self, head: &Parts, body: &[u8]) -> Error {
        let mut ours = self.site.config().headers.clone();
        if let Some(session) = self.session.get() {
            ours = ours.and_secret(SESSION, session.clone());
        }
        let failure = HttpFailure::new(head, body, &ours);
        self.failed(failure.kind(), &format!("answered with {failure}"))
            .with_source(failure)
    }

    /// The error of a request that the server did not take because the session is gone.
    pub(super) fn gone(&self) -> Error {
        self.failed(Kind::Closed, "no longer knows the session")
            .retry_safe()
    }

    /// The error of a server that did something.
    pub(super) fn failed(&self, kind: Kind, did: &str) -> Error {
        let name = &self.site.config().name;
        Error::new(kind, format!("server `{name}` {did}")).from_upstream(name)
    }

    /// Posts a message that has no answer.
    async fn say(&self, message: Bytes) -> Result<(), Error> {
        if self.is_over() {
            return Err(self.gone());
        }
        let (head, body) = self.site.send(self.post(message)).await?;
        if !head.status.is_success() {
            return Err(self.refusal(&head, body, None).await);
        }
        finish(body).await;
        Ok(())
    }
}
