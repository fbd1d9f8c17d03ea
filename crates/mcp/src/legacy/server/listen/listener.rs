use std::sync::Arc;
use std::time::Duration;

use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::{Id, Method, Notification, RawJson, code, method};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::untold::Untold;
use crate::client::{Backoff, EVENTS, Stream, Told};
use crate::error::{Error, Kind};
use crate::legacy::server::outlet::{Message, Outlet};
use crate::legacy::server::upstream::{Asking, Upstream};
use crate::notifier::Notifier;

/// Keeps one subscription at the service and tells the client what it hears.
///
/// A filter cannot be changed: another subscription takes the place of the one before as soon as
/// it is acknowledged, so that nothing is missed in between.
pub(super) struct Listener {
    upstream: Upstream,
    lists: SubscriptionFilter,
    /// The most resources to watch.
    most: usize,
    uris: Vec<String>,
    outlet: watch::Receiver<Option<Arc<dyn Outlet>>>,
    commands: mpsc::Receiver<Command>,
    /// Whether nobody waits for a subscription to be acknowledged.
    settled: Arc<watch::Sender<bool>>,
    live: Option<Live>,
    opening: Option<Opening>,
    untold: Untold,
    loss: Loss,
    last_id: u64,
}

/// A change of what the client watches, and whom to tell when it is done.
pub(super) struct Command {
    pub(super) change: Change,
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

/// A change of what the client watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::legacy::server) enum Change {
    /// The resource with this URI as well.
    Watch(String),
    /// The resource with this URI no longer.
    Unwatch(String),
}

struct Live {
    stream: Stream,
    since: Instant,
}

/// A subscription that is not acknowledged yet.
struct Opening {
    stream: Stream,
    until: Instant,
    uris: Vec<String>,
    /// What it is for, if a client asked for it.
    command: Option<Command>,
}

/// How listening is going.
#[derive(Default)]
struct Loss {
    /// How often in a row the subscription was lost or could not be made again.
    count: u32,
    /// Not before then is it made again; not at all if the service has none.
    retry: Retry,
    /// Whether changes may have been missed.
    gap: bool,
}

#[derive(Default, Clone, Copy)]
enum Retry {
    #[default]
    Now,
    At(Instant),
    Never,
}

/// How long to wait before listening again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    cap: Duration::from_secs(30),
};

/// How long a service may take to acknowledge a subscription.
const ACKNOWLEDGE: Duration = Duration::from_secs(30);

impl Listener {
    pub(super) fn new(
        upstream: Upstream,
        lists: SubscriptionFilter,
        most: usize,
        outlet: watch::Receiver<Option<Arc<dyn Outlet>>>,
        commands: mpsc::Receiver<Command>,
        settled: Arc<watch::Sender<bool>>,
    ) -> Self {
        Self {
            upstream,
            lists,
            most,
            uris: Vec::new(),
            outlet,
            commands,
            settled,
            live: None,
            opening: None,
            // All lists and all resources, and as many again for what lies below them.
            untold: Untold::new(2 * most + 3),
            loss: Loss::default(),
            last_id: 0,
        }
    }

    /// Listens until the session is over. Dropping the future unsubscribes.
    pub(super) async fn run(mut self) {
        loop {
            self.settle();
            if self.opening.is_none() {
                self.settled.send_replace(true);
            }
            let outlet = self.outlet.borrow().clone();
            let has_news = !self.untold.is_empty();
            let (at, waits) = match self.loss.retry {
                Retry::At(at) if self.live.is_none() && self.opening.is_none() => (at, true),
                _ => (Instant::now(), false),
            };
            tokio::select! {
                changed = self.outlet.changed() => if changed.is_err() {
                    return;
                },
                command = self.commands.recv(), if self.opening.is_none() => match command {
                    Some(command) => self.take(command),
                    None => return,
                },
                told = acknowledged(&mut self.opening) => self.opened(told),
                told = next(&mut self.live) => self.heard(told),
                () = room(outlet.as_ref()), if has_news => self.tell(outlet.as_ref()),
                () = sleep_until(at), if waits => self.loss.retry = Retry::Now,
            }
        }
    }

    /// Starts to listen if that is of use and can be done now, and stops if it is of no use.
    fn settle(&mut self) {
        let somewhere = self.outlet.borrow().is_some();
        let wanted = match self.uris.is_empty() {
            true => somewhere && self.lists != SubscriptionFilter::default(),
            false => true,
        };
        if !wanted {
            self.loss.gap |= self.live.take().is_some();
        }
        let idle = self.live.is_none() && self.opening.is_none();
        if wanted && idle && matches!(self.loss.retry, Retry::Now) {
            self.open(self.uris.clone(), None);
        }
    }

    fn take(&mut self, command: Command) {
        let (Change::Watch(uri) | Change::Unwatch(uri)) = &command.change;
        let watched = self.uris.contains(uri);
        let mut uris = self.uris.clone();
        match &command.change {
            Change::Watch(_) if watched => return command.finish(Ok(())),
            Change::Unwatch(_) if !watched => return command.finish(Ok(())),
            Change::Watch(_) if uris.len() >= self.most => {
                let most = self.most;
                let message = format!("a session may subscribe to {most} resources");
                return command.finish(Err(Error::new(Kind::Busy, message)));
            }
            Change::Watch(uri) => uris.push(uri.clone()),
            Change::Unwatch(uri) => uris.retain(|watched| watched != uri),
        }
        if uris.is_empty() && self.lists == SubscriptionFilter::default() {
            self.uris.clear();
            self.live = None;
            return command.finish(Ok(()));
        }
        self.open(uris, Some(command));
    }

    /// Asks the service to tell of these resources, and of lists.
    fn open(&mut self, uris: Vec<String>, command: Option<Command>) {
        self.last_id += 1;
        let id = Id::text(&format!("listen-{}", self.last_id));
        let params = SubscriptionsListenParams {
            meta: None,
            notifications: SubscriptionFilter {
                resource_subscriptions: Some(uris.clone()).filter(|uris| !uris.is_empty()),
                ..self.lists.clone()
            },
        };
        let (notify, notifications) = Notifier::channel(EVENTS);
        let asking = Asking {
            id: &id,
            method: &Method::new(method::SUBSCRIPTIONS_LISTEN),
            params: &RawJson::encode(&params).expect("params are always JSON"),
            level: None,
        };
        let call = self.upstream.call(&asking, notify);
        let call = call.expect("these params are an object");
        self.opening = Some(Opening {
            stream: Stream::new(id, call, notifications),
            until: Instant::now() + ACKNOWLEDGE,
            uris,
            command,
        });
    }

    /// The new subscription is acknowledged, or will not be.
    fn opened(&mut self, outcome: Result<SubscriptionFilter, Error>) {
        let Some(opening) = self.opening.take() else {
            return;
        };
        let accepted = match outcome {
            Ok(accepted) => accepted,
            Err(error) => {
                match opening.command {
                    Some(command) => command.finish(Err(error)),
                    None => self.lost(Err(error)),
                }
                return;
            }
        };
        if let Some(command) = opening.command {
            if let Err(error) = honors(&accepted, &command.change) {
                return command.finish(Err(error));
            }
            command.finish(Ok(()));
        }
        self.uris = opening.uris;
        self.replace(opening.stream);
        self.loss.retry = Retry::Now;
        if std::mem::take(&mut self.loss.gap) {
            self.untold.add_all(&accepted);
        }
    }

    /// Hears the rest of the subscription before, and goes on with `stream`. What both have heard
    /// is told once.
    fn replace(&mut self, stream: Stream) {
        let since = Instant::now();
        let before = self.live.replace(Live { stream, since });
        let streams = before.into_iter().map(|live| live.stream);
        for mut stream in streams {
            while let Some(Told::Notification(notification)) = stream.next().now_or_never() {
                self.untold.add(&notification);
            }
        }
        while let Some(told) = next(&mut self.live).now_or_never() {
            self.heard(told);
        }
    }

    fn heard(&mut self, told: Told) {
        match told {
            Told::Notification(notification) => self.untold.add(&notification),
            Told::Missed => {
                let uris = Some(self.uris.clone());
                self.untold.add_all(&SubscriptionFilter {
                    resource_subscriptions: uris,
                    ..self.lists.clone()
                });
            }
            Told::Ended(outcome) => {
                let lasted = self.live.take().map(|live| live.since.elapsed());
                if lasted > Some(AGAIN.cap) {
                    self.loss.count = 0;
                }
                self.lost(outcome);
            }
        }
    }

    fn lost(&mut self, outcome: Result<(), Error>) {
        self.loss.gap = true;
        self.loss.retry = match outcome {
            Err(error) if error.code() == code::METHOD_NOT_FOUND => Retry::Never,
            _ => Retry::At(Instant::now() + AGAIN.delay(self.loss.count)),
        };
        self.loss.count = self.loss.count.saturating_add(1);
    }

    fn tell(&mut self, outlet: Option<&Arc<dyn Outlet>>) {
        if let (Some(outlet), Some(notification)) = (outlet, self.untold.next()) {
            let Notification { method, params } = notification;
            outlet.push(Message::notification(&method, &params));
        }
    }
}

impl Command {
    fn finish(self, outcome: Result<(), Error>) {
        // Nobody waits for it if the request was canceled.
        drop(self.done.send(outcome));
    }
}

/// Whether the service does what the client asked for.
fn honors(accepted: &SubscriptionFilter, change: &Change) -> Result<(), Error> {
    let mut uris = accepted.resource_subscriptions.iter().flatten();
    match change {
        Change::Watch(uri) if !uris.any(|accepted| accepted == uri) => Err(Error::invalid_params(
            format!("the server does not tell of changes of `{uri}`"),
        )),
        _ => Ok(()),
    }
}

/// Waits until there is somewhere to tell things, and room.
async fn room(outlet: Option<&Arc<dyn Outlet>>) {
    match outlet {
        Some(outlet) => outlet.room().await,
        None => std::future::pending().await,
    }
}

async fn next(live: &mut Option<Live>) -> Told {
    match live {
        Some(live) => live.stream.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the first thing that a new subscription tells, which is what it will tell.
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
    let breach = || {
        Error::new(
            Kind::Protocol,
            "the server did not acknowledge a subscription",
        )
    };
    match told {
        Told::Notification(first)
            if first.method.as_str() == method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED =>
        {
            let params: Result<SubscriptionsAcknowledgedParams, _> = first.params.decode();
            let params = params.map_err(|error| breach().with_source(error))?;
            Ok(params.notifications)
        }
        Told::Ended(Err(error)) => Err(error),
        _ => Err(breach()),
    }
}
