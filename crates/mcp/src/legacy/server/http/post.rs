use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Frame, Request, Version};
use futures_util::FutureExt;
use http::header::HeaderValue;
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::endpoint::{Claim, SessionEndpoint, origin};
use super::headers::SESSION_ID;
use super::responses;
use super::session_events::{EventIds, OnDrop, SessionEvents};
use super::session_table::{SessionEntry, SessionTransport};
use super::stream_table::FirstEvent;
use super::streams::{Retention, StreamReader};
use crate::error::{Error, Kind};
use crate::legacy::server::client_request::{Message, RequestOrigin};
use crate::legacy::server::handshake::is_handshake;
use crate::legacy::server::session::Session;
use crate::server::ClientMessage;
use crate::service::Caller;
use crate::transport::http::server::{Accepts, Admission, ResponseBody, response};

/// Stream that carries the response to a request.
struct ResponseStream {
    reader: StreamReader,
    ids: EventIds,
    version: Version,
    guard: Option<OnDrop>,
}

/// Time after which a client of 2025-11-25 is told how to reconnect.
const RECONNECT_HINT: Duration = Duration::from_secs(1);

impl SessionEndpoint {
    /// Answers a message of an old client.
    ///
    /// Dropping the future cancels no request that belongs to a session.
    pub(super) async fn answer_post(
        &self,
        claim: Claim,
        admission: Admission,
        message: ClientMessage,
    ) -> Response<ResponseBody> {
        match (claim, message) {
            (Claim::NoSession, message) => responses::no_session(message.request_id()),
            (Claim::UnknownVersion, message) => responses::unknown_version(message.request_id()),
            (Claim::Handshake, ClientMessage::One(Frame::Request(request))) => {
                self.open(admission, request).await
            }
            (Claim::Handshake, _) => {
                responses::refuse(StatusCode::BAD_REQUEST, None, "a handshake is a request")
            }
            (Claim::Session(entry), message) => {
                self.post_to_session(&entry, admission, message).await
            }
            (Claim::EventStream(entry), message) => {
                self.post_beside_stream(&entry, admission, message).await
            }
            (Claim::Stateless(version), message) => {
                self.post_stateless(version, admission, message).await
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
            entry.set_session(session);
            let id = self.sessions.insert(slot, Arc::new(entry));
            let id = HeaderValue::from_bytes(id.as_bytes()).expect("a session id is visible");
            response.headers_mut().insert(&SESSION_ID, id);
        }
        response
    }

    /// Passes a message to its session.
    async fn post_to_session(
        &self,
        entry: &SessionEntry,
        admission: Admission,
        message: ClientMessage,
    ) -> Response<ResponseBody> {
        let Some(session) = entry.session() else {
            return responses::no_session(message.request_id());
        };
        entry.touch();
        let accepts = admission.accepts;
        // Without events there are no ids to reconnect with, and the client reads no questions.
        let keep = match accepts.events {
            true => Retention::Events,
            false => Retention::Nothing,
        };
        let reader = entry.streams().open(keep);
        let sink = reader.sink(accepts.events);
        let origin = origin(admission, Some(entry));
        let id = message.request_id().cloned();
        match session.receive(message, &self.json, &origin, sink) {
            Ok(true) => {}
            Ok(false) => return response::accepted(),
            Err(error) => return response::reject(id.as_ref(), &error),
        }
        let stream = ResponseStream {
            reader,
            ids: EventIds::Given,
            version: session.version(),
            guard: None,
        };
        self.respond(accepts, stream).await
    }

    /// Answers a message without a session. Its client cannot reconnect, so if it disconnects, the
    /// request is canceled.
    async fn post_stateless(
        &self,
        version: Version,
        admission: Admission,
        message: ClientMessage,
    ) -> Response<ResponseBody> {
        if let ClientMessage::One(Frame::Response(_)) = message {
            let message = "a response belongs to a session";
            return responses::refuse(StatusCode::BAD_REQUEST, None, message);
        }
        let accepts = admission.accepts;
        let reader = self.single_stream(&admission.caller);
        let origin = origin(admission, None);
        let service = self.service.clone();
        let session = Session::without_handshake(service, origin.clone(), version, self.limits);
        let guard = OnDrop::new({
            let session = session.clone();
            move || session.close()
        });
        let id = message.request_id().cloned();
        match session.receive(message, &self.json, &origin, reader.for_request()) {
            Ok(true) => {}
            Ok(false) => return response::accepted(),
            Err(error) => return response::reject(id.as_ref(), &error),
        }
        let stream = ResponseStream {
            reader,
            ids: EventIds::None,
            version,
            guard: Some(guard),
        };
        self.respond(accepts, stream).await
    }

    /// Passes a message to a session of HTTP+SSE; its response goes to the stream of the session.
    async fn post_beside_stream(
        &self,
        entry: &SessionEntry,
        admission: Admission,
        message: ClientMessage,
    ) -> Response<ResponseBody> {
        let origin = origin(admission, Some(entry));
        if let ClientMessage::One(Frame::Request(request)) = &message
            && is_handshake(request)
        {
            self.open_beside_stream(entry, origin, request).await;
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
        match session.receive(message, &self.json, &origin, sink) {
            Ok(_) => response::accepted(),
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
        entry.streams().general().push(response);
        if outcome.is_ok() {
            entry.touch();
            entry.listen();
        }
    }

    /// Responds with the messages of a stream: as JSON if the response comes first, else as events.
    async fn respond(&self, accepts: Accepts, stream: ResponseStream) -> Response<ResponseBody> {
        if !accepts.events {
            let response = stream.reader.response().await;
            // A request that was canceled has no response.
            return response.map_or_else(response::accepted, responses::json);
        }
        if accepts.json {
            let first = || poll_fn(|cx| stream.reader.poll_first(cx));
            // Most calls have ended by now, and need no timer.
            let first = match first().now_or_never() {
                Some(first) => Ok(first),
                None => timeout(self.first_event_timeout(stream.version), first()).await,
            };
            if let Ok(FirstEvent::Response(response)) = first {
                return responses::json(response);
            }
        }
        let mut events = SessionEvents::new(stream.reader, stream.ids, self.keep_alive);
        if stream.ids == EventIds::Given {
            self.prime(&mut events, stream.version);
        }
        response::event_stream(match stream.guard {
            Some(guard) => events.guarded(guard),
            None => events,
        })
    }

    /// Responds with one message.
    fn whole(&self, accepts: Accepts, message: Message, caller: &Caller) -> Response<ResponseBody> {
        if accepts.json {
            return responses::json(message.json);
        }
        let reader = self.single_stream(caller);
        reader.for_request().push(message);
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
