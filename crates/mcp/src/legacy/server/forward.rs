use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use callgate_wire::capabilities::ClientCapabilities;
use callgate_wire::input::InputResponses;
use callgate_wire::legacy::elicitation::ElicitationCompleteParams;
use callgate_wire::legacy::method as old;
use callgate_wire::logging::LogLevel;
use callgate_wire::task::EXTENSION;
use callgate_wire::{
    Method, Notification, ObjectEdit, RawJson, RawParams, Version, code, meta, method,
};
use serde::Serialize;

use super::client_request::{ClientRequest, Message, MessageSink, RequestOrigin, wait_for_room};
use super::convert;
use super::handshake::UnknownCapabilities;
use super::pending_questions::questions_not_accepted;
use super::session::Session;
use super::tasks::must_be_a_task;
use crate::error::{Error, Kind};
use crate::layer::{Round, Rounds};
use crate::mutex::Mutex;
use crate::notifier::Notifier;
use crate::service::{BoxFuture, Call, Cx, PeerInfo, PeerMeta, Reply, Service};

/// Maximum number of notifications of one request that wait to be sent.
const NOTIFICATIONS: usize = 64;

impl Session {
    /// Calls the service for a request, and writes its response. Dropping the future cancels the
    /// call.
    pub(super) async fn forward(&self, request: &ClientRequest) -> Result<Message, Error> {
        let (id, method) = (&request.id, &request.method);
        let outcome = self.run_rounds(&self.upstream, request).await;
        let reply = match (outcome, &self.tasks) {
            // Tried without a task first: only the refusal tells that the tool cannot do without one.
            (Err(error), Some(tasks)) if must_be_a_task(request, &error) => {
                // Boxed, so that the futures of other requests do not have its size.
                Box::pin(self.run_as_hidden_task(tasks, request)).await?
            }
            (outcome, _) => outcome?,
        };
        let result = match reply {
            Reply::Complete(result) if result.is_object() => result,
            _ => {
                let text = "was answered with a result of a type that it must not have";
                return Err(Error::new(Kind::Protocol, format!("`{method}` {text}")));
            }
        };
        let result = convert::result(self.version(), method, &result, &self.server_meta);
        Ok(match (method.as_str(), self.known_tasks()) {
            (method::TOOLS_LIST, Some(_)) => {
                Message::result(id, &convert::with_task_support(&result.finish()))
            }
            // In one copy, since results may be large.
            _ => Message::edited_result(id, &result),
        })
    }

    /// Sends a request to `upstream`, and again with the answers of the client to its questions,
    /// until there is a result or a task.
    pub(super) async fn run_rounds(
        &self,
        upstream: &SessionService,
        request: &ClientRequest,
    ) -> Result<Reply, Error> {
        let params = original(&request.params)?;
        let reply = self.call_service(upstream, request, params).await?;
        match reply {
            // Boxed, so that the futures of other requests do not have its size.
            Reply::InputRequired(_) => {
                Box::pin(self.run_later_rounds(upstream, request, reply)).await
            }
            // Most services ask nothing, and the params are not needed again.
            reply => Ok(reply),
        }
    }

    /// Sends a request again with the answers of the client, after a `reply` that asks for them.
    async fn run_later_rounds(
        &self,
        upstream: &SessionService,
        request: &ClientRequest,
        mut reply: Reply,
    ) -> Result<Reply, Error> {
        let sink = &request.sink;
        let params = original(&request.params)?;
        let mut rounds = Rounds::new(&request.method, &params, self.config.rounds);
        let mut opened = Vec::new();
        loop {
            let responses = match rounds.receive(reply)? {
                Round::Done(reply) => {
                    notify_urls_done(&opened, sink).await;
                    return Ok(reply);
                }
                Round::Wait(delay) => {
                    tokio::time::sleep(delay).await;
                    InputResponses::new()
                }
                Round::Ask(requests) => {
                    let answers = self.ask(&requests, sink, None).await?;
                    opened.extend(answers.opened);
                    answers.responses
                }
            };
            let params = rounds.next_params(&responses)?.into();
            reply = self.call_service(upstream, request, params).await?;
        }
    }

    /// Calls the service once, and sends its notifications to the client.
    async fn call_service(
        &self,
        upstream: &SessionService,
        request: &ClientRequest,
        params: RawParams,
    ) -> Result<Reply, Error> {
        let sink = &request.sink;
        // Read once, so that all messages of a call are judged by the level that its service was told.
        let level = *self.level.lock();
        let (notify, mut notifications) = Notifier::channel(NOTIFICATIONS);
        let context = |peer| request.context(peer).with_notifier(notify);
        let can_be_asked = sink.carries_questions();
        let call = match can_be_asked {
            true => upstream.stamp(context, &request.method, params, level)?,
            // The service then does without or fails, instead of asking a client that would not read the
            // question.
            false => {
                let upstream = upstream.without_questions();
                upstream.stamp(context, &request.method, params, level)?
            }
        };
        let mut answer = upstream.service.call(call);
        let is_wanted = |notification: &Notification| {
            notification.method.as_str() != method::NOTIFICATIONS_MESSAGE
                || has_wanted_level(notification, level)
        };
        loop {
            // The call first: to poll it is what makes its notifications.
            let event = with_room(sink, |cx| match answer.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Event::Answered(outcome)),
                Poll::Pending => notifications.poll_next(cx).map(Event::Notified),
            });
            match event.await {
                Event::Notified(notification) => {
                    if is_wanted(&notification) {
                        send(&notification, sink).await;
                    }
                }
                Event::Answered(outcome) => {
                    // They were sent before the outcome, and the response must be the last message.
                    while let Some(notification) = notifications.try_next() {
                        if is_wanted(&notification) {
                            send(&notification, sink).await;
                        }
                    }
                    return match outcome {
                        Err(error) if !can_be_asked && wants_to_ask(&error) => {
                            Err(questions_not_accepted())
                        }
                        outcome => outcome,
                    };
                }
            }
        }
    }
}

enum Event {
    Notified(Notification),
    Answered(Result<Reply, Error>),
}

/// Polls `poll`, but only while there is room on `sink`: for a client that does not read, no
/// results pile up.
async fn with_room<T>(
    sink: &Arc<dyn MessageSink>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> T {
    loop {
        let looked = poll_fn(|cx| match sink.has_room() {
            true => poll(cx).map(Some),
            false => Poll::Ready(None),
        });
        if let Some(found) = looked.await {
            return found;
        }
        sink.room().await;
    }
}

/// True if a service fails because its client accepts no questions.
fn wants_to_ask(error: &Error) -> bool {
    let required = error
        .data()
        .and_then(|data| data.get("requiredCapabilities"));
    error.code() == code::MISSING_REQUIRED_CLIENT_CAPABILITY
        && required.is_some_and(|required| required.get("extensions").is_none())
}

/// The params without members that only later rounds or 2025-11-25 have.
fn original(params: &RawParams) -> Result<RawParams, Error> {
    const OTHERS: [&str; 3] = ["inputResponses", "requestState", "task"];
    if !params.is_object() {
        return Err(Error::invalid_params("params must be an object"));
    }
    let [responses, state, task] = OTHERS;
    if !params.has_any(&[responses, state, task, "cursor"]) {
        return Ok(params.clone());
    }
    let mut edit = ObjectEdit::new(params);
    convert::decode_cursor(&mut edit);
    for key in OTHERS {
        edit.remove(key);
    }
    Ok(edit.finish().into())
}

/// Notifies the client that the URLs of this request are done.
pub(super) async fn notify_urls_done(opened: &[String], sink: &Arc<dyn MessageSink>) {
    for id in opened {
        let params = ElicitationCompleteParams::new(id);
        let notification = Notification {
            method: Method::new(old::NOTIFICATIONS_ELICITATION_COMPLETE),
            params: RawJson::encode(&params).expect("params are always JSON"),
        };
        send(&notification, sink).await;
    }
}

async fn send(notification: &Notification, sink: &Arc<dyn MessageSink>) {
    wait_for_room(sink).await;
    let Notification { method, params } = notification;
    sink.push(Message::notification(method, params));
}

/// True if a log message has the level that the client wants, or a higher one.
fn has_wanted_level(notification: &Notification, wanted: Option<LogLevel>) -> bool {
    let level = notification.params.get("level");
    let level: Option<LogLevel> = level.and_then(|level| level.decode().ok());
    match (level, wanted) {
        (Some(level), Some(wanted)) => level >= wanted,
        // Unknown levels are left to the client.
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// The service, called with the identity of one old client.
#[derive(Clone)]
pub(super) struct SessionService {
    pub(super) service: Arc<dyn Service>,
    /// Origin of the handshake, for calls that belong to no request.
    pub(super) origin: RequestOrigin,
    pub(super) identity: Arc<ClientIdentity>,
    /// Revision of the client.
    pub(super) version: Version,
}

/// Identity of an old client, for the metadata of each request.
#[derive(Debug)]
pub(super) struct ClientIdentity {
    pub(super) capabilities: ClientCapabilities,
    /// Capabilities that this server does not know, which pass.
    unknown: UnknownCapabilities,
    pub(super) client_info: Option<RawJson>,
    version: RawJson,
    pub(super) encoded: RawJson,
    /// Claims of a request without metadata of its own, by the log level; written when it changes.
    usual: Mutex<Option<(Option<LogLevel>, Arc<PeerInfo>)>>,
}

impl ClientIdentity {
    pub(super) fn new(
        capabilities: ClientCapabilities,
        unknown: UnknownCapabilities,
        client_info: Option<RawJson>,
    ) -> Self {
        let known = RawJson::encode(&capabilities).expect("capabilities are always JSON");
        Self {
            encoded: unknown.added_to(known),
            capabilities,
            unknown,
            client_info,
            version: RawJson::string(Version::LATEST.as_str()),
            usual: Mutex::default(),
        }
    }

    /// The claims of a request without metadata of its own.
    fn claims(&self, level: Option<LogLevel>) -> Arc<PeerInfo> {
        let mut usual = self.usual.lock();
        match &*usual {
            Some((of_level, claims)) if *of_level == level => claims.clone(),
            _ => {
                let claims = Arc::new(self.claims_in(&RawJson::empty_object(), level));
                *usual = Some((level, claims.clone()));
                claims
            }
        }
    }

    /// The claims of a request with the metadata `given`, other members of which stay.
    fn claims_in(&self, given: &RawJson, level: Option<LogLevel>) -> PeerInfo {
        let mut edit = ObjectEdit::new(given);
        let level = level.map(|level| RawJson::encode(&level).expect("a level is always JSON"));
        let members = [
            Some(self.version.clone()),
            Some(self.encoded.clone()),
            self.client_info.clone(),
            level,
            edit.get(meta::PROGRESS_TOKEN),
        ];
        for (key, value) in PeerMeta::MEMBERS.into_iter().zip(&members) {
            edit.set_or_remove(key, value.clone());
        }
        PeerMeta::new(edit.finish(), members).of(Version::LATEST)
    }
}

impl SessionService {
    /// The service, called for a client that has declared nothing.
    #[cfg(feature = "http-server")]
    pub(super) fn without_identity(
        service: Arc<dyn Service>,
        origin: RequestOrigin,
        version: Version,
    ) -> Self {
        Self {
            service,
            origin,
            version,
            identity: Arc::new(ClientIdentity::new(
                ClientCapabilities::default(),
                UnknownCapabilities::default(),
                None,
            )),
        }
    }

    /// The same service, called with the capability for tasks of the extension.
    pub(super) fn with_tasks(&self) -> Self {
        let capabilities = self.identity.capabilities.clone();
        self.with_capabilities(capabilities.with_extension(EXTENSION, RawJson::empty_object()))
    }

    /// The same service, called without capabilities for questions.
    pub(super) fn without_questions(&self) -> Self {
        let mut capabilities = self.identity.capabilities.clone();
        capabilities.elicitation = None;
        capabilities.roots = None;
        capabilities.sampling = None;
        self.with_capabilities(capabilities)
    }

    fn with_capabilities(&self, capabilities: ClientCapabilities) -> Self {
        let ClientIdentity {
            unknown,
            client_info,
            ..
        } = &*self.identity;
        let identity = ClientIdentity::new(capabilities, unknown.clone(), client_info.clone());
        Self {
            identity: Arc::new(identity),
            ..self.clone()
        }
    }

    /// Calls the service. Dropping the future cancels the call.
    pub(super) fn call(
        &self,
        context: impl FnOnce(Arc<PeerInfo>) -> Cx,
        method: &str,
        params: &impl Serialize,
    ) -> BoxFuture<'static, Result<Reply, Error>> {
        let params = RawJson::encode(params).expect("params are always JSON");
        let call = self.stamp(context, &Method::new(method), params.into(), None);
        let service = self.service.clone();
        Box::pin(async move { service.call(call?).await })
    }

    /// Calls the service without log messages, and waits for its result.
    pub(super) async fn result(
        &self,
        context: impl FnOnce(Arc<PeerInfo>) -> Cx,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RawJson, Error> {
        let reply = self.call(context, method, params).await?;
        Ok(reply.into_result())
    }

    /// The call with the metadata of the session in its params; other metadata stays.
    pub(super) fn stamp(
        &self,
        context: impl FnOnce(Arc<PeerInfo>) -> Cx,
        method: &Method,
        mut params: RawParams,
        level: Option<LogLevel>,
    ) -> Result<Call, Error> {
        let claims = match params.get("_meta") {
            None => self.identity.claims(level),
            Some(given) if given.is_object() => Arc::new(self.identity.claims_in(&given, level)),
            Some(_) => return Err(Error::invalid_params("`_meta` must be an object")),
        };
        params.set("_meta", claims.meta());
        let mut cx = context(claims);
        // A server of both eras that this call is passed on to gets it in the era of the client.
        cx.source.translated_from = Some(self.version);
        Ok(Call::of_read_meta(method.clone(), params, cx))
    }
}
