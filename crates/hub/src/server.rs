use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use callgate_mcp::wire::capabilities::ServerCapabilities;
use callgate_mcp::{Call, Error, Kind, Origin, Reply, Retry, Service, Version};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::connector::Upstream;
use crate::reconnect::{Event, Phase, Start};
use crate::server_config::ServerConfig;
use crate::server_name::ServerName;
use crate::signals::Signals;
use crate::status::{FailureReason, ServerState};

mod task;

/// One server of a hub: its state, and the way to call it.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    view: watch::Sender<View>,
    signals: Signals,
    attempts: AtomicU64,
    /// Number of connections that were made in place of a lost one.
    restarts: AtomicU64,
    /// The last connection that a call found to be gone, by its number, and the reason.
    noticed_loss: watch::Sender<Option<(u64, FailureReason)>>,
    /// True once the server is shut down for good.
    is_shut_down: AtomicBool,
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
    /// True once every list of the current connection was read, or could not be.
    pub(crate) listed: bool,
    /// Time that the last successful attempt took, from its start to the server's first answer.
    pub(crate) latency: Option<Duration>,
    /// Process of the server, connected or still connecting.
    pub(crate) process: Option<StartedProcess>,
    /// True if the last connection was lost and there is no other one yet.
    was_lost: bool,
    connection: Option<Connected>,
}

/// Process that was started for a connection.
#[derive(Clone, Copy)]
pub(crate) struct StartedProcess {
    pub(crate) id: u32,
    pub(crate) since: Instant,
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
    latency: Duration,
}

/// Maximum number of times that one call is sent again after a lost connection.
const MAX_RESENDS: u32 = 2;
/// Time for which a call sits out the waits between attempts instead of failing.
const SHORT_WAIT: Duration = Duration::from_secs(2);
/// Time after a lost call in which the loss of its connection shows.
const LOSS_NOTICE: Duration = Duration::from_millis(250);

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Self {
        // The phase in which the supervisor begins, so that no caller sees another one before.
        let phase = match config.start {
            _ if !config.enabled => Phase::Disabled,
            Start::AtOnce => Phase::Connecting,
            Start::OnFirstUse => Phase::Idle,
        };
        Self {
            config,
            view: watch::Sender::new(View {
                phase,
                reason: None,
                listed: false,
                latency: None,
                process: None,
                was_lost: false,
                connection: None,
            }),
            signals: Signals::default(),
            attempts: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            noticed_loss: watch::Sender::default(),
            is_shut_down: AtomicBool::new(false),
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
        // Relaxed: a number for reports, which no decision depends on.
        self.attempts.load(Ordering::Relaxed)
    }

    /// Number of connections that were made in place of a lost one.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Tells the supervisor of an event that comes from outside.
    pub(crate) fn signal(&self, event: Event) {
        // A server that was shut down stays so, whatever comes after it.
        if event == Event::Enable && self.is_shut_down.load(Ordering::Acquire) {
            return;
        }
        self.signals.send(event);
    }

    /// Connects a server that waits to be used.
    pub(crate) fn use_if_waiting(&self) {
        let phase = self.view.borrow().phase;
        if matches!(phase, Phase::Idle | Phase::Stopped { .. }) {
            self.signals.send(Event::Used);
        }
    }

    /// Records that every list of the current connection was read, or could not be.
    pub(crate) fn set_listed(&self) {
        self.view.send_if_modified(|view| {
            let is_new = !view.listed;
            view.listed = true;
            is_new
        });
    }

    /// Sends a call to the server, and once more after a lost connection where that is safe.
    ///
    /// `repeatable` says that the call only reads or may be repeated, so that it is sent again even if
    /// the server may have received it. Dropping the future cancels the call.
    pub(crate) async fn call(&self, call: Call, repeatable: bool) -> Result<Reply, Error> {
        // Only the idle stop needs the count.
        let counted = self.config.idle_stop.is_some();
        let _use = counted.then(|| InFlight::begin(&self.in_flight));
        let deadline = call.cx.deadline;
        let mut lost = None;
        let mut resends = 0;
        loop {
            let connected = self.connected(deadline, lost).await?;
            let error = match connected.service.call(call.clone()).await {
                Err(error) if is_lost(&error) => error,
                outcome => return outcome.map_err(|error| self.named(error)),
            };
            if is_unreachable(&error) {
                // Nothing else notices that a server at a URL is gone.
                let loss = (connected.number, FailureReason::new(&error));
                self.noticed_loss.send_replace(Some(loss));
            }
            let may_repeat = error.retry() == Retry::Safe || repeatable;
            if !may_repeat || resends == MAX_RESENDS {
                return Err(self.named(error));
            }
            tracing::debug!(server = %self.name(), %error, "sending a call again");
            lost = Some(connected.number);
            resends += 1;
        }
    }

    /// Waits for a connection, other than the one with the number `lost` unless that proves to live:
    /// then only the stream of one call was cut.
    ///
    /// A server that is connecting is waited for, up to the deadline; any other state that calls
    /// cannot end fails at once with its reason.
    async fn connected(
        &self,
        deadline: Option<Instant>,
        lost: Option<u64>,
    ) -> Result<Connected, Error> {
        // Nearly every call finds a connection, and need not signal a use.
        if let Some(connected) = self.view.borrow().usable(lost) {
            return Ok(connected);
        }
        self.signals.send(Event::Used);
        let start = Instant::now();
        let limit = start + self.config.connect_timeout;
        let until = deadline.map_or(limit, |deadline| deadline.min(limit));
        let mut view = self.view.subscribe();
        loop {
            let current = view.borrow_and_update().clone();
            let now = Instant::now();
            let lost = lost.filter(|_| now < start + LOSS_NOTICE);
            if let Some(connected) = current.usable(lost) {
                return Ok(connected);
            }
            let waits = match current.phase {
                Phase::Connecting | Phase::Connected { .. } | Phase::Idle => true,
                Phase::Waiting { retry_at } => retry_at <= until.min(start + SHORT_WAIT),
                Phase::Stopped { until, .. } => now >= until,
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
                // From then on the connection that the caller takes for lost is used again: its end would
                // have been noticed by now.
                () = sleep_until(start + LOSS_NOTICE), if lost.is_some() => {}
            }
        }
    }

    /// An error of the server under the name that it has in this hub.
    fn named(&self, error: Error) -> Error {
        match error.origin() {
            Origin::Upstream(_) => error.from_upstream(self.name().as_arc()),
            _ => error,
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
            ServerState::Stopped { attempts } => format!(
                "server `{name}` is stopped after {attempts} attempts{because}; run `callgate list {name}` to try again"
            ),
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

    /// Turns the server off for good, and waits until its connections are closed.
    pub(crate) async fn shut_down(&self) {
        // Before the signal, so that no later one turns the server on again.
        self.is_shut_down.store(true, Ordering::Release);
        self.signals.send(Event::Disable);
        let mut view = self.view.subscribe();
        // Neither sender can be dropped before `self`.
        let _ = view.wait_for(|view| view.phase == Phase::Disabled).await;
        // The connection that the phase has ended was counted before the phase could be seen.
        let mut closing = self.closing.subscribe();
        let _ = closing.wait_for(|closing| *closing == 0).await;
    }
}

impl View {
    /// Revision that the connected server speaks.
    pub(crate) fn version(&self) -> Option<Version> {
        self.connection.as_ref()?.upstream.version()
    }

    /// True unless the first attempt to connect is under way, or the lists are being read.
    pub(crate) fn is_settled(&self) -> bool {
        match self.phase {
            Phase::Connecting => self.reason.is_some(),
            Phase::Connected { .. } => self.listed,
            _ => true,
        }
    }

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

/// True if no connection to the server could be made: it is not there, whatever was connected before.
///
/// A gateway in between that answers in place of the server is something else: its answer is no proof
/// that a call was not delivered, so such an error is not safe to retry.
pub(crate) fn is_unreachable(error: &Error) -> bool {
    error.kind() == Kind::Connect && error.retry() == Retry::Safe
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
