use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Frame, Request, Version};
use http::header::HeaderValue;
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::endpoint::{Claim, SessionEndpoint, origin};
use super::headers::SESSION_ID;
use super::responses;
use super::session_events::{EventIds, OnDrop, SessionEvents};
use super::session_table::{SessionEntry, SessionTransport};
use super::stream_table::FirstEvent;
use super::streams::{RequestSink, Retention, StreamReader};
use crate::error::{Error, Kind};
use crate::legacy::server::client_request::{Message, MessageSink, RequestOrigin};
use crate::legacy::server::handshake::is_handshake;
use crate::legacy::server::session::{Received, Session};
use crate::server::ClientMessage;
use crate::service::Caller;
use crate::transport::http::server::{Accepts, Admission, ResponseBody, SessionAnswer, response};

/// Form of the response to a request.
struct ResponseForm {
    accepts: Accepts,
    ids: EventIds,
    version: Version,
    guard: Option<OnDrop>,
}

/// Time after which a client of 2025-11-25 is told how to reconnect.
const RECONNECT_HINT: Duration = Duration::from_secs(1);

impl SessionEndpoint {
    /// Answers a message of an old client.
    ///
    /// Dropping the answer cancels no request that belongs to a session.
    pub(super) fn answer_post(
        &self,
        claim: Claim,
        admission: Admission,
        message: ClientMessage,
    ) -> SessionAnswer<'_> {
        match (claim, message) {
            (Claim::NoSession, message) => at_once(responses::no_session(message.request_id())),
            (Claim::UnknownVersion, message) => {
                at_once(responses::unknown_version(message.request_id()))
            }
            (Claim::Handshake, ClientMessage::One(Frame::Request(request))) => {
                SessionAnswer::Right(Box::pin(self.open(admission, request)))
            }
            (Claim::Handshake, _) => {
                let message = "a handshake is a request";
                at_once(responses::refuse(StatusCode::BAD_REQUEST, None, message))
            }
            (Claim::Session(entry), message) => self.post_to_session(&entry, admission, message),
            (Claim::EventStream(entry), message) => {
                SessionAnswer::Right(Box::pin(self.post_beside_stream(entry, admission, message)))
            }
            (Claim::Stateless(version), message) => {
                self.post_stateless(version, admission, message)
            }
        }
    }

    /// Opens a session of Streamable HTTP.
    async fn open(&self, admission: Admission, request: Request) -> Response<ResponseBody> {
        // Reserved before the service is asked, so that handshakes under way count as well.
        let slot = match self.sessions.reserve(&admission.caller) {
            Ok(slot) => slot,
            Err(full) => return responses::full(full, Some(&request.id)),
        };
        let entry = self.new_entry(&admission.caller, SessionTransport::Streamable);
        let accepts = admission.accepts;
        let caller = admission.caller.clone();
        let origin = origin(admission, Some(&entry));
        let service = self.service.clone();
        let opened = Session::open(service, origin, &request.params, self.limits).await;
        let (session, outcome) = match opened {
            Ok((session, result)) => (Some(session), Ok(result)),
            Err(error) => (None, Err(error)),
        };
        let message = Message::response(Some(&request.id), &outcome);
        let mut response = self.whole(accepts, message, &caller);
        if let Err(error) = &outcome {
            response::set_retry_after(&mut response, error);
        }
        if let Some(session) = session {
            // Complete before it gets an id by which it can be found.
            entry.set_session(session);
            let id = self.sessions.insert(slot, Arc::new(entry));
            let id = HeaderValue::from_bytes(id.as_bytes()).expect("a session id is visible");
            response.headers_mut().insert(&SESSION_ID, id);
        }
        response
    }

    /// Passes a message to its session.
    fn post_to_session(
        &self,
        entry: &SessionEntry,
        admission: Admission,
        message: ClientMessage,
    ) -> SessionAnswer<'_> {
        let Some(session) = entry.session() else {
            return at_once(responses::no_session(message.request_id()));
        };
        entry.touch();
        let accepts = admission.accepts;
        // Without events there are no ids to reconnect with, and the client reads no questions.
        let keep = match accepts.events {
            true => Retention::Events,
            false => Retention::Nothing,
        };
        let sink = entry.streams().sink(keep, accepts.events);
        let origin = origin(admission, Some(entry));
        let form = ResponseForm {
            accepts,
            ids: EventIds::Given,
            version: session.version(),
            guard: None,
        };
        self.run(session, message, origin, &sink, form)
    }

    /// Answers a message without a session. Its client cannot reconnect, so if it disconnects, the
    /// request is canceled.
    fn post_stateless(
        &self,
        version: Version,
        admission: Admission,
        message: ClientMessage,
    ) -> SessionAnswer<'_> {
        if let ClientMessage::One(Frame::Response(_)) = message {
            let message = "a response belongs to a session";
            return at_once(responses::refuse(StatusCode::BAD_REQUEST, None, message));
        }
        let accepts = admission.accepts;
        let sink = self.single_sink(&admission.caller);
        let origin = origin(admission, None);
        let service = self.service.clone();
        let session = Session::without_handshake(service, origin.clone(), version, self.limits);
        let guard = OnDrop::new({
            let session = session.clone();
            move || session.close()
        });
        let form = ResponseForm {
            accepts,
            ids: EventIds::None,
            version,
            guard: Some(guard),
        };
        self.run(&session, message, origin, &sink, form)
    }

    /// Passes a message to a session of HTTP+SSE; its response goes to the stream of the session.
    async fn post_beside_stream(
        &self,
        entry: Arc<SessionEntry>,
        admission: Admission,
        message: ClientMessage,
    ) -> Response<ResponseBody> {
        let origin = origin(admission, Some(&entry));
        if let ClientMessage::One(Frame::Request(request)) = &message
            && is_handshake(request)
        {
            self.open_beside_stream(&entry, origin, request).await;
            return response::accepted();
        }
        let sink = entry.streams().general();
        let Some(session) = entry.session() else {
            if let Some(id) = message.request_id() {
                let error = Error::new(Kind::InvalidRequest, "the first request is `initialize`");
                sink.push(Message::response(Some(id), &Err(error)));
            }
            return response::accepted();
        };
        entry.touch();
        match session.receive(message, &self.json, origin, &sink) {
            Ok(received) => {
                if let Received::Response(response) = received {
                    sink.push(response);
                }
                response::accepted()
            }
            Err(error) => response::reject(None, &error),
        }
    }

    async fn open_beside_stream(
        &self,
        entry: &SessionEntry,
        origin: RequestOrigin,
        request: &Request,
    ) {
        let outcome = if entry.session().is_some() {
            let message = "the session is open already";
            Err(Error::new(Kind::InvalidRequest, message))
        } else {
            let service = self.service.clone();
            Session::open(service, origin, &request.params, self.limits).await
        };
        let outcome = outcome.map(|(session, result)| {
            entry.set_session(session);
            result
        });
        let response = Message::response(Some(&request.id), &outcome);
        // Before the subscription: no notification may precede the response.
        entry.streams().general().push(response);
        if outcome.is_ok() {
            entry.touch();
            entry.listen();
        }
    }

    /// Passes a message to `session`, and responds with what goes to `sink`.
    fn run(
        &self,
        session: &Arc<Session>,
        message: ClientMessage,
        origin: RequestOrigin,
        sink: &Arc<RequestSink>,
        form: ResponseForm,
    ) -> SessionAnswer<'_> {
        let id = message.request_id().cloned();
        let messages: Arc<dyn MessageSink> = sink.clone();
        match session.receive(message, &self.json, origin, &messages) {
            Ok(Received::Nothing) => return at_once(response::accepted()),
            Ok(Received::Later) => {}
            // Most calls have ended by now, and need neither a stream nor a timer.
            Ok(Received::Response(response)) if form.accepts.json && !sink.is_open() => {
                return at_once(responses::json(response.json));
            }
            // The client accepts events only, or an open stream has earlier messages, which go first.
            Ok(Received::Response(response)) => sink.push(response),
            Err(error) => return at_once(response::reject(id.as_ref(), &error)),
        }
        SessionAnswer::Right(Box::pin(self.respond(sink.reader(), form)))
    }

    /// Responds with the messages of a stream: as JSON if the response comes first, else as events.
    async fn respond(&self, reader: StreamReader, form: ResponseForm) -> Response<ResponseBody> {
        if !form.accepts.events {
            let response = reader.response().await;
            // A request that was canceled has no response.
            return response.map_or_else(response::accepted, responses::json);
        }
        if form.accepts.json {
            let first = poll_fn(|cx| reader.poll_first(cx));
            let first = timeout(self.first_event_timeout(form.version), first).await;
            if let Ok(FirstEvent::Response(response)) = first {
                return responses::json(response);
            }
        }
        let mut events = SessionEvents::new(reader, form.ids, self.keep_alive);
        if form.ids == EventIds::Given {
            self.prime(&mut events, form.version);
        }
        response::event_stream(match form.guard {
            Some(guard) => events.guarded(guard),
            None => events,
        })
    }

    /// Responds with one message.
    fn whole(&self, accepts: Accepts, message: Message, caller: &Caller) -> Response<ResponseBody> {
        if accepts.json {
            return responses::json(message.json);
        }
        let sink = self.single_sink(caller);
        sink.push(message);
        let reader = sink.reader();
        response::event_stream(SessionEvents::new(reader, EventIds::None, self.keep_alive))
    }

    /// Sends an event id first, so that the client can reconnect whatever happens.
    ///
    /// Only since 2025-11-25: older clients take an event without data for a broken message.
    pub(super) fn prime(&self, events: &mut SessionEvents, version: Version) {
        if version >= Version::V2025_11_25 {
            events.prime(self.limits.retry);
        }
    }

    /// Time to wait for a response before an event stream is opened for it.
    fn first_event_timeout(&self, version: Version) -> Duration {
        match version {
            Version::V2025_11_25 => RECONNECT_HINT.min(self.keep_alive),
            _ => self.keep_alive,
        }
    }
}

fn at_once<'a>(response: Response<ResponseBody>) -> SessionAnswer<'a> {
    SessionAnswer::Left(ready(response))
}
