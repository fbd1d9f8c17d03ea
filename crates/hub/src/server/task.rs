//! Task of one server: connects it, keeps its lists, and connects it again after a loss.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use callgate_mcp::layer::Timeout;
use callgate_mcp::{Client, Error, Kind, Service};
use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Connected, Server, StartedProcess, is_unreachable};
use crate::connector::Upstream;
use crate::reconnect::{Event, Phase, Start, Supervisor};
use crate::retry_timer::at;
use crate::shared::Shared;
use crate::status::FailureReason;
use crate::sync;

impl Server {
    /// Keeps the server connected until the future is dropped.
    pub(crate) async fn supervise(self: Arc<Self>, shared: Arc<Shared>) {
        let mut supervisor = Supervisor::new(self.config.reconnect, self.config.start);
        let begin = match self.config.enabled {
            true => Event::Enable,
            false => Event::Disable,
        };
        supervisor.step(begin, Instant::now(), random());
        let mut outcome = Outcome::of(begin);
        let mut expiry = None;
        loop {
            let phase = supervisor.phase();
            let event = outcome.event;
            self.publish(phase, outcome);
            shared.status_changed();
            expiry = self.show_items(phase, event, expiry, &shared);
            let connection = self.view.borrow().connection.clone();
            let mut work = pin!(self.work(phase, connection, &shared));
            outcome = loop {
                let done = tokio::select! {
                    outcome = &mut work => outcome,
                    event = self.signals.next() => Outcome::of(event),
                    () = at(expiry) => {
                        expiry = None;
                        shared.catalog.set_hidden(&self, true);
                        continue;
                    }
                };
                supervisor.step(done.event, Instant::now(), random());
                // An event that leaves the phase as it is must not start its work anew.
                if supervisor.phase() != phase {
                    break done;
                }
            };
        }
    }

    /// Shows the items of the server to callers as its new phase demands. Returns the time at which
    /// they leave the lists.
    fn show_items(
        &self,
        phase: Phase,
        event: Event,
        expiry: Option<Instant>,
        shared: &Shared,
    ) -> Option<Instant> {
        let catalog = &shared.catalog;
        match (phase, event) {
            (Phase::Connected { .. }, _) | (_, Event::Enable) => {
                catalog.set_unavailable(self, None);
                catalog.set_hidden(self, false);
                None
            }
            (Phase::Disabled, _) => {
                catalog.set_hidden(self, true);
                None
            }
            // A connection that is back at the first attempt leaves the lists as they are. One that is lost again
            // and again is as far away as one that cannot be made.
            (
                Phase::Waiting { .. } | Phase::Stopped { .. } | Phase::Locked(_),
                Event::ConnectFailed(_) | Event::Lost,
            ) => {
                // Every caller reads it: no words of the server, which may have printed a secret.
                let reason = self.view().reason.map(|reason| reason.public_text());
                catalog.set_unavailable(self, reason);
                expiry.or(Some(Instant::now() + shared.grace))
            }
            _ => expiry,
        }
    }

    /// Shows a new phase to callers, and closes the connection that it ends.
    fn publish(self: &Arc<Self>, phase: Phase, outcome: Outcome) {
        let mut ended = None;
        self.view.send_modify(|view| {
            view.phase = phase;
            match phase {
                Phase::Connected { .. } => {
                    view.reason = None;
                    view.listed = false;
                    let latency = outcome.connection.as_ref();
                    view.latency = latency.map(|connected| connected.latency);
                    view.connection = outcome.connection;
                    let was_lost = std::mem::take(&mut view.was_lost);
                    self.restarts
                        .fetch_add(u64::from(was_lost), Ordering::Relaxed);
                }
                _ => {
                    ended = view.connection.take();
                    view.process = None;
                    // A server that was stopped because it is not used is not restarted when it is used again.
                    view.was_lost = match outcome.event {
                        Event::Lost => true,
                        _ => view.was_lost && !matches!(phase, Phase::Idle | Phase::Disabled),
                    };
                    let reason = outcome.reason.or(view.reason.take());
                    view.reason = reason.filter(|_| phase != Phase::Disabled);
                }
            }
            // Before the new phase can be seen: a shutdown waits for the phase first, and then for this
            // number.
            if ended.is_some() {
                self.closing.send_modify(|closing| *closing += 1);
            }
        });
        if let Some(ended) = ended {
            let server = self.clone();
            // Beside the supervisor, so that a change of the phase does not drop it half-way.
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
                tokio::select! {
                    error = connected.upstream.closed() => Outcome::lost(FailureReason::new(&error)),
                    error = sync::follow(self, client, capabilities, shared) => {
                        Outcome::lost(FailureReason::new(&error))
                    }
                    reason = self.unreachable(connected.number) => Outcome::lost(reason),
                    reason = unreachable_now(&*connected.upstream) => Outcome::lost(reason),
                    () = self.unused(shared) => Outcome::of(Event::Unused),
                }
            }
            (Phase::Idle, _) => {
                // Callers that watch a resource use its server, whenever they began.
                let mut watched = shared.watched.follow(self.name());
                // The sender lives as long as the hub.
                let _ = watched.wait_for(|uris| !uris.is_empty()).await;
                Outcome::of(Event::Used)
            }
            _ => std::future::pending().await,
        }
    }

    async fn connect(self: &Arc<Self>, shared: &Shared) -> Outcome {
        // A process that is ending may hold a port or a file that its successor needs.
        let mut closing = self.closing.subscribe();
        // The sender is a part of this value.
        let _ = timeout(CLOSE, closing.wait_for(|closing| *closing == 0)).await;
        let number = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = self.config.connect_timeout;
        // One limit for the connection and the first answer: a server that connects and is silent is not
        // connected.
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
    async fn open(self: &Arc<Self>, number: u64, shared: &Shared) -> Result<Connected, Error> {
        let start = Instant::now();
        let upstream = self.config.connector.connect().await?;
        let attempt = Attempt {
            server: self.clone(),
            upstream: Some(upstream.clone()),
        };
        if let Some(id) = upstream.process_id() {
            // A process may take long until it answers, or never do so.
            let process = StartedProcess { id, since: start };
            self.view.send_modify(|view| view.process = Some(process));
            shared.status_changed();
        }
        let limited = Timeout::new(upstream.clone(), self.config.call_limits);
        let limited = limited.server_name(self.name().as_arc().clone());
        let service: Arc<dyn Service> = Arc::new(limited);
        let discovered = self.client(service.clone()).discover().await?;
        let capabilities = Arc::new(discovered.capabilities.clone());
        let version = upstream.version();
        shared.catalog.set_discovered(self, discovered, version);
        attempt.succeeded();
        Ok(Connected {
            upstream,
            service,
            capabilities,
            number,
            latency: start.elapsed(),
        })
    }

    fn client(&self, service: Arc<dyn Service>) -> Client {
        Client::builder(service)
            .server_name(self.name().as_str())
            .build()
    }

    /// Waits until a call has found that the server cannot be reached over this connection.
    async fn unreachable(&self, number: u64) -> FailureReason {
        let mut noticed = self.noticed_loss.subscribe();
        loop {
            let loss = noticed.borrow_and_update().clone();
            if let Some((_, reason)) = loss.filter(|(lost, _)| *lost == number) {
                return reason;
            }
            // The sender is a part of this value.
            let _ = noticed.changed().await;
        }
    }

    /// Waits until no call was in flight and no resource was watched for the idle time.
    async fn unused(&self, shared: &Shared) {
        // A server that is to run at once is not stopped; see `Event::Unused`.
        let stops = self.config.start == Start::OnFirstUse;
        let Some(limit) = self.config.idle_stop.filter(|_| stops) else {
            return std::future::pending().await;
        };
        let mut in_flight = self.in_flight.subscribe();
        let mut watched = shared.watched.follow(self.name());
        loop {
            // The senders outlive this future: they are a part of this value and of the hub.
            let _ = in_flight.wait_for(|calls| *calls == 0).await;
            let _ = watched.wait_for(BTreeSet::is_empty).await;
            tokio::select! {
                // A use that has come counts, even if the time is over.
                biased;
                _ = in_flight.changed() => {}
                _ = watched.changed() => {}
                () = sleep(limit) => return,
            }
        }
    }
}

/// Attempt to connect. One that is dropped before it succeeds is waited for in the background until it loses nothing.
struct Attempt {
    server: Arc<Server>,
    /// Empty once the attempt has succeeded.
    upstream: Option<Arc<dyn Upstream>>,
}

impl Attempt {
    fn succeeded(mut self) {
        self.upstream = None;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(upstream) = self.upstream.take() else {
            return;
        };
        // Most have nothing to lose, and end at once.
        if upstream.settled().now_or_never().is_some() {
            return;
        }
        // Without a runtime no refresh goes on either.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        // Before the phase changes: a shutdown waits for the phase first, and then for this number.
        self.server.closing.send_modify(|closing| *closing += 1);
        let server = self.server.clone();
        runtime.spawn(async move {
            upstream.settled().await;
            server.closing.send_modify(|closing| *closing -= 1);
        });
    }
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

    fn lost(reason: FailureReason) -> Self {
        Self {
            reason: Some(reason),
            ..Self::of(Event::Lost)
        }
    }
}

/// Time for which a new connection waits until the earlier one is closed: a process is killed after 4 seconds.
const CLOSE: Duration = Duration::from_secs(5);

/// Time between two checks of a connected server.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Waits until a check finds that the server cannot be reached: one at a URL has no connection that ends, and not
/// every one has a stream.
async fn unreachable_now(upstream: &dyn Upstream) -> FailureReason {
    loop {
        sleep(CHECK_INTERVAL).await;
        match upstream.check().await {
            Err(error) if is_unreachable(&error) => return FailureReason::new(&error),
            _ => {}
        }
    }
}

/// A random number from 0 to 1.
fn random() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness every delay is the longest, which is safe.
    let random = getrandom::fill(&mut bytes).map_or(u32::MAX, |()| u32::from_ne_bytes(bytes));
    f64::from(random) / f64::from(u32::MAX)
}
