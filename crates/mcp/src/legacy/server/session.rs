use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::capabilities::ElicitationCapability;
use callgate_wire::legacy::cancel::CancelledParams;
use callgate_wire::legacy::logging::SetLevelParams;
use callgate_wire::legacy::method as old;
use callgate_wire::legacy::subscription::SubscribeParams;
use callgate_wire::logging::LogLevel;
use callgate_wire::{Frame, Id, Limits, Method, Notification, RawJson, Version, method};

use super::batch;
use super::client_request::{ClientRequest, Message, MessageSink, RequestOrigin, wait_for_room};
use super::convert;
use super::forward::SessionService;
use super::handshake::{self, ServerFeatures};
use super::listen::{Change, Subscriptions};
use super::tasks::SessionTasks;
use crate::error::{Error, Kind};
use crate::legacy::pending_responses::PendingResponses;
use crate::mutex::Mutex;
use crate::seal::random;
use crate::server::{ClientMessage, ClientNotifications, InFlight, RunningRequest, SessionLimits};
use crate::service::Service;

/// Session of one old client: its identity, its requests, questions, subscriptions and tasks.
///
/// It knows no transport, and calls only the service.
pub(crate) struct Session {
    pub(super) config: SessionLimits,
    pub(super) upstream: SessionService,
    features: ServerFeatures,
    /// Lowest level of log messages to send.
    pub(super) level: Mutex<Option<LogLevel>>,
    in_flight: InFlight,
    notifications: Arc<ClientNotifications>,
    /// Questions to the client that it has not answered yet.
    pub(super) questions: Arc<PendingResponses>,
    pub(super) last_question: AtomicU64,
    subscriptions: Subscriptions,
    /// Present if the service has tasks.
    pub(super) tasks: Option<SessionTasks>,
    pub(super) server_meta: convert::ServerMeta,
}

/// Consequence of a message of the client.
pub(super) enum Received {
    /// There is no response.
    Nothing,
    /// The response, which is there already. It has not gone to the sink.
    Response(Message),
    /// The response will go to the sink.
    Later,
}

/// Log level of a client that has set none.
///
/// Old servers may choose, and their clients expect some messages.
const DEFAULT_LEVEL: LogLevel = LogLevel::Info;

impl Session {
    /// Opens a session from the params of `initialize`; returns the `InitializeResult` as well.
    ///
    /// # Errors
    /// The params are malformed, or the service does not tell its capabilities.
    pub(crate) async fn open(
        service: Arc<dyn Service>,
        origin: RequestOrigin,
        params: &RawJson,
        config: SessionLimits,
    ) -> Result<(Arc<Self>, RawJson), Error> {
        let hello = handshake::read(params)?;
        let upstream = SessionService {
            service,
            origin,
            identity: Arc::new(hello.identity),
            version: hello.version,
        };
        let (features, result) = handshake::discover(&upstream).await?;
        let session = Self::new(upstream, features, config);
        *session.level.lock() = Some(DEFAULT_LEVEL);
        Ok((session, result))
    }

    /// Session of a single request without a handshake. Its client declares no capabilities.
    #[cfg(feature = "http-server")]
    pub(crate) fn without_handshake(
        service: Arc<dyn Service>,
        origin: RequestOrigin,
        version: Version,
        config: SessionLimits,
    ) -> Arc<Self> {
        let upstream = SessionService::without_identity(service, origin, version);
        Self::new(upstream, ServerFeatures::default(), config)
    }

    fn new(upstream: SessionService, features: ServerFeatures, config: SessionLimits) -> Arc<Self> {
        let lists = features.changes.clone();
        Arc::new(Self {
            config,
            subscriptions: Subscriptions::new(upstream.clone(), lists, config.subscriptions),
            tasks: features
                .tasks
                .then(|| SessionTasks::new(&upstream, &config)),
            upstream,
            features,
            level: Mutex::default(),
            in_flight: InFlight::new(config.in_flight, config.in_flight_bytes),
            questions: Arc::new(PendingResponses::new(config.questions)),
            last_question: AtomicU64::new(0),
            notifications: Arc::default(),
            server_meta: convert::ServerMeta::default(),
        })
    }

    /// Runs a request, in a task of its own unless it ends at once.
    ///
    /// Its notifications, its questions and at last its response go to its sink; but the response of
    /// a request that ends at once is returned. A canceled request ends without a response: the sink
    /// is dropped.
    pub(super) fn start(self: &Arc<Self>, request: ClientRequest) -> Option<Message> {
        // A ping may come before `notifications/initialized`; any other request implies it, for
        // the clients that never send it.
        if request.method.as_str() != old::PING {
            self.subscriptions.ready();
        }
        // Before the limit of requests: a ping must be answered even while too many run.
        if let Some(outcome) = self.answer_here(&request) {
            let response = Message::response(Some(&request.id), &outcome);
            // It may be as large as the id that the client chose.
            return Some(response.counted(&*request.sink));
        }
        let (id, sink) = (request.id.clone(), request.sink.clone());
        let bytes = request.params.as_bytes().len();
        if !self.in_flight.has_room(bytes) {
            let busy = Error::new(Kind::Busy, "too many requests in flight");
            return Some(Message::response(Some(&id), &Err(busy)).counted(&*sink));
        }
        let mut response = Box::pin(self.clone().respond(request));
        // A quick call is answered here: a task for each would cost more than most tools do. The
        // task polls again with a waker of its own, so none is needed here.
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(message) = response.as_mut().poll(&mut cx) {
            return Some(message);
        }
        let session = self.clone();
        self.in_flight.add(|number| {
            let task = tokio::spawn(async move {
                let message = response.await;
                session.in_flight.finish(number, || sink.push(message));
            });
            RunningRequest {
                id,
                bytes,
                endless: false,
                abort: task.abort_handle(),
            }
        });
        None
    }

    /// Takes a message of the client. All messages about it go to `sink`, but for a response that is
    /// returned.
    ///
    /// # Errors
    /// A batch is refused as a whole.
    pub(super) fn receive(
        self: &Arc<Self>,
        message: ClientMessage,
        limits: &Limits,
        origin: RequestOrigin,
        sink: &Arc<dyn MessageSink>,
    ) -> Result<Received, Error> {
        match message {
            ClientMessage::One(Frame::Notification(notification)) => {
                self.receive_notification(notification, &origin);
            }
            ClientMessage::One(Frame::Response(response)) => self.questions.answer(response),
            ClientMessage::One(Frame::Request(request)) => {
                let request = ClientRequest::new(request, origin, sink.clone());
                return Ok(match self.start(request) {
                    Some(response) => Received::Response(response),
                    None => Received::Later,
                });
            }
            ClientMessage::Array(array, _) => {
                if batch::receive(self, &array, limits, &origin, sink.clone())? {
                    return Ok(Received::Later);
                }
            }
        }
        Ok(Received::Nothing)
    }

    pub(crate) fn receive_notification(&self, notification: Notification, origin: &RequestOrigin) {
        let Notification { method, params } = notification;
        match method.as_str() {
            old::NOTIFICATIONS_INITIALIZED => self.subscriptions.ready(),
            method::NOTIFICATIONS_CANCELLED => {
                let params: Result<CancelledParams, _> = params.decode();
                if let Ok(Some(id)) = params.map(|params| params.request_id) {
                    self.in_flight.cancel_unique(&id);
                }
            }
            // Roots are requested when they are needed, and progress of questions is not used: these
            // are not passed on.
            _ => {
                let service = &self.upstream;
                let context = |claims| origin.context(Id::number(0), claims);
                let params = params.into();
                if let Ok(notification) = service.stamp(context, &method, params, None) {
                    self.notifications.pass_on(&service.service, notification);
                }
            }
        }
    }

    /// Sends messages that belong to no request to `sink` from now on, or drops them.
    ///
    /// None is sent before the client is ready.
    pub(crate) fn listen(self: &Arc<Self>, sink: Option<Arc<dyn MessageSink>>) {
        self.subscriptions.set_sink(sink);
    }

    /// The revision of the session.
    pub(crate) fn version(&self) -> Version {
        self.upstream.version
    }

    /// Number of running requests.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Cancels everything.
    pub(crate) fn close(&self) {
        self.in_flight.cancel(|_| true);
        self.subscriptions.close();
    }

    /// The tasks, if the revision of the client has them too.
    pub(super) fn known_tasks(&self) -> Option<&SessionTasks> {
        let is_known = self.version() == Version::V2025_11_25;
        self.tasks.as_ref().filter(|_| is_known)
    }

    /// Answers methods that the service does not have, or that mean something else there.
    fn answer_here(&self, request: &ClientRequest) -> Option<Result<RawJson, Error>> {
        match request.method.as_str() {
            old::PING => Some(Ok(RawJson::empty_object())),
            old::LOGGING_SET_LEVEL => {
                let params: Result<SetLevelParams, _> = request.params.decode();
                Some(match params {
                    Ok(params) => {
                        *self.level.lock() = Some(params.level);
                        Ok(RawJson::empty_object())
                    }
                    Err(error) => {
                        Err(Error::invalid_params("`level` must be a level").with_source(error))
                    }
                })
            }
            old::INITIALIZE => {
                let message = "the session is open already, or the handshake is not on its own";
                Some(Err(Error::new(Kind::InvalidRequest, message)))
            }
            method::SERVER_DISCOVER | method::SUBSCRIPTIONS_LISTEN | method::TASKS_UPDATE => {
                Some(Err(Error::method_not_found(&request.method)))
            }
            method::TASKS_GET | method::TASKS_CANCEL | old::TASKS_LIST | old::TASKS_RESULT
                if self.known_tasks().is_none() =>
            {
                Some(Err(Error::method_not_found(&request.method)))
            }
            _ => None,
        }
    }

    /// Runs a request until there is a response, and room for it. Dropping the future cancels it.
    async fn respond(self: Arc<Self>, request: ClientRequest) -> Message {
        let id = &request.id;
        let response = self.answer(&request).await.unwrap_or_else(|error| {
            let error = self.translate(&request.method, error);
            Message::response(Some(id), &Err(error))
        });
        // Before the wait for room, in which it would take memory that is not counted.
        let response = Message::admitted(response, id, &*request.sink);
        wait_for_room(&request.sink).await;
        response
    }

    async fn answer(&self, request: &ClientRequest) -> Result<Message, Error> {
        let answered = |result: &RawJson| Message::result(&request.id, result);
        // First, because a call that asks to become a task is a `tools/call` like any other.
        if let Some(tasks) = self.known_tasks()
            && let Some(answer) = self.answer_task(tasks, request)
        {
            return answer.await.map(|result| answered(&result));
        }
        match request.method.as_str() {
            // Boxed, so that the futures of other requests do not have its size.
            old::RESOURCES_SUBSCRIBE => {
                let done = Box::pin(self.subscribe(request, Change::Subscribe)).await?;
                Ok(answered(&done))
            }
            old::RESOURCES_UNSUBSCRIBE => {
                let done = Box::pin(self.subscribe(request, Change::Unsubscribe)).await?;
                Ok(answered(&done))
            }
            method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST => {
                // A list that is read before the subscription stands may change unnoticed.
                self.subscriptions.wait_until_open().await;
                self.forward(request).await
            }
            _ => self.forward(request).await,
        }
    }

    async fn subscribe(
        &self,
        request: &ClientRequest,
        change: fn(String) -> Change,
    ) -> Result<RawJson, Error> {
        if !self.features.subscribe {
            return Err(Error::method_not_found(&request.method));
        }
        let params: SubscribeParams = request
            .params
            .decode()
            .map_err(|error| Error::invalid_params("`uri` must be a string").with_source(error))?;
        self.subscriptions.change(change(params.uri)).await?;
        Ok(RawJson::empty_object())
    }

    fn translate(&self, method: &Method, error: Error) -> Error {
        let elicitation = &self.upstream.identity.capabilities.elicitation;
        let opens_urls = elicitation
            .as_ref()
            .is_some_and(ElicitationCapability::has_url);
        convert::error(opens_urls, method, error)
    }
}

/// A new key of a conversation. It is random, but neither a secret nor made from one.
pub(super) fn conversation_key() -> Arc<str> {
    Arc::from(URL_SAFE_NO_PAD.encode(random::<9>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legacy::server::client_request::MessageKind;
    use crate::service::{BoxFuture, Call, Reply};
    use crate::service::{Caller, Source};
    use tokio::sync::{Semaphore, mpsc};

    /// Answers with its params once it has a permit, and says when it is called and when it ends.
    struct Slow {
        permits: Semaphore,
        called: mpsc::UnboundedSender<&'static str>,
    }

    impl Service for Slow {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async move {
                self.called.send("called").unwrap();
                self.permits.acquire().await.unwrap().forget();
                self.called.send("done").unwrap();
                Ok(Reply::Complete(call.params().get("say").unwrap()))
            })
        }
    }

    /// Sink that a test reads.
    struct Reader(mpsc::UnboundedSender<Message>);

    impl MessageSink for Reader {
        fn push(&self, message: Message) {
            drop(self.0.send(message));
        }

        fn has_room(&self) -> bool {
            true
        }

        fn room(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    fn slow() -> (Arc<Slow>, mpsc::UnboundedReceiver<&'static str>) {
        let (called, calls) = mpsc::unbounded_channel();
        let permits = Semaphore::new(0);
        (Arc::new(Slow { permits, called }), calls)
    }

    fn origin() -> RequestOrigin {
        RequestOrigin {
            caller: Caller::Local,
            source: Source::default(),
            trace: None,
        }
    }

    fn session(service: Arc<dyn Service>) -> Arc<Session> {
        let version = Version::V2025_11_25;
        Session::without_handshake(service, origin(), version, SessionLimits::default())
    }

    fn say(number: usize, sink: mpsc::UnboundedSender<Message>) -> ClientRequest {
        let params = format!(r#"{{"say":{{"n":{number}}}}}"#);
        ClientRequest {
            id: Id::number(1),
            method: Method::new("tools/call"),
            params: RawJson::parse(params.into(), &Limits::default())
                .unwrap()
                .into(),
            origin: origin(),
            sink: Arc::new(Reader(sink)),
        }
    }

    #[tokio::test]
    async fn hc_11_a_client_that_disconnects_has_not_canceled_anything() {
        let (service, mut calls) = slow();
        let session = session(service.clone());
        let (sink, reader) = mpsc::unbounded_channel();
        session.start(say(1, sink));
        assert_eq!(calls.recv().await, Some("called"));
        drop(reader);
        service.permits.add_permits(1);
        assert_eq!(calls.recv().await, Some("done"));
    }

    #[tokio::test]
    async fn a_session_that_is_closed_cancels_everything() {
        let (service, mut calls) = slow();
        let session = session(service.clone());
        let (sink, mut reader) = mpsc::unbounded_channel();
        session.start(say(1, sink));
        assert_eq!(calls.recv().await, Some("called"));
        assert_eq!(session.in_flight(), 1);
        session.close();
        assert_eq!(session.in_flight(), 0);
        assert_eq!(reader.recv().await, None);
    }

    #[tokio::test]
    async fn hc_17_requests_with_one_id_are_answered_each_where_it_came_from() {
        let (service, mut calls) = slow();
        let session = session(service.clone());
        let readers: Vec<_> = (0..1000)
            .map(|number| {
                let (sink, reader) = mpsc::unbounded_channel();
                session.start(say(number, sink));
                reader
            })
            .collect();
        for _ in 0..1000 {
            assert_eq!(calls.recv().await, Some("called"));
        }
        service.permits.add_permits(1000);
        for (number, mut reader) in readers.into_iter().enumerate() {
            let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"n":{number}}}}}"#);
            let expect = Message {
                kind: MessageKind::Response,
                json: expect.into(),
            };
            assert_eq!(reader.recv().await, Some(expect));
            assert_eq!(reader.recv().await, None);
        }
    }
}
