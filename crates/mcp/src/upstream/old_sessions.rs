use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_wire::{RawJson, Version, meta};

use super::config::UpstreamConfig;
use super::era::Era;
use super::era_cache::CachedEra;
use super::http_detection;
use super::identity::ClientIdentity;
use super::remote::{CallFailure, Connecting, StateCell};
use super::session_table::{Key, Opened, SessionSlot, SessionTable};
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::background::BackgroundSender;
use crate::legacy::client::http::HttpTransport;
use crate::legacy::client::session::Session;
use crate::legacy::client::transport::{MessageReceiver, MessageSender};
use crate::service::{Call, Reply, Service as _};
use crate::transport::http::client::HttpUpstream;
use crate::transport::{CloseReason, ConnectionState};

/// Our sessions with an old server at a URL: opens them, calls in them and watches their ends.
pub(super) struct OldSessions {
    upstream: Arc<HttpUpstream>,
    table: Arc<SessionTable>,
    /// Number of open sessions.
    open: Arc<AtomicUsize>,
    background: BackgroundSender,
    state: StateCell,
}

/// First message of a handshake.
struct Hello<'a> {
    version: Version,
    identity: ClientIdentity,
    config: &'a UpstreamConfig,
}

impl OldSessions {
    pub(super) fn new(upstream: Arc<HttpUpstream>, state: StateCell) -> Self {
        Self {
            upstream,
            table: Arc::default(),
            open: Arc::default(),
            background: BackgroundSender::new(),
            state,
        }
    }

    /// Makes a call in its session, and once more in a new one if the server has forgotten it.
    pub(super) async fn call(
        &self,
        version: Version,
        cached: &Arc<CachedEra>,
        config: &UpstreamConfig,
        call: Call,
    ) -> Result<Reply, CallFailure> {
        let first = self.call_in_session(version, cached, config, call.clone());
        match first.await {
            Err(CallFailure::Final(error) | CallFailure::NoSession(error))
                if error.kind() == Kind::Closed && error.retry() == Retry::Safe =>
            {
                self.call_in_session(version, cached, config, call).await
            }
            // A session that ended in another way may have carried the request out.
            outcome => outcome,
        }
    }

    /// Removes all sessions; those in use end with their calls.
    pub(super) fn clear(&self) {
        self.table.clear();
    }

    /// Ends all sessions, and opens no more.
    pub(super) fn close(&self) {
        self.table.close();
    }

    /// Waits a short time until the server was told of the ends of sessions.
    pub(super) async fn server_was_told(&self) {
        self.background.idle().await;
    }

    /// True if the server keeps the session of a call, which is opened; false if it answers each
    /// request of an old client on its own, and so can neither ask it nor send it changes.
    pub(super) async fn keeps_state(
        &self,
        version: Version,
        cached: &Arc<CachedEra>,
        config: &UpstreamConfig,
        call: &Call,
    ) -> Result<bool, CallFailure> {
        let slot = self.slot(call)?;
        let opened = self.opened(&slot, version, cached, config, call).await?;
        Ok(opened.transport.keeps_state())
    }

    async fn call_in_session(
        &self,
        version: Version,
        cached: &Arc<CachedEra>,
        config: &UpstreamConfig,
        call: Call,
    ) -> Result<Reply, CallFailure> {
        // Held until the call has ended: a session in use is not replaced by another.
        let slot = self.slot(&call)?;
        let opened = self.opened(&slot, version, cached, config, &call).await?;
        opened.session.call(call).await.map_err(CallFailure::Final)
    }

    /// Passes on a notification in the session that a call with the same metadata has.
    pub(super) async fn notify(
        &self,
        version: Version,
        cached: &Arc<CachedEra>,
        config: &UpstreamConfig,
        notification: Call,
    ) -> Result<(), CallFailure> {
        let slot = self.slot(&notification)?;
        let opened = self.opened(&slot, version, cached, config, &notification);
        opened.await?.session.notify(notification).await;
        Ok(())
    }

    /// The slot of the session for a call.
    fn slot(&self, call: &Call) -> Result<Arc<SessionSlot>, CallFailure> {
        let key = Key {
            caller: call.cx.caller.clone(),
            capabilities: capabilities(call),
        };
        self.table.slot(key).map_err(CallFailure::Final)
    }

    /// The session in `slot`, opened with the identity of the caller if it is not open yet.
    async fn opened<'a>(
        &self,
        slot: &'a SessionSlot,
        version: Version,
        cached: &Arc<CachedEra>,
        config: &UpstreamConfig,
        call: &Call,
    ) -> Result<&'a Opened, CallFailure> {
        let client_info = of_meta(call, meta::CLIENT_INFO);
        let hello = Hello {
            version,
            identity: ClientIdentity {
                capabilities: capabilities(call),
                client_info: client_info
                    .unwrap_or_else(|| ClientIdentity::shared(None).client_info),
            },
            config,
        };
        let opening = slot.session(self.open(cached, &hello));
        let opened = opening.await.map_err(|error| {
            if http_detection::contradicts_old(&error) {
                CallFailure::Contradiction(error)
            } else {
                CallFailure::NoSession(error)
            }
        })?;
        // A close ends the sessions that it finds. One that was being opened is not among them, and may have set
        // the state since.
        self.table.check_open().map_err(|closed| {
            opened.transport.close();
            let reason = CloseReason::here(&self.upstream.config().name);
            self.state.send_replace(ConnectionState::Closed(reason));
            CallFailure::Final(closed)
        })?;
        Ok(opened)
    }

    /// Opens a session over the transport that the server speaks.
    async fn open(&self, cached: &Arc<CachedEra>, hello: &Hello<'_>) -> Result<Opened, Error> {
        let connecting = Connecting::begin(&self.state);
        // Boxed, since calls that find their session open carry this future too.
        let opened = Box::pin(self.open_any(cached, hello)).await?;
        // Counted before the state is set: the end of another session must not overwrite it.
        self.open.fetch_add(1, Ordering::Relaxed);
        // A server of both eras shows its newest revision, and that needs no session.
        if !is_modern(cached) {
            connecting.succeed(opened.session.version());
        }
        self.watch(&opened, cached.clone());
        Ok(opened)
    }

    /// Reports the end of the last session, unless this process ended it. A server that cannot be reached has lost
    /// the others too.
    fn watch(&self, opened: &Opened, cached: Arc<CachedEra>) {
        let (open, state) = (self.open.clone(), self.state.clone());
        // A session that is watched must not be kept open by that.
        let (table, session) = (Arc::downgrade(&self.table), Arc::downgrade(&opened.session));
        let ended = opened.transport.ended_by_server();
        tokio::spawn(async move {
            let reason = ended.await.filter(|_| !is_modern(&cached));
            if let Some(session) = session.upgrade() {
                session.end_subscriptions();
            }
            let is_unreachable = reason.as_ref().is_some_and(|it| it.kind() == Kind::Connect);
            state.send_if_modified(|state| {
                // Under the lock of the state: a session that is opened at the same time is counted here, or sets
                // the state after this.
                let was_last = open.fetch_sub(1, Ordering::Relaxed) == 1;
                let reason = reason.filter(|_| was_last || is_unreachable);
                let counts = reason.is_some();
                if let Some(reason) = reason {
                    *state = ConnectionState::Closed(reason);
                }
                counts
            });
            if is_unreachable && let Some(table) = table.upgrade() {
                // After the state is set: a session that is opened from now on sets it again.
                table.end_all();
            }
        });
    }

    async fn open_any(&self, cached: &Arc<CachedEra>, hello: &Hello<'_>) -> Result<Opened, Error> {
        if cached.speaks_http_sse() {
            return self.open_http_sse(hello).await;
        }
        // Streamable HTTP first, as the specification advises: a server that speaks only HTTP+SSE
        // refuses the POST.
        let refusal = match self.open_streamable(hello).await {
            Err(error) if http_detection::may_speak_http_sse(&error) => error,
            outcome => return outcome,
        };
        match self.open_http_sse(hello).await {
            Ok(opened) => {
                cached.set_speaks_http_sse();
                Ok(opened)
            }
            Err(error) if error.kind() == Kind::Unauthorized => Err(error),
            Err(error) => {
                // The page of a web server is quoted once.
                let text = match http_detection::status_of(&error) {
                    Some(status) => {
                        format!("{refusal}; and as a server of HTTP+SSE with HTTP status {status}")
                    }
                    None => format!("{refusal}; and as a server of HTTP+SSE: {error}"),
                };
                let combined = Error::new(Kind::Connect, text);
                Err(combined
                    .from_upstream(&self.upstream.config().name)
                    .with_source(refusal))
            }
        }
    }

    async fn open_streamable(&self, hello: &Hello<'_>) -> Result<Opened, Error> {
        let (messages, incoming) = MessageSender::channel(hello.config.queued_messages);
        let (upstream, background) = (self.upstream.clone(), self.background.clone());
        let transport = HttpTransport::streamable(upstream, messages, background);
        self.open_session(transport, incoming, hello).await
    }

    async fn open_http_sse(&self, hello: &Hello<'_>) -> Result<Opened, Error> {
        let (messages, incoming) = MessageSender::channel(hello.config.queued_messages);
        let (upstream, background) = (self.upstream.clone(), self.background.clone());
        let transport = HttpTransport::http_sse(upstream, messages, background).await?;
        self.open_session(transport, incoming, hello).await
    }

    async fn open_session(
        &self,
        transport: HttpTransport,
        incoming: MessageReceiver,
        hello: &Hello<'_>,
    ) -> Result<Opened, Error> {
        let name = self.upstream.config().name.clone();
        let transport = Arc::new(transport);
        let Hello {
            version,
            identity,
            config,
        } = hello;
        let config = (*config).clone();
        let session = Session::open(
            name,
            transport.clone(),
            incoming,
            identity,
            *version,
            config,
        )
        .await?;
        Ok(Opened { session, transport })
    }
}

fn capabilities(call: &Call) -> RawJson {
    of_meta(call, meta::CLIENT_CAPABILITIES).unwrap_or_else(RawJson::empty_object)
}

fn is_modern(cached: &CachedEra) -> bool {
    cached.known().is_some_and(Era::is_modern)
}

fn of_meta(call: &Call, key: &str) -> Option<RawJson> {
    call.params().at(&["_meta", key]).filter(RawJson::is_object)
}
