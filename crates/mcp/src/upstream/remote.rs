use std::fmt;
use std::sync::Arc;

use callgate_wire::Version;
use tokio::sync::watch;

use super::config::UpstreamConfig;
use super::era::Era;
use super::era_cache::{CachedEra, EraCache};
use super::http_detection::{self, Probe};
#[cfg(feature = "legacy")]
use super::old_sessions::OldSessions;
use super::server_timeout::server_timeout;
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::http::client::{self, HttpUpstream, ModernHttpClient};
use crate::transport::{self, CloseReason, ConnectionState};

/// A server of any revision at a URL.
///
/// The first call detects the revision, and it is detected again when the server contradicts it. A
/// server of the newest revision is called as by [`ModernHttpClient`]. With an old one there is a
/// session for each caller and each set of capabilities; a session that the server has forgotten is
/// opened again, and a request that was refused because of it is sent again, once.
///
/// A server that speaks both eras gets each call in the era of its client: a call that was
/// translated from an older revision is made in a session, any other without.
///
/// ```
/// use callgate_mcp::upstream::{HttpConfig, Remote};
///
/// let server = Remote::new("https://example.com/mcp", HttpConfig::new("example"))?;
/// # Ok::<(), callgate_mcp::Error>(())
/// ```
pub struct Remote {
    upstream: Arc<HttpUpstream>,
    modern: ModernHttpClient,
    era_cache: EraCache,
    #[cfg(feature = "legacy")]
    sessions: OldSessions,
    state: StateCell,
    config: UpstreamConfig,
}

/// State of the connection, shared with the tasks that watch the sessions.
pub(super) type StateCell = Arc<watch::Sender<ConnectionState>>;

/// Failure of one attempt of a call.
pub(super) enum CallFailure {
    /// A failure that a server of this era may have.
    Final(Error),
    /// A failure that no server of this era has; the request was not carried out.
    Contradiction(Error),
    /// No session could be opened, for a reason that any server may have.
    #[cfg(feature = "legacy")]
    NoSession(Error),
}

impl Remote {
    /// The server at `url`, an `http` or `https` URL. No request is sent yet.
    ///
    /// # Errors
    /// The URL cannot be used, or TLS cannot be set up.
    pub fn new(url: &str, config: client::HttpConfig) -> Result<Self, Error> {
        let upstream = Arc::new(HttpUpstream::new(url, config)?);
        let state = Arc::new(watch::Sender::new(ConnectionState::NotConnected));
        Ok(Self {
            modern: ModernHttpClient::over(upstream.clone()),
            #[cfg(feature = "legacy")]
            sessions: OldSessions::new(upstream.clone(), state.clone()),
            upstream,
            era_cache: EraCache::new(None),
            state,
            config: UpstreamConfig::default(),
        })
    }

    /// Sets timeouts and limits.
    #[must_use]
    pub fn with_config(mut self, config: UpstreamConfig) -> Self {
        self.config = config;
        self
    }

    /// Skips the detection and assumes this era. If it is the modern one, calls of old clients are
    /// translated too.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.era_cache = EraCache::new(Some(era));
        if era.is_modern() {
            #[cfg(feature = "legacy")]
            self.era_cache.current().set_refuses_sessions();
            self.state.send_replace(connected(Version::LATEST));
        }
        self
    }

    /// Sets that the server speaks HTTP+SSE, the transport of the first revision, at this URL.
    #[cfg(feature = "legacy")]
    #[must_use]
    pub fn assume_sse(mut self) -> Self {
        self.era_cache = EraCache::new(Some(Era::OLD));
        self.era_cache.current().set_speaks_http_sse();
        self
    }

    /// Era that was detected; `None` before the first call.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.era_cache.current().known()
    }

    /// Revision that the server speaks; `None` until a call has detected it.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match &*self.state.borrow() {
            ConnectionState::Connected { version } => Some(*version),
            _ => None,
        }
    }

    /// State of the connection.
    ///
    /// HTTP of the newest revision has no connection: it is `Connected` once the revision was
    /// detected, even if the server cannot be reached later.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.state.borrow().clone()
    }

    /// Waits until the last session with an old server has ended, until one whose event stream broke cannot
    /// reach the server any more, or until [`Remote::close`], and returns the reason.
    ///
    /// The next call opens a new session, and the state changes with it. With a server of the newest
    /// revision there is no connection that could end: this returns only after `close`. Dropping the
    /// future is safe.
    pub async fn closed(&self) -> CloseReason {
        transport::closed(&self.state, ConnectionState::close_reason).await
    }

    /// Finds out whether the server accepts connections, without a request to it: a connection that is open is
    /// proof enough, and otherwise one is opened and closed.
    ///
    /// # Errors
    /// No connection can be made. The error is that of a call.
    pub async fn check(&self) -> Result<(), Error> {
        self.upstream.check().await
    }

    /// Ends all sessions, and waits a short time until the server was told.
    ///
    /// Calls to an old server fail from now on. Dropping the value without this ends its sessions
    /// too, best-effort: only while the runtime still runs.
    pub async fn close(&self) {
        // Before the state is set: a session that is being opened sets it too, unless it finds this.
        #[cfg(feature = "legacy")]
        self.sessions.close();
        let reason = CloseReason::here(&self.upstream.config().name);
        self.state.send_replace(ConnectionState::Closed(reason));
        #[cfg(feature = "legacy")]
        self.sessions.server_was_told().await;
    }

    async fn answer(&self, call: Call) -> Result<Reply, Error> {
        let cached = self.era_cache.current();
        #[cfg(feature = "legacy")]
        if call.cx.source.translated_from.is_some()
            // Boxed, so that the futures of calls of new clients do not have its size.
            && Box::pin(self.is_for_session(&cached, &call)).await?
        {
            let calling = self
                .sessions
                .call(Era::NEWEST_OLD, &cached, &self.config, call);
            return Box::pin(calling).await.map_err(CallFailure::into_error);
        }
        let era = self.find_era(&cached, &call).await?;
        match self.attempt(era, &cached, &call).await {
            // Boxed, so that the futures of other calls do not have its size.
            Err(CallFailure::Contradiction(error)) => {
                Box::pin(self.answer_in_other_era(era, &cached, &call, error)).await
            }
            Err(failure) => Err(failure.into_error()),
            Ok(reply) => {
                cached.prove();
                Ok(reply)
            }
        }
    }

    /// Makes a call again, whose `error` contradicts `era`, if the server speaks another one now.
    async fn answer_in_other_era(
        &self,
        era: Era,
        cached: &Arc<CachedEra>,
        call: &Call,
        error: Error,
    ) -> Result<Reply, Error> {
        let Some(next) = self.next_entry(cached) else {
            return Err(error);
        };
        match self.find_era(&next, call).await {
            Ok(found) if found.is_modern() != era.is_modern() => {
                let name = &self.upstream.config().name;
                tracing::info!(server = %name, ?found, "the server speaks another era");
                #[cfg(feature = "legacy")]
                // The sessions were those of the server before.
                if found.is_modern() {
                    self.sessions.clear();
                }
                let outcome = self.attempt(found, &next, call).await;
                outcome
                    .inspect(|_| next.prove())
                    .map_err(CallFailure::into_error)
            }
            _ => Err(error),
        }
    }

    /// Passes on a notification of a client, in the same way as a call.
    async fn pass_on(&self, notification: Call) -> Result<(), Error> {
        let cached = self.era_cache.current();
        #[cfg(feature = "legacy")]
        {
            let is_for_session = notification.cx.source.translated_from.is_some()
                && self.is_for_session(&cached, &notification).await?;
            let era = match is_for_session {
                true => Era::Old(Era::NEWEST_OLD),
                false => self.find_era(&cached, &notification).await?,
            };
            if let Era::Old(version) = era {
                let (sessions, config) = (&self.sessions, &self.config);
                let passing = sessions.notify(version, &cached, config, notification);
                return passing.await.map_err(CallFailure::into_error);
            }
        }
        #[cfg(not(feature = "legacy"))]
        self.find_era(&cached, &notification).await?;
        self.modern.notify(notification).await;
        Ok(())
    }

    /// True if a call of an old client is made in a session: if the server has sessions beside the
    /// newest revision. If nothing is known about it yet, one is opened.
    #[cfg(feature = "legacy")]
    async fn is_for_session(&self, cached: &Arc<CachedEra>, call: &Call) -> Result<bool, Error> {
        let is_old = cached.known().is_some_and(|era| !era.is_modern());
        // An old server gets every call in a session anyway, by its era.
        if is_old || cached.refuses_sessions() {
            return Ok(false);
        }
        let (version, config) = (Era::NEWEST_OLD, &self.config);
        let opening = self.sessions.keeps_state(version, cached, config, call);
        let is_refused = match opening.await {
            Ok(true) => false,
            // Without a session the server can neither ask nor announce changes, so its newest revision does
            // more.
            Ok(false) => self.find_era(cached, call).await.is_ok_and(Era::is_modern),
            Err(CallFailure::Contradiction(_)) => true,
            // A server that fails at a handshake may still answer the newest revision.
            Err(CallFailure::NoSession(error)) if http_detection::is_server_failure(&error) => {
                return Ok(false);
            }
            Err(failure) => return Err(failure.into_error()),
        };
        if is_refused {
            cached.set_refuses_sessions();
        }
        Ok(!is_refused)
    }

    /// The next entry after `past`, whose era a failure contradicted.
    fn next_entry(&self, past: &Arc<CachedEra>) -> Option<Arc<CachedEra>> {
        #[cfg(feature = "legacy")]
        // A refused handshake decides an unclear probe, without another one.
        if let Some(modern) = self.era_cache.modern_after(past) {
            return Some(modern);
        }
        self.era_cache.after(past)
    }

    async fn find_era(&self, cached: &Arc<CachedEra>, call: &Call) -> Result<Era, Error> {
        match cached.known() {
            Some(era) => Ok(era),
            // Boxed, so that the futures of later calls do not have its size.
            None => Box::pin(self.detect_era(cached, call)).await,
        }
    }

    async fn detect_era(&self, cached: &Arc<CachedEra>, call: &Call) -> Result<Era, Error> {
        let detect = async {
            let connecting = Connecting::begin(&self.state);
            // Boxed, since it is copied into each of the futures around it.
            let probe = Box::pin(http_detection::probe(&self.upstream, call.params()));
            let auth_wait = || self.upstream.auth_wait_until();
            let limit = self.config.handshake_timeout;
            let probed = server_timeout(limit, auth_wait, probe).await;
            let era = match probed.unwrap_or_else(|_| Err(self.timed_out()))? {
                Probe::Known(era) => era,
                #[cfg(feature = "legacy")]
                Probe::Unclear => {
                    cached.set_unclear();
                    Era::OLD
                }
                #[cfg(not(feature = "legacy"))]
                Probe::Unclear => Era::Modern,
            };
            if era.is_modern() {
                connecting.succeed(Version::LATEST);
            }
            Ok(era)
        };
        self.era_cache.era(cached, detect).await
    }

    async fn attempt(
        &self,
        era: Era,
        cached: &Arc<CachedEra>,
        call: &Call,
    ) -> Result<Reply, CallFailure> {
        match era {
            Era::Modern => self.modern.answer(call).await.map_err(|error| {
                if http_detection::contradicts_modern(&call.method, &error) {
                    CallFailure::Contradiction(error)
                } else {
                    CallFailure::Final(error)
                }
            }),
            #[cfg(feature = "legacy")]
            Era::Old(version) => {
                // Boxed, so that the futures of calls to a modern server do not have its size.
                let call = call.clone();
                Box::pin(self.sessions.call(version, cached, &self.config, call)).await
            }
            #[cfg(not(feature = "legacy"))]
            Era::Old(_) => {
                let _ = (cached, call);
                let name = &self.upstream.config().name;
                Err(CallFailure::Final(super::era::built_without_legacy(name)))
            }
        }
    }

    fn timed_out(&self) -> Error {
        let (name, limit) = (&self.upstream.config().name, self.config.handshake_timeout);
        let text = format!("server `{name}` did not say within {limit:?} which revision it speaks");
        Error::new(Kind::Timeout, text)
            .from_upstream(name)
            .retry_safe()
    }
}

impl Service for Remote {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.answer(call))
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.pass_on(notification).await {
                let server = &self.upstream.config().name;
                tracing::debug!(%server, %error, "cannot pass on a notification");
            }
        })
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("upstream", &self.upstream)
            .finish_non_exhaustive()
    }
}

impl CallFailure {
    fn into_error(self) -> Error {
        match self {
            Self::Final(error) | Self::Contradiction(error) => error,
            #[cfg(feature = "legacy")]
            Self::NoSession(error) => error,
        }
    }
}

/// Attempt to connect. Dropping it without success restores the state before it.
pub(super) struct Connecting<'a> {
    state: &'a StateCell,
    before: Option<ConnectionState>,
}

impl<'a> Connecting<'a> {
    /// Sets the state to `Connecting`, unless there is a connection already.
    pub(super) fn begin(state: &'a StateCell) -> Self {
        let mut before = None;
        state.send_if_modified(|state| {
            let counts = matches!(
                state,
                ConnectionState::NotConnected | ConnectionState::Closed(_)
            );
            if counts {
                before = Some(std::mem::replace(state, ConnectionState::Connecting));
            }
            counts
        });
        Self { state, before }
    }

    /// Sets the state to `Connected`.
    pub(super) fn succeed(mut self, version: Version) {
        self.before = None;
        self.state.send_replace(connected(version));
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else {
            return;
        };
        self.state.send_if_modified(|state| {
            let counts = matches!(state, ConnectionState::Connecting);
            if counts {
                *state = before;
            }
            counts
        });
    }
}

fn connected(version: Version) -> ConnectionState {
    ConnectionState::Connected { version }
}
