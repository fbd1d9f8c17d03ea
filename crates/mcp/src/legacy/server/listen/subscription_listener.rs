use std::sync::Arc;
use std::time::Duration;

use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::{Id, Notification, code, method};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::pending_changes::PendingChanges;
use crate::client::{Backoff, EVENT_CAPACITY, StreamItem, SubscriptionStream};
use crate::error::{Error, Kind};
use crate::legacy::server::client_request::{Message, MessageSink};
use crate::legacy::server::forward::SessionService;
use crate::notifier::Notifier;

/// Keeps one subscription at the service, and sends its changes to the client.
///
/// A filter cannot be changed: a new subscription replaces the old one as soon as it is
/// acknowledged, so that no change is missed in between.
pub(super) struct SubscriptionListener {
    upstream: SessionService,
    lists: SubscriptionFilter,
    /// Maximum number of resources.
    most: usize,
    uris: Vec<String>,
    sink: watch::Receiver<Option<Arc<dyn MessageSink>>>,
    commands: mpsc::Receiver<Command>,
    /// False while a list request may wait for a subscription to be acknowledged.
    settled: Arc<watch::Sender<bool>>,
    live: Option<Live>,
    opening: Option<Opening>,
    pending: PendingChanges,
    /// Number of losses and failed attempts in a row.
    losses: u32,
    /// Time of the next attempt; never, if the service has no subscriptions.
    retry_at: Option<Instant>,
    /// True if changes may have been missed.
    gap: bool,
    last_id: u64,
}

/// Change of the subscribed resources, and the request that waits for it.
pub(super) struct Command {
    pub(super) change: Change,
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

/// Change of the subscribed resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::legacy::server) enum Change {
    /// Adds the resource with this URI.
    Subscribe(String),
    /// Removes the resource with this URI.
    Unsubscribe(String),
}

struct Live {
    stream: SubscriptionStream,
    since: Instant,
}

/// Subscription that is not acknowledged yet.
struct Opening {
    stream: SubscriptionStream,
    until: Instant,
    uris: Vec<String>,
    /// The change that it is for; none if it replaces a lost subscription.
    command: Option<Command>,
}

/// Delays before the subscription is opened again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    cap: Duration::from_secs(30),
};

/// Time that a service has to acknowledge a subscription.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(30);

impl SubscriptionListener {
    pub(super) fn new(
        upstream: SessionService,
        lists: SubscriptionFilter,
        most: usize,
        sink: watch::Receiver<Option<Arc<dyn MessageSink>>>,
        commands: mpsc::Receiver<Command>,
        settled: Arc<watch::Sender<bool>>,
    ) -> Self {
        Self {
            upstream,
            lists,
            most,
            uris: Vec::new(),
            sink,
            commands,
            settled,
            live: None,
            opening: None,
            // All lists and all resources, and as many again for resources below them.
            pending: PendingChanges::new(2 * most + 3),
            losses: 0,
            retry_at: Some(Instant::now()),
            gap: false,
            last_id: 0,
        }
    }

    /// Runs until the session is closed. Dropping the future unsubscribes.
    pub(super) async fn run(mut self) {
        loop {
            let now = Instant::now();
            self.open_or_end(now);
            if self.opening.is_none() {
                self.settled.send_replace(true);
            }
            let sink = self.sink.borrow().clone();
            let has_news = !self.pending.is_empty();
            // The same `now` as above: an attempt is either made there, or waited for here.
            let retry_at = self.retry_at.filter(|at| *at > now && self.is_idle());
            tokio::select! {
                // The sender is a part of the session, which is gone then.
                changed = self.sink.changed() => if changed.is_err() {
                    return;
                },
                // One change at a time, since the next filter starts from the outcome of this one.
                command = self.commands.recv(), if self.opening.is_none() => match command {
                    Some(command) => self.take(command),
                    None => return,
                },
                told = acknowledged(&mut self.opening) => self.finish_opening(told),
                told = next(&mut self.live) => self.receive(told),
                () = room(sink.as_ref()), if has_news => self.send_next(sink.as_ref()),
                () = sleep_until(retry_at.unwrap_or(now)), if retry_at.is_some() => {}
            }
        }
    }

    /// Opens the subscription if it is needed and possible now, and ends one that is not needed.
    fn open_or_end(&mut self, now: Instant) {
        let wanted = self.sink.borrow().is_some() || !self.uris.is_empty();
        if !wanted {
            // Changes from here on are missed, and made up for when there is a subscription again.
            self.gap |= self.live.take().is_some();
        }
        let is_due = self.retry_at.is_some_and(|at| at <= now);
        if wanted && self.is_idle() && is_due {
            self.open(self.uris.clone(), None);
        }
    }

    fn has_lists(&self) -> bool {
        self.lists != SubscriptionFilter::default()
    }

    fn is_idle(&self) -> bool {
        self.live.is_none() && self.opening.is_none()
    }

    fn take(&mut self, command: Command) {
        let (Change::Subscribe(uri) | Change::Unsubscribe(uri)) = &command.change;
        let watched = self.uris.contains(uri);
        let mut uris = self.uris.clone();
        match &command.change {
            // First, so that a repeated request succeeds at the limit too.
            Change::Subscribe(_) if watched => return command.finish(Ok(())),
            Change::Unsubscribe(_) if !watched => return command.finish(Ok(())),
            Change::Subscribe(_) if uris.len() >= self.most => {
                let most = self.most;
                let message = format!("a session may subscribe to {most} resources");
                return command.finish(Err(Error::new(Kind::Busy, message)));
            }
            Change::Subscribe(uri) => uris.push(uri.clone()),
            Change::Unsubscribe(uri) => uris.retain(|watched| watched != uri),
        }
        // Nothing is left to listen to, so the service need not be asked.
        if uris.is_empty() && self.sink.borrow().is_none() && !self.has_lists() {
            self.uris.clear();
            self.live = None;
            return command.finish(Ok(()));
        }
        self.open(uris, Some(command));
    }

    /// Opens a subscription for lists and for these resources.
    fn open(&mut self, uris: Vec<String>, command: Option<Command>) {
        self.last_id += 1;
        let id = Id::text(&format!("listen-{}", self.last_id));
        let mut filter = self.lists.clone();
        filter.resource_subscriptions = Some(uris.clone()).filter(|uris| !uris.is_empty());
        let params = SubscriptionsListenParams::new(filter);
        let (notify, notifications) = Notifier::channel(EVENT_CAPACITY);
        let origin = &self.upstream.origin;
        let context = |peer| origin.context(id.clone(), peer).with_notifier(notify);
        let method = method::SUBSCRIPTIONS_LISTEN;
        let call = self.upstream.call(context, method, &params);
        self.opening = Some(Opening {
            stream: SubscriptionStream::new(id, call, notifications),
            until: Instant::now() + ACKNOWLEDGE_TIMEOUT,
            uris,
            command,
        });
    }

    /// Takes the acknowledgement of the new subscription, or its failure.
    fn finish_opening(&mut self, outcome: Result<SubscriptionFilter, Error>) {
        let Some(opening) = self.opening.take() else {
            return;
        };
        let accepted = match outcome {
            Ok(accepted) => accepted,
            Err(error) => {
                match opening.command {
                    Some(command) => command.finish(Err(error)),
                    None => self.reopen_later(Err(error)),
                }
                return;
            }
        };
        if let Some(command) = opening.command {
            // The subscription before stays; dropping the new one ends that.
            if let Err(error) = check_accepted(&accepted, &command.change) {
                return command.finish(Err(error));
            }
            command.finish(Ok(()));
        }
        self.uris = opening.uris;
        self.replace(opening.stream);
        // A subscription that ends because it is not needed is opened without delay when it is needed again.
        self.retry_at = Some(Instant::now());
        if std::mem::take(&mut self.gap) {
            self.pending.add_all(&accepted);
        }
    }

    /// Reads the rest of the old subscription and goes on with `stream`. A change that both
    /// announce is sent once.
    fn replace(&mut self, stream: SubscriptionStream) {
        let since = Instant::now();
        let before = self.live.replace(Live { stream, since });
        let streams = before.into_iter().map(|live| live.stream);
        for mut stream in streams {
            // Only what has come already: the end of the old subscription is not waited for.
            while let Some(StreamItem::Notification(notification)) = stream.next().now_or_never() {
                self.pending.add(&notification);
            }
        }
        while let Some(told) = next(&mut self.live).now_or_never() {
            self.receive(told);
        }
    }

    fn receive(&mut self, told: StreamItem) {
        match told {
            StreamItem::Notification(notification) => self.pending.add(&notification),
            // Which changes were dropped is not known, so all that is watched counts as changed.
            StreamItem::Missed => {
                let mut all = self.lists.clone();
                all.resource_subscriptions = Some(self.uris.clone());
                self.pending.add_all(&all);
            }
            StreamItem::Ended(outcome) => {
                let lasted = self.live.take().map(|live| live.since.elapsed());
                if lasted > Some(AGAIN.cap) {
                    self.losses = 0;
                }
                self.reopen_later(outcome);
            }
        }
    }

    fn reopen_later(&mut self, outcome: Result<(), Error>) {
        self.gap = true;
        self.retry_at = match outcome {
            // A service without subscriptions will not have them later.
            Err(error) if error.code() == code::METHOD_NOT_FOUND => None,
            // A server that has nothing to announce need not keep it open, and is not asked again.
            _ if self.uris.is_empty() && !self.has_lists() => None,
            _ => Some(Instant::now() + AGAIN.delay(self.losses)),
        };
        self.losses = self.losses.saturating_add(1);
    }

    fn send_next(&mut self, sink: Option<&Arc<dyn MessageSink>>) {
        if let (Some(sink), Some(notification)) = (sink, self.pending.next()) {
            let Notification { method, params } = notification;
            sink.push(Message::notification(&method, &params));
        }
    }
}

impl Command {
    fn finish(self, outcome: Result<(), Error>) {
        // The receiver is gone if the request was canceled.
        drop(self.done.send(outcome));
    }
}

/// Checks that the service accepted the change.
fn check_accepted(accepted: &SubscriptionFilter, change: &Change) -> Result<(), Error> {
    let mut uris = accepted.resource_subscriptions.iter().flatten();
    match change {
        Change::Subscribe(uri) if !uris.any(|accepted| accepted == uri) => Err(
            Error::invalid_params(format!("the server does not tell of changes of `{uri}`")),
        ),
        _ => Ok(()),
    }
}

/// Waits until the client has a stream, with room on it.
async fn room(sink: Option<&Arc<dyn MessageSink>>) {
    match sink {
        Some(sink) => sink.room().await,
        None => std::future::pending().await,
    }
}

async fn next(live: &mut Option<Live>) -> StreamItem {
    match live {
        Some(live) => live.stream.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the acknowledgement, the first notification of a new subscription.
async fn acknowledged(opening: &mut Option<Opening>) -> Result<SubscriptionFilter, Error> {
    let Some(opening) = opening else {
        return std::future::pending().await;
    };
    let told = tokio::select! {
        told = opening.stream.next() => told,
        () = sleep_until(opening.until) => {
            let message = "the server did not acknowledge a subscription in time";
            return Err(Error::new(Kind::Timeout, message));
        }
    };
    let protocol_error = || {
        Error::new(
            Kind::Protocol,
            "the server did not acknowledge a subscription",
        )
    };
    match told {
        StreamItem::Notification(first)
            if first.method.as_str() == method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED =>
        {
            let params: Result<SubscriptionsAcknowledgedParams, _> = first.params.decode();
            let params = params.map_err(|error| protocol_error().with_source(error))?;
            Ok(params.notifications)
        }
        StreamItem::Ended(Err(error)) => Err(error),
        _ => Err(protocol_error()),
    }
}
