use std::convert::Infallible;
use std::fmt;
use std::future::Ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use callgate_wire::{Frame, Id, Notification, Request as Message};
use futures_util::future::Either;
use http::request::Parts;
use http::{Method as Verb, Request, Response, Version};
use tokio::sync::watch;

use super::body::ResponseBody;
use super::body_reader::{self, BodyBudget};
use super::config::{HttpServerConfig, HttpServerLimits};
use super::connection_health::ConnectionHealth;
use super::event_stream::EventStream;
use super::fields::Fields;
use super::head::{self, Admission};
use super::host_policy::{HostPolicy, OwnAddress};
use super::response::{self, Refusal};
use super::tool_listing::ToolListing;
use super::{documents, mirror};
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::server::client_notifications::pass_on;
use crate::server::{
    CallEvent, CallerBudget, ClientMessage, RunningCall, UnsentBudget, accept, revisions,
};
use crate::service::{BoxFuture, Call, Cx, PeerInfo, Service, Source, TransportKind};

/// MCP over Streamable HTTP as a `hyper` and `tower` service, to be mounted in another HTTP server.
///
/// Clones share their state and are cheap. A [`Listener`](super::Listener) is an endpoint with
/// sockets of its own.
///
/// The endpoint checks host, origin, path, method, token, media types, the mirrored headers and the
/// limits of bodies and messages, whatever server it is mounted in. It answers requests to
/// [`HttpServerConfig::path`] and to the paths of [`HttpServerConfig::documents`], so the other server must keep the
/// path as it is, as `axum::Router::route_service` does. The limits of connections, heads and idle
/// time, and the guard against request smuggling, belong to a listener: elsewhere the other server
/// is responsible for them. Put the address of the client into the request as an extension of the
/// type [`RemoteAddress`] to have it in the [`Source`](crate::Source) of calls.
///
/// ```
/// # use callgate_mcp::{Service, transport::http::server::{HttpServerConfig, Endpoint}};
/// # fn example(service: std::sync::Arc<dyn Service>) {
/// let endpoint = Endpoint::new(service, HttpServerConfig::default());
/// // axum::Router::new().route_service("/mcp", endpoint)
/// # }
/// ```
#[derive(Clone)]
pub struct Endpoint {
    shared: Arc<Shared>,
    shutdown: ShutdownHandle,
}

/// Address of the client, as an extension of a request to an [`Endpoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it wraps one value")]
pub struct RemoteAddress(pub SocketAddr);

/// Shuts an [`Endpoint`] or a [`Listener`](super::Listener) down from elsewhere.
#[derive(Debug, Clone)]
pub struct ShutdownHandle(Arc<watch::Sender<bool>>);

/// Shutdown signal of an endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Draining(watch::Receiver<bool>);

/// Revisions with sessions that share an endpoint with the newest one.
pub(crate) trait HttpSessions: Send + Sync {
    /// Answers a message, unless it belongs to none of these revisions; then it is handed back.
    ///
    /// `version` is the revision in the header: empty, which no revision is, if it is repeated or
    /// unreadable.
    fn post<'a>(
        &'a self,
        head: &Parts,
        version: Option<&str>,
        admission: Admission,
        message: ClientMessage,
    ) -> Result<SessionAnswer<'a>, ClientMessage>;

    /// Answers a GET or DELETE request.
    fn without_message(&self, head: &Parts, admission: Admission) -> Response<ResponseBody>;
}

/// Answer to a message of a revision with sessions: most calls end at once, and need no box.
pub(crate) type SessionAnswer<'a> =
    Either<Ready<Response<ResponseBody>>, BoxFuture<'a, Response<ResponseBody>>>;

/// State that all requests of an endpoint share.
struct Shared {
    service: Arc<dyn Service>,
    config: HttpServerConfig,
    policy: HostPolicy,
    draining: Draining,
    bodies: BodyBudget,
    unsent: Arc<UnsentBudget>,
    sessions: Option<Arc<dyn HttpSessions>>,
    tool_listing: ToolListing,
}

impl Endpoint {
    /// The endpoint of `service`.
    #[must_use]
    pub fn new(service: Arc<dyn Service>, config: HttpServerConfig) -> Self {
        Self::at(OwnAddress::Unknown, service, config)
    }

    /// The endpoint of `service` in a server with this address.
    pub(super) fn at(own: OwnAddress, service: Arc<dyn Service>, config: HttpServerConfig) -> Self {
        let (begin, draining) = watch::channel(false);
        let draining = Draining(draining);
        let HttpServerLimits {
            unsent_bytes,
            unsent_bytes_per_caller,
            ..
        } = config.limits;
        let unsent = UnsentBudget::new(unsent_bytes, unsent_bytes_per_caller);
        let shared = Shared {
            sessions: revisions::http_sessions(&service, &config, &draining, &unsent),
            service,
            policy: HostPolicy::new(&config.guard, own),
            config,
            draining,
            bodies: BodyBudget::default(),
            unsent,
            tool_listing: ToolListing::default(),
        };
        Self {
            shared: Arc::new(shared),
            shutdown: ShutdownHandle(Arc::new(begin)),
        }
    }

    /// A handle that shuts the endpoint down: subscriptions end, and each connection is closed
    /// after the response that is being sent on it.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.shutdown.clone()
    }

    pub(super) fn config(&self) -> &HttpServerConfig {
        &self.shared.config
    }

    pub(super) fn draining(&self) -> Draining {
        self.shared.draining.clone()
    }

    /// Answers one request of the connection that `health` is about. Dropping the future cancels it.
    pub(super) async fn answer<B: http_body::Body>(
        &self,
        address: Option<SocketAddr>,
        health: Option<&ConnectionHealth>,
        request: Request<B>,
    ) -> Response<ResponseBody> {
        let (head, body) = request.into_parts();
        let source = Source {
            address,
            ..Source::new(TransportKind::Http)
        };
        let fields = Fields::of(&head.headers);
        let answer = self.shared.respond(&head, &fields, source, health, body);
        let mut response = answer.await.unwrap_or_else(response::refuse);
        // The guard against smuggling does not follow the end of a chunked body, so nothing may
        // come after it. In HTTP/2 there are no such bodies, and no header closes a connection.
        let is_last = fields.has_transfer_encoding;
        if (is_last || self.shared.draining.has_begun()) && head.version != Version::HTTP_2 {
            response::close_after(&mut response);
        }
        response
    }
}

impl Shared {
    async fn respond<B: http_body::Body>(
        &self,
        head: &Parts,
        fields: &Fields<'_>,
        source: Source,
        health: Option<&ConnectionHealth>,
        body: B,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let Self { policy, config, .. } = self;
        // The host comes first: a page with a rebound name must not even read the public documents.
        policy.check_host(head, fields.host)?;
        // Documents are public: they are served before the origin and the token are checked.
        if let Some(document) = documents::find(config, head.uri.path()) {
            return documents::answer(document, &head.method);
        }
        let serves_sessions = self.sessions.is_some();
        let admission = head::admit(head, fields, source, policy, config, serves_sessions);
        let admission = admission.await?;
        // From here on the connection does not give way to new ones.
        if let Some(health) = health {
            health.authenticate();
        }
        if head.method != Verb::POST {
            let sessions = self.sessions.as_ref().ok_or(Refusal::NotFound)?;
            return Ok(sessions.without_message(head, admission));
        }
        // Before the body is read: a request that is refused now has had no effect.
        if !self.unsent.has_room(&admission.caller) {
            return Err(Refusal::AnswersUnread);
        }
        // The reservation lasts until there is an answer, or the first part of one.
        // It is read only after authentication, so that a stranger takes no memory for bodies.
        let body = body_reader::read(body, &config.limits, &self.bodies, health);
        let (body, _reservation) = body.await?;
        Ok(self.answer_message(head, fields, admission, &body).await)
    }

    /// Answers a message. A request is one of the newest revision if its headers and its metadata
    /// say so; only what is none is offered to the older revisions.
    async fn answer_message(
        &self,
        head: &Parts,
        fields: &Fields<'_>,
        admission: Admission,
        body: &Bytes,
    ) -> Response<ResponseBody> {
        let config = &self.config;
        let parse = |body: &Bytes| Frame::parse(body, &config.limits.json());
        let frame = match parse(body) {
            // A subscription stays for long, and must not keep the read buffer of its connection.
            Ok(Frame::Request(request)) if request.method.is_subscription() => {
                parse(&Bytes::copy_from_slice(body))
            }
            frame => frame,
        };
        let check = |request: &Message| {
            let params = config.header_params.as_ref();
            mirror::check(&head.headers, fields, request, params)
        };
        let message = match frame {
            Ok(Frame::Request(request)) if mirror::may_be_supported(fields) => {
                match check(&request) {
                    // Only after the other headers were found right: a request that is refused anyway causes
                    // no list.
                    Ok(peer) if self.must_list_tools(&request) => {
                        // Boxed, so that the futures of other calls do not have its size.
                        let call = self.call_after_list(head, fields, admission, request, peer);
                        return Box::pin(call).await;
                    }
                    Ok(peer) => return self.call(admission, request, peer).await,
                    Err(_) => ClientMessage::One(Frame::Request(request)),
                }
            }
            Ok(frame) => ClientMessage::One(frame),
            Err(error) => match ClientMessage::from_malformed(body, error) {
                Ok(array) => array,
                Err(error) => return response::reject_frame(&error),
            },
        };
        // Kept only for a notification: whatever else a session does not take is refused.
        let origin = matches!(message, ClientMessage::One(Frame::Notification(_)))
            .then(|| (admission.caller.clone(), admission.source.clone()));
        let message = match &self.sessions {
            Some(sessions) => {
                let version = fields.protocol_version.text_if_present();
                match sessions.post(head, version, admission, message) {
                    Ok(response) => return response.await,
                    Err(message) => message,
                }
            }
            None => message,
        };
        match message {
            ClientMessage::One(Frame::Request(request)) => {
                // Checked once more for its error, which the requests of old clients do not need.
                let error = match check(&request) {
                    Err(error) => error,
                    Ok(_) => Error::method_not_found(&request.method),
                };
                let error = revisions::explain(&request, error);
                response::reject(Some(&request.id), &error)
            }
            ClientMessage::One(Frame::Notification(notification)) => {
                if let Some((caller, source)) = origin {
                    let Notification { method, params } = notification;
                    let cx = Cx::new(Id::number(0))
                        .with_caller(caller)
                        .with_source(source);
                    // Before the answer: a client that waits for it has its messages in order.
                    pass_on(self.service.clone(), Call::new(method, params, cx)).await;
                }
                response::accepted()
            }
            ClientMessage::One(Frame::Response(_)) => {
                let error = Error::new(Kind::InvalidRequest, "a client must not send responses");
                response::reject(None, &error)
            }
            ClientMessage::Array(array, error) => {
                tracing::debug!(bytes = array.len(), "no session takes this batch");
                response::reject_frame(&error)
            }
        }
    }

    /// True if the headers of a call can be checked only after its tool was listed.
    fn must_list_tools(&self, request: &Message) -> bool {
        let config = &self.config;
        let find = config.header_params.as_ref();
        config.list_unknown_tools
            && find.is_some_and(|find| mirror::calls_unknown_tool(request, find))
    }

    /// Has the tools listed for a request of the newest revision, checks its headers again and calls the
    /// service. The list is one of this revision too: a server that speaks several may settle for that of
    /// its first request.
    async fn call_after_list(
        &self,
        head: &Parts,
        fields: &Fields<'_>,
        admission: Admission,
        request: Message,
        peer: Arc<PeerInfo>,
    ) -> Response<ResponseBody> {
        let cx = Cx::new(request.id.clone())
            .with_caller(admission.caller.clone())
            .with_source(admission.source.clone());
        let is_known = || !self.must_list_tools(&request);
        let listing = &self.tool_listing;
        let listed = listing.list(&self.service, peer.meta(), cx, is_known);
        let listed = listed.await;
        // A list that failed may be one that the caller made fail: without it nothing is let through.
        let checked = listed.and_then(|()| {
            let params = self.config.header_params.as_ref();
            mirror::check(&head.headers, fields, &request, params)
        });
        match checked {
            Ok(peer) => self.call(admission, request, peer).await,
            Err(error) => response::failure(&request.id, &error),
        }
    }

    /// Calls the service for a request of the newest revision.
    async fn call(
        &self,
        admission: Admission,
        message: Message,
        peer: Arc<PeerInfo>,
    ) -> Response<ResponseBody> {
        let Admission {
            caller,
            source,
            trace,
            accepts,
        } = admission;
        if !accepts.events && message.method.is_subscription() {
            // The only content of the reply to a subscription is an event stream.
            let error = Error::new(Kind::InvalidRequest, "Accept must allow text/event-stream");
            return response::reject(Some(&message.id), &error);
        }
        let reader = caller.clone();
        let limits = &self.config.limits;
        let (notify, notifications) = if accepts.events {
            let (notify, notifications) = Notifier::channel(limits.notifications);
            (notify, Some(notifications))
        } else {
            (Notifier::disabled(), None)
        };
        // A subscription ends when the server shuts down; other calls may finish.
        let end = message.method.is_subscription();
        let end = end.then(|| self.draining.begun());
        let call = accept::call(message, peer, notify, |cx| {
            (cx.caller, cx.source) = (caller, source);
            if let Some(trace) = trace {
                cx.set_trace_headers(*trace);
            }
        });
        let mut running = RunningCall::start(self.service.clone(), call, notifications);

        let first = match accepts.json {
            true => running.first_event(limits.keep_alive).await,
            // A client that accepts only events gets its stream at once.
            false => None,
        };
        // JSON only if the call ended before it notified anything, and before a keep-alive is due.
        let (notification, outcome) = match first {
            Some(CallEvent::Outcome(outcome)) => match running.waiting_notification() {
                None => return response::outcome(&running.id, outcome, &self.unsent, &reader),
                notification => (notification, Some(outcome)),
            },
            Some(CallEvent::Notification(notification)) => (Some(notification), None),
            None => (None, None),
        };
        let unsent = CallerBudget::new(&self.unsent, &reader);
        let mut stream = EventStream::new(running, limits.keep_alive, end, unsent);
        if let Some(notification) = notification {
            stream.push(&notification);
        }
        if let Some(outcome) = outcome {
            stream.finish(outcome);
        }
        response::event_stream(stream)
    }
}

impl ShutdownHandle {
    /// Begins to shut down; a second time changes nothing.
    pub fn shutdown(&self) {
        self.0.send_replace(true);
    }
}

impl Draining {
    #[cfg(all(test, feature = "legacy"))]
    pub(crate) fn never() -> Self {
        let (_, draining) = watch::channel(false);
        Self(draining)
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the server shuts down; never, if it is dropped before.
    pub(crate) fn begun(&self) -> BoxFuture<'static, ()> {
        let mut begun = self.0.clone();
        Box::pin(async move {
            if begun.wait_for(|begun| *begun).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

impl<B> hyper::service::Service<Request<B>> for Endpoint
where
    B: http_body::Body + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        let address = request.extensions().get::<RemoteAddress>();
        let address = address.map(|address| address.0);
        Box::pin(async move { Ok(endpoint.answer(address, None, request).await) })
    }
}

impl<B> tower_service::Service<Request<B>> for Endpoint
where
    B: http_body::Body + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(&*self, request)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}
