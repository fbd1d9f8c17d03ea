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
use crate::legacy::server::client_request::{Message, MessageSink, RequestOrigin, wait_for_room};
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

/// Time for which a request of HTTP+SSE waits until its client has read earlier answers.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

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
        let sink = entry.streams().general();
        // Answers that are made at once pile up on a stream that is not read. Notifications and responses of
        // the client have none, and it must not lose them.
        let is_answered = !matches!(
            message,
            ClientMessage::One(Frame::Notification(_) | Frame::Response(_))
        );
        // A client that reads has room again soon, even if it waits for a large answer at the moment.
        if is_answered && timeout(ROOM_TIMEOUT, wait_for_room(&sink)).await.is_err() {
            return response::answers_unread();
        }
        let origin = origin(admission, Some(&entry));
        if let ClientMessage::One(Frame::Request(request)) = &message
            && is_handshake(request)
        {
            self.open_beside_stream(&entry, origin, request).await;
            return response::accepted();
        }
        let Some(session) = entry.session() else {
            if let Some(id) = message.request_id() {
                let error = Error::new(Kind::InvalidRequest, "the first request is `initialize`");
                let response = Message::response(Some(id), &Err(error));
                sink.push(response.counted(&*sink));
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
            // A server may take longer than a stream without a session may be idle.
            let _under_way = entry.begin_handshake();
            Session::open(service, origin, &request.params, self.limits).await
        };
        let outcome = outcome.map(|(session, result)| {
            entry.set_session(session);
            result
        });
        let sink = entry.streams().general();
        let response = Message::response(Some(&request.id), &outcome);
        // Before the subscription: no notification may precede the response.
        sink.push(response.counted(&*sink));
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

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use bytes::Bytes;
    use callgate_wire::Limits;
    use http::header::RETRY_AFTER;
    use tokio::time::sleep;

    use super::super::endpoint::tests::endpoint;
    use super::super::session_table::SessionId;
    use super::*;
    use crate::server::{SessionLimits, UnsentBudget};
    use crate::service::{BoxFuture, Call, Reply, Service, Source, TransportKind};

    /// Tells its capabilities after a time.
    struct Slow(Duration);

    impl Service for Slow {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            assert_eq!(call.method.as_str(), "server/discover");
            let found = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#;
            Box::pin(async move {
                sleep(self.0).await;
                Ok(Reply::Complete(serde_json::from_str(found).unwrap()))
            })
        }
    }

    /// A server with one stream of HTTP+SSE, and its reader.
    fn subject(delay: Duration) -> (SessionEndpoint, SessionId, StreamReader) {
        let mut endpoint = endpoint(Arc::new(Slow(delay)));
        // Full from the first byte on.
        endpoint.unsent = UnsentBudget::new(usize::MAX, 1);
        let slot = endpoint.sessions.reserve(&Caller::Anonymous).ok().unwrap();
        let entry = endpoint.new_entry(&Caller::Anonymous, SessionTransport::EventStream);
        let reader = entry.streams().open_general(Retention::Nothing);
        let id = endpoint.sessions.insert(slot, Arc::new(entry));
        (endpoint, id, reader)
    }

    fn find(endpoint: &SessionEndpoint, id: &SessionId) -> Option<Arc<SessionEntry>> {
        let transport = SessionTransport::EventStream;
        endpoint.sessions.find(id, &Caller::Anonymous, transport)
    }

    /// The status of the answer to a message beside the stream, and its `Retry-After`.
    async fn post(endpoint: &SessionEndpoint, id: &SessionId, text: &str) -> (u16, Option<String>) {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let message = match Frame::parse(&bytes, &Limits::default()) {
            Ok(frame) => ClientMessage::One(frame),
            Err(error) => ClientMessage::from_malformed(&bytes, error).unwrap(),
        };
        let admission = Admission {
            caller: Caller::Anonymous,
            source: Source::new(TransportKind::Http),
            trace: None,
            accepts: Accepts::default(),
        };
        let entry = find(endpoint, id).unwrap();
        let answer = endpoint.post_beside_stream(entry, admission, message);
        let answer = answer.await;
        let retry_after = answer.headers().get(RETRY_AFTER);
        let retry_after = retry_after.map(|seconds| seconds.to_str().unwrap().to_owned());
        (answer.status().as_u16(), retry_after)
    }

    /// Posts a message until it is refused.
    async fn flood(endpoint: &SessionEndpoint, id: &SessionId, text: &str) {
        for _ in 0..10_000 {
            if post(endpoint, id, text).await.0 != 202 {
                return;
            }
        }
        panic!("no request is refused: {text}");
    }

    /// Bytes of the messages on a stream, without their numbers.
    fn read(reader: &StreamReader) -> usize {
        let mut bytes = 0;
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(events)) = reader.poll_read(&mut cx) {
            bytes += events
                .iter()
                .map(|event| event.message.json.len())
                .sum::<usize>();
        }
        bytes
    }

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[tokio::test(start_paused = true)]
    async fn answers_on_a_stream_that_is_not_read_are_bounded() {
        let (taken, refused) = ((202, None), (503, Some("1".to_owned())));
        let (endpoint, id, reader) = subject(Duration::ZERO);
        // Before the handshake, each request is answered with an error.
        flood(&endpoint, &id, PING).await;
        let most = 64 * 1024 + 200;
        let unread = read(&reader);
        assert!(unread > most / 2 && unread <= most, "{unread}");

        assert_eq!(post(&endpoint, &id, INITIALIZE).await, taken);
        let batch = format!("[{PING},{PING}]");
        let unknown = PING.replace("ping", "tasks/update");
        for text in [PING, &batch, &unknown, INITIALIZE] {
            read(&reader);
            flood(&endpoint, &id, text).await;
            assert_eq!(post(&endpoint, &id, text).await, refused, "{text}");
            // What has no answer is taken.
            for other in [
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                r#"{"jsonrpc":"2.0","id":"q","result":{}}"#,
            ] {
                assert_eq!(post(&endpoint, &id, other).await, taken, "{other}");
            }
            let unread = read(&reader);
            assert!(unread > most / 2 && unread <= most, "{unread} {text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_a_client_that_reads() {
        let (endpoint, id, reader) = subject(Duration::ZERO);
        flood(&endpoint, &id, PING).await;
        let reading = async {
            sleep(ROOM_TIMEOUT / 2).await;
            read(&reader);
        };
        let (answer, ()) = tokio::join!(post(&endpoint, &id, PING), reading);
        assert_eq!(answer, (202, None));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_made_at_once_counts_as_unsent_if_it_is_large() {
        let (endpoint, id, reader) = subject(Duration::ZERO);
        let id_of = "x".repeat(10_000);
        let ping = PING.replace(":1,", &format!(r#":"{id_of}","#));
        // An error before the handshake, and a result after it.
        for handshake in [true, false] {
            assert_eq!(post(&endpoint, &id, &ping).await, (202, None));
            assert!(!endpoint.unsent.has_room(&Caller::Anonymous));
            read(&reader);
            assert!(endpoint.unsent.has_room(&Caller::Anonymous));
            if handshake {
                assert_eq!(post(&endpoint, &id, INITIALIZE).await, (202, None));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_may_take_longer_than_a_stream_may_be_without_one() {
        let slow = SessionLimits::default().unused * 3;
        let (endpoint, id, reader) = subject(slow);
        assert_eq!(post(&endpoint, &id, INITIALIZE).await, (202, None));
        assert!(find(&endpoint, &id).is_some_and(|entry| entry.session().is_some()));
        assert!(read(&reader) > 0);
    }
}
