use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use callgate_mcp::layer::{TimeLimits, Timeout};
use callgate_mcp::wire::capabilities::ServerCapabilities;
use callgate_mcp::{Call, Client, Error, Kind, Reply, Retry, Service};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::connector::{Connector, Upstream};
use crate::reconnect::{Event, Phase, ReconnectPolicy, Start, Supervisor};
use crate::server_name::ServerName;
use crate::shared::Shared;
use crate::status::{FailureReason, ServerState};
use crate::sync;

/// Server of a hub, as the configuration describes it.
#[non_exhaustive]
pub struct ServerConfig {
    /// Name of the server.
    pub name: ServerName,
    /// Makes connections to it.
    pub connector: Arc<dyn Connector>,
    /// Time at which it is connected to.
    pub start: Start,
    /// Time without calls after which a server that starts on first use is stopped.
    pub idle_stop: Option<Duration>,
    /// Time that an attempt to connect may take.
    pub connect_timeout: Duration,
    /// Time limits of each call.
    pub call_limits: TimeLimits,
    /// Delays and limits of reconnection.
    pub reconnect: ReconnectPolicy,
}

impl ServerConfig {
    /// A server that is connected to at once, with 30 seconds to connect.
    #[must_use]
    pub fn new(name: ServerName, connector: Arc<dyn Connector>) -> Self {
        Self {
            name,
            connector,
            start: Start::AtOnce,
            idle_stop: None,
            connect_timeout: Duration::from_secs(30),
            call_limits: TimeLimits::default(),
            reconnect: ReconnectPolicy::default(),
        }
    }
}

/// One server of a hub: its state, and the way to call it.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    view: watch::Sender<View>,
    signals: Signals,
    attempts: AtomicU64,
    /// Number of calls in flight, for the idle stop.
    in_flight: watch::Sender<usize>,
    /// Number of connections that are being closed.
    closing: watch::Sender<usize>,
}

/// State of the connection as callers see it.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) phase: Phase,
    pub(crate) reason: Option<FailureReason>,
    connection: Option<Connected>,
}

/// A live connection.
#[derive(Clone)]
struct Connected {
    upstream: Arc<dyn Upstream>,
    /// The upstream under the time limits of the server.
    service: Arc<dyn Service>,
    capabilities: Arc<ServerCapabilities>,
    /// Number of the attempt that made it.
    number: u64,
}

/// Maximum number of times that one call is sent again after a lost connection.
const MAX_RESENDS: u32 = 2;
/// Wait for the next attempt that a call still sits out instead of failing.
const SHORT_WAIT: Duration = Duration::from_secs(2);

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Self {
        Self {
            config,
            view: watch::Sender::new(View {
                phase: Phase::Disabled,
                reason: None,
                connection: None,
            }),
            signals: Signals::default(),
            attempts: AtomicU64::new(0),
            in_flight: watch::Sender::new(0),
            closing: watch::Sender::new(0),
        }
    }

    pub(crate) fn name(&self) -> &ServerName {
        &self.config.name
    }

    pub(crate) fn view(&self) -> View {
        self.view.borrow().clone()
    }

    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Tells the supervisor of an event that comes from outside.
    pub(crate) fn signal(&self, event: Event) {
        self.signals.send(event);
    }

    /// Sends a call to the server, and once more after a lost connection where that is safe.
    ///
    /// `repeatable` says that the call only reads or may be repeated, so that it is sent again even if
    /// the server may have received it. Dropping the future cancels the call.
    pub(crate) async fn call(&self, call: Call, repeatable: bool) -> Result<Reply, Error> {
        let _use = InFlight::begin(&self.in_flight);
        let deadline = call.cx.deadline;
        let mut lost = None;
        for _ in 0..=MAX_RESENDS {
            let connected = self.connected(deadline, lost).await?;
            let error = match connected.service.call(call.clone()).await {
                Err(error) if is_lost(&error) => error,
                outcome => return outcome,
            };
            if error.retry() != Retry::Safe && !repeatable {
                return Err(error);
            }
            tracing::debug!(server = %self.name(), %error, "sending a call again");
            lost = Some(connected.number);
        }
        Err(self.unavailable(&self.view()))
    }

    /// Waits for a connection, other than the one with the number `lost`.
    ///
    /// A server that is connecting is waited for, up to the deadline; any other state that calls
    /// cannot end fails at once with its reason.
    async fn connected(
        &self,
        deadline: Option<Instant>,
        lost: Option<u64>,
    ) -> Result<Connected, Error> {
        if let Some(connected) = self.view.borrow().usable(lost) {
            return Ok(connected);
        }
        self.signals.send(Event::Used);
        let limit = Instant::now() + self.config.connect_timeout;
        let until = deadline.map_or(limit, |deadline| deadline.min(limit));
        let mut view = self.view.subscribe();
        loop {
            let current = view.borrow_and_update().clone();
            if let Some(connected) = current.usable(lost) {
                return Ok(connected);
            }
            let now = Instant::now();
            let waits = match current.phase {
                Phase::Connecting | Phase::Connected { .. } | Phase::Idle => true,
                Phase::Waiting { retry_at } => retry_at <= until.min(now + SHORT_WAIT),
                Phase::Stopped { until } => now >= until,
                Phase::Disabled | Phase::Locked(_) => false,
            };
            if !waits || now >= until {
                return Err(self.unavailable(&current));
            }
            tokio::select! {
                changed = view.changed() => {
                    if changed.is_err() {
                        return Err(self.unavailable(&current));
                    }
                }
                () = sleep_until(until) => {}
            }
        }
    }

    /// The error of a call to a server that is not connected. The call was not sent.
    fn unavailable(&self, view: &View) -> Error {
        let state = ServerState::of_phase(view.phase);
        let name = self.name();
        let reason = view.reason.as_ref();
        let because = reason.map(|reason| format!(": {}", reason.text));
        let because = because.unwrap_or_default();
        let text = match state {
            ServerState::Disabled => format!("server `{name}` is disabled"),
            ServerState::NeedsAuth => {
                format!("server `{name}` needs a login; run `callgate auth {name}`")
            }
            ServerState::NeedsClientRegistration => {
                format!("server `{name}` needs a client that is registered by hand{because}")
            }
            ServerState::Failed { retry_at: None } => {
                format!("server `{name}` failed too often and is tried again later{because}")
            }
            _ => format!("server `{name}` is not connected{because}"),
        };
        let kind = match state {
            ServerState::NeedsAuth | ServerState::NeedsClientRegistration => Kind::Unauthorized,
            _ => reason.map_or(Kind::Connect, |reason| reason.kind),
        };
        Error::new(kind, text)
            .from_upstream(name.as_arc())
            .retry_safe()
    }

    /// Keeps the server connected until the future is dropped.
    pub(crate) async fn supervise(self: Arc<Self>, shared: Arc<Shared>) {
        let mut supervisor = Supervisor::new(self.config.reconnect, self.config.start);
        supervisor.step(Event::Enable, Instant::now(), random());
        let mut outcome = Outcome::of(Event::Enable);
        let mut expiry = None;
        loop {
            let phase = supervisor.phase();
            let failed = matches!(outcome.event, Event::ConnectFailed(_));
            self.publish(phase, outcome);
            match phase {
                Phase::Connected { .. } => {
                    expiry = None;
                    shared.catalog.set_unavailable(&self, None);
                }
                // A connection that is back at the first attempt leaves the lists as they are.
                _ if failed => {
                    expiry = expiry.or(Some(Instant::now() + shared.grace));
                    let reason = self.view().reason.map(|reason| reason.text);
                    shared.catalog.set_unavailable(&self, reason);
                }
                _ => {}
            }
            let connection = self.view.borrow().connection.clone();
            let mut work = pin!(self.work(phase, connection, &shared));
            outcome = loop {
                let done = tokio::select! {
                    outcome = &mut work => outcome,
                    event = self.signals.next() => Outcome::of(event),
                    () = at(expiry) => {
                        expiry = None;
                        shared.catalog.clear(&self);
                        continue;
                    }
                };
                supervisor.step(done.event, Instant::now(), random());
                if supervisor.phase() != phase {
                    break done;
                }
            };
        }
    }

    /// Turns the server off, and waits until its connections are closed.
    pub(crate) async fn shut_down(&self) {
        self.signals.send(Event::Disable);
        let mut view = self.view.subscribe();
        // Neither sender can be dropped before `self`.
        let _ = view.wait_for(|view| view.phase == Phase::Disabled).await;
        let mut closing = self.closing.subscribe();
        let _ = closing.wait_for(|closing| *closing == 0).await;
    }

    /// Shows a new phase to callers, and closes the connection that it ends.
    fn publish(self: &Arc<Self>, phase: Phase, outcome: Outcome) {
        let mut ended = None;
        self.view.send_modify(|view| {
            view.phase = phase;
            match phase {
                Phase::Connected { .. } => {
                    view.reason = None;
                    view.connection = outcome.connection;
                }
                _ => {
                    ended = view.connection.take();
                    view.reason = outcome.reason.or(view.reason.take());
                }
            }
            if ended.is_some() {
                self.closing.send_modify(|closing| *closing += 1);
            }
        });
        if let Some(ended) = ended {
            let server = self.clone();
            // Beside the supervisor, which may already connect again.
            tokio::spawn(async move {
                ended.upstream.close().await;
                server.closing.send_modify(|closing| *closing -= 1);
            });
        }
    }

    /// Does the work of a phase, until something happens.
    async fn work(
        self: &Arc<Self>,
        phase: Phase,
        connection: Option<Connected>,
        shared: &Shared,
    ) -> Outcome {
        match (phase, connection) {
            (Phase::Connecting, _) => self.connect(shared).await,
            (Phase::Waiting { retry_at }, _) => {
                sleep_until(retry_at).await;
                Outcome::of(Event::TimerFired)
            }
            (Phase::Connected { .. }, Some(connected)) => {
                let client = self.client(connected.service.clone());
                let capabilities = &connected.capabilities;
                let catalog = &shared.catalog;
                tokio::select! {
                    error = connected.upstream.closed() => Outcome {
                        event: Event::Lost,
                        connection: None,
                        reason: Some(FailureReason::new(&error)),
                    },
                    never = sync::follow(self, client, capabilities, catalog, &shared.watched) => {
                        match never {}
                    }
                    () = self.unused() => Outcome::of(Event::Unused),
                }
            }
            _ => std::future::pending().await,
        }
    }

    async fn connect(&self, shared: &Shared) -> Outcome {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = self.config.connect_timeout;
        let connected = timeout(limit, self.open(number, shared)).await;
        let connected = connected.unwrap_or_else(|_| {
            let text = format!("server `{}` did not connect within {limit:?}", self.name());
            Err(Error::new(Kind::Timeout, text).from_upstream(self.name().as_arc()))
        });
        match connected {
            Ok(connection) => Outcome {
                event: Event::Connected,
                connection: Some(connection),
                reason: None,
            },
            Err(error) => Outcome {
                event: Event::ConnectFailed(self.config.connector.failure(&error)),
                connection: None,
                reason: Some(FailureReason::new(&error)),
            },
        }
    }

    /// Opens a connection and asks the server what it offers.
    async fn open(&self, number: u64, shared: &Shared) -> Result<Connected, Error> {
        let upstream = self.config.connector.connect().await?;
        let limited = Timeout::new(upstream.clone(), self.config.call_limits);
        let limited = limited.server_name(self.name().as_arc().clone());
        let service: Arc<dyn Service> = Arc::new(limited);
        let discovered = self.client(service.clone()).discover().await?;
        let capabilities = Arc::new(discovered.capabilities.clone());
        shared.catalog.set_discovered(self, discovered);
        Ok(Connected {
            upstream,
            service,
            capabilities,
            number,
        })
    }

    fn client(&self, service: Arc<dyn Service>) -> Client {
        Client::builder(service)
            .server_name(self.name().as_str())
            .build()
    }

    /// Waits until no call was in flight for the idle time.
    async fn unused(&self) {
        let Some(limit) = self.config.idle_stop else {
            return std::future::pending().await;
        };
        let mut in_flight = self.in_flight.subscribe();
        loop {
            // The sender is a part of this value.
            let _ = in_flight.wait_for(|calls| *calls == 0).await;
            match timeout(limit, in_flight.changed()).await {
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

impl View {
    /// The connection, unless it is the one with the number `lost`.
    fn usable(&self, lost: Option<u64>) -> Option<Connected> {
        let connected = self.connection.as_ref()?;
        (Some(connected.number) != lost).then(|| connected.clone())
    }
}

/// True if the connection was lost or could not be used.
fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), Kind::Closed | Kind::Connect)
}

/// End of a phase.
struct Outcome {
    event: Event,
    connection: Option<Connected>,
    reason: Option<FailureReason>,
}

impl Outcome {
    fn of(event: Event) -> Self {
        Self {
            event,
            connection: None,
            reason: None,
        }
    }
}

/// Events from outside, each at most once until it is read: a set, so it needs no bound.
#[derive(Default)]
struct Signals {
    pending: AtomicU8,
    wake: Notify,
}

/// Events that [`Signals`] can hold; the first ones are read first.
const SIGNALS: [Event; 5] = [
    Event::Disable,
    Event::Enable,
    Event::LoginChanged,
    Event::Retry,
    Event::Used,
];

impl Signals {
    fn send(&self, event: Event) {
        let Some(bit) = SIGNALS.iter().position(|signal| *signal == event) else {
            return;
        };
        self.pending.fetch_or(1 << bit, Ordering::AcqRel);
        self.wake.notify_one();
    }

    /// Waits for an event. Dropping the future loses nothing.
    async fn next(&self) -> Event {
        loop {
            for (bit, event) in SIGNALS.iter().enumerate() {
                let mask = 1 << bit;
                if self.pending.fetch_and(!mask, Ordering::AcqRel) & mask != 0 {
                    return *event;
                }
            }
            self.wake.notified().await;
        }
    }
}

/// A call in flight, counted while it lives.
struct InFlight<'a>(&'a watch::Sender<usize>);

impl<'a> InFlight<'a> {
    fn begin(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Waits until a time; for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// A random number from 0 to 1.
fn random() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness every delay is the longest, which is safe.
    let random = getrandom::fill(&mut bytes).map_or(u32::MAX, |()| u32::from_ne_bytes(bytes));
    f64::from(random) / f64::from(u32::MAX)
}
