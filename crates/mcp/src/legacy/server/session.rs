use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use callgate_wire::capabilities::ElicitationCapability;
use callgate_wire::legacy::cancel::CancelledParams;
use callgate_wire::legacy::logging::SetLevelParams;
use callgate_wire::legacy::method as old;
use callgate_wire::legacy::subscription::SubscribeParams;
use callgate_wire::logging::LogLevel;
use callgate_wire::{Notification, RawJson, Request, Response, Version, method};
use futures_util::FutureExt;

use super::config::Config;
use super::convert;
use super::handshake::{self, Offers};
use super::listen::{Change, Subscriptions};
use super::outlet::{Message, Outlet};
use super::questions::Questions;
use super::running::{Full, Running};
use super::tasks::Tasks;
use super::upstream::Upstream;
use crate::error::{Error, Kind};
use crate::service::{Caller, Service};

/// One old client: what it said in its handshake, and everything it has going on.
///
/// It knows no transport, and asks nothing but the service.
pub(crate) struct Session {
    version: Version,
    pub(super) config: Config,
    pub(super) upstream: Upstream,
    offers: Offers,
    level: Mutex<Option<LogLevel>>,
    running: Running,
    pub(super) questions: Arc<Questions>,
    subscriptions: Subscriptions,
    /// Only where the service has tasks.
    tasks: Option<Tasks>,
}

/// What is logged to a client that has not said what it wants.
///
/// Old servers may choose, and their clients expect to hear something.
const USUAL_LEVEL: LogLevel = LogLevel::Info;

impl Session {
    /// Opens a session from the params of `initialize`; also the `InitializeResult`.
    ///
    /// Asks the service what it is and can do.
    ///
    /// # Errors
    /// The params are malformed, or the service does not answer.
    pub(crate) async fn open(
        service: Arc<dyn Service>,
        caller: Caller,
        params: &RawJson,
        config: Config,
    ) -> Result<(Arc<Self>, RawJson), Error> {
        let hello = handshake::read(params)?;
        let upstream = Upstream {
            service,
            caller,
            identity: Arc::new(hello.identity),
        };
        let (offers, result) = handshake::discover(&upstream, hello.version).await?;
        let session = Self::new(hello.version, upstream, offers, config);
        session.set_level(Some(USUAL_LEVEL));
        Ok((session, result))
    }

    /// A client that sent a request without any handshake: it can do nothing but ask.
    #[cfg(feature = "http-server")]
    pub(crate) fn without_handshake(
        service: Arc<dyn Service>,
        caller: Caller,
        version: Version,
        config: Config,
    ) -> Arc<Self> {
        let upstream = Upstream::of_stranger(service, caller);
        Self::new(version, upstream, Offers::default(), config)
    }

    fn new(version: Version, upstream: Upstream, offers: Offers, config: Config) -> Arc<Self> {
        let lists = offers.changes.clone();
        Arc::new(Self {
            version,
            config,
            subscriptions: Subscriptions::new(upstream.clone(), lists, config.subscriptions),
            tasks: offers.tasks.then(|| Tasks::new(&upstream, &config)),
            upstream,
            offers,
            level: Mutex::default(),
            running: Running::new(config.in_flight, config.in_flight_bytes),
            questions: Arc::new(Questions::new(config.questions)),
        })
    }

    /// Works on a request in a task of its own.
    ///
    /// What it says, its questions and at last its response go to `outlet`. A canceled request ends
    /// without a response: the outlet is dropped.
    pub(crate) fn start(self: &Arc<Self>, request: Request, outlet: Arc<dyn Outlet>) {
        if request.method.as_str() != old::PING {
            self.subscriptions.ready();
        }
        if let Some(outcome) = self.answer_here(&request) {
            return outlet.push(Message::response(Some(&request.id), &outcome));
        }
        let id = request.id.clone();
        let bytes = request.params.as_bytes().len();
        let spare = outlet.clone();
        let added = self.running.add(&id, bytes, |number| {
            let work = self.clone().work(number, request, outlet);
            tokio::spawn(work).abort_handle()
        });
        if added == Err(Full) {
            let busy = Error::new(Kind::Busy, "too many requests in flight");
            spare.push(Message::response(Some(&id), &Err(busy)));
        }
    }

    /// Takes a notification of the client.
    pub(crate) fn notified(self: &Arc<Self>, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            old::NOTIFICATIONS_INITIALIZED => self.subscriptions.ready(),
            method::NOTIFICATIONS_CANCELLED => {
                let params: Result<CancelledParams, _> = params.decode();
                if let Ok(Some(id)) = params.map(|params| params.request_id) {
                    self.running.cancel(&id);
                }
            }
            // Roots are asked for when they are needed, and nobody waits for progress of questions.
            _ => {}
        }
    }

    /// Takes the answer to one of our questions.
    pub(crate) fn answered(&self, response: Response) {
        self.questions.answered(response);
    }

    /// Messages that belong to no request leave by `outlet` from now on, or nowhere.
    ///
    /// Nothing leaves before the client is ready for it.
    pub(crate) fn listen(self: &Arc<Self>, outlet: Option<Arc<dyn Outlet>>) {
        self.subscriptions.tell_on(outlet);
    }

    /// The revision that both sides speak.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// How many requests are being worked on.
    pub(crate) fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// Cancels everything.
    pub(crate) fn close(&self) {
        self.running.cancel_all();
        self.subscriptions.close();
    }

    /// The tasks, where the service has them.
    pub(super) fn tasks(&self) -> Option<&Tasks> {
        self.tasks.as_ref()
    }

    /// The tasks, where the revision of the client has them too.
    pub(super) fn known_tasks(&self) -> Option<&Tasks> {
        let is_known = self.version == Version::V2025_11_25;
        self.tasks().filter(|_| is_known)
    }

    /// The lowest level of log messages to send.
    pub(super) fn level(&self) -> Option<LogLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_level(&self, level: Option<LogLevel>) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// Answers what the service has no part in, or knows by the same name as something else.
    fn answer_here(&self, request: &Request) -> Option<Result<RawJson, Error>> {
        match request.method.as_str() {
            old::PING => Some(Ok(RawJson::empty_object())),
            old::LOGGING_SET_LEVEL => {
                let params: Result<SetLevelParams, _> = request.params.decode();
                Some(match params {
                    Ok(params) => {
                        self.set_level(Some(params.level));
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

    /// Works on a request until there is a response. Dropping the future cancels it.
    async fn work(self: Arc<Self>, number: u64, request: Request, outlet: Arc<dyn Outlet>) {
        let answer = AssertUnwindSafe(self.answer(&request, &outlet)).catch_unwind();
        let outcome = answer.await.unwrap_or_else(|_panic| {
            tracing::error!(id = %request.id, "a request handler panicked");
            Err(Error::internal("the request handler panicked"))
        });
        let outcome = outcome.map_err(|error| self.translate(&request, error));
        let message = Message::response(Some(&request.id), &outcome);
        outlet.room().await;
        self.running.finish(number, || outlet.push(message));
    }

    async fn answer(&self, request: &Request, outlet: &Arc<dyn Outlet>) -> Result<RawJson, Error> {
        if let Some(tasks) = self.known_tasks()
            && let Some(answer) = self.answer_task(tasks, request, outlet).await
        {
            return answer;
        }
        match request.method.as_str() {
            old::RESOURCES_SUBSCRIBE => self.subscribe(request, Change::Watch).await,
            old::RESOURCES_UNSUBSCRIBE => self.subscribe(request, Change::Unwatch).await,
            method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST => {
                self.subscriptions.settle().await;
                self.forward(request, outlet).await
            }
            _ => self.forward(request, outlet).await,
        }
    }

    async fn subscribe(
        &self,
        request: &Request,
        change: fn(String) -> Change,
    ) -> Result<RawJson, Error> {
        if !self.offers.subscribe {
            return Err(Error::method_not_found(&request.method));
        }
        let params: SubscribeParams = request
            .params
            .decode()
            .map_err(|error| Error::invalid_params("`uri` must be a string").with_source(error))?;
        self.subscriptions.change(change(params.uri)).await?;
        Ok(RawJson::empty_object())
    }

    fn translate(&self, request: &Request, error: Error) -> Error {
        let elicitation = &self.upstream.identity.capabilities.elicitation;
        let opens_urls = elicitation
            .as_ref()
            .is_some_and(ElicitationCapability::has_url);
        convert::error(opens_urls, &request.method, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legacy::server::outlet::MessageKind;
    use crate::service::{BoxFuture, Call, Reply};
    use callgate_wire::{Id, Limits, Method};
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
                Ok(Reply::Complete(call.params.get("say").unwrap()))
            })
        }
    }

    /// Takes messages while somebody reads them.
    struct Reader(mpsc::UnboundedSender<Message>);

    impl Outlet for Reader {
        fn push(&self, message: Message) {
            drop(self.0.send(message));
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

    fn session(service: Arc<dyn Service>) -> Arc<Session> {
        let version = Version::V2025_11_25;
        Session::without_handshake(service, Caller::Local, version, Config::default())
    }

    fn say(number: usize) -> Request {
        let params = format!(r#"{{"say":{{"n":{number}}}}}"#);
        Request {
            id: Id::number(1),
            method: Method::new("tools/call"),
            params: RawJson::parse(params.into(), &Limits::default()).unwrap(),
        }
    }

    #[tokio::test]
    async fn hc_11_a_client_that_disconnects_has_not_canceled_anything() {
        let (service, mut calls) = slow();
        let session = session(service.clone());
        let (outlet, reader) = mpsc::unbounded_channel();
        session.start(say(1), Arc::new(Reader(outlet)));
        assert_eq!(calls.recv().await, Some("called"));
        drop(reader);
        service.permits.add_permits(1);
        assert_eq!(calls.recv().await, Some("done"));
    }

    #[tokio::test]
    async fn a_session_that_is_closed_cancels_everything() {
        let (service, mut calls) = slow();
        let session = session(service.clone());
        let (outlet, mut reader) = mpsc::unbounded_channel();
        session.start(say(1), Arc::new(Reader(outlet)));
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
                let (outlet, reader) = mpsc::unbounded_channel();
                session.start(say(number), Arc::new(Reader(outlet)));
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
