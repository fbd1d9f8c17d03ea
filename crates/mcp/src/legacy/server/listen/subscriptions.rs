use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_wire::subscription::SubscriptionFilter;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::listener::{Change, Command, Listener};
use crate::error::Error;
use crate::legacy::server::outlet::Outlet;
use crate::legacy::server::upstream::Upstream;

/// What one session hears that belongs to none of its requests.
pub(in crate::legacy::server) struct Subscriptions {
    /// The changes of lists that the service tells.
    lists: SubscriptionFilter,
    /// The most resources to watch.
    most: usize,
    upstream: Upstream,
    /// Whether the service has answered that it tells of changes, if it was asked at all.
    settled: Arc<watch::Sender<bool>>,
    state: Mutex<State>,
}

struct State {
    /// Whether the client is ready to hear anything.
    ready: bool,
    outlet: watch::Sender<Option<Arc<dyn Outlet>>>,
    listener: Option<Running>,
}

struct Running {
    commands: mpsc::Sender<Command>,
    abort: AbortHandle,
}

/// How many changes of the filter wait for those before them.
const COMMANDS: usize = 16;

/// How long the service may take to say that it tells of changes before nobody waits for that.
const SETTLES: Duration = Duration::from_secs(1);

impl Subscriptions {
    pub(in crate::legacy::server) fn new(
        upstream: Upstream,
        lists: SubscriptionFilter,
        most: usize,
    ) -> Self {
        Self {
            lists,
            most,
            upstream,
            settled: Arc::new(watch::Sender::new(true)),
            state: Mutex::new(State {
                ready: false,
                outlet: watch::Sender::new(None),
                listener: None,
            }),
        }
    }

    /// The client is ready to hear of changes.
    pub(in crate::legacy::server) fn ready(&self) {
        let mut state = self.state();
        if !state.ready {
            state.ready = true;
            let somewhere = state.outlet.borrow().is_some();
            if somewhere && self.tells_lists() {
                self.settled.send_replace(false);
                self.start(&mut state);
            }
        }
    }

    /// Changes are told on `outlet` from now on, or nowhere.
    pub(in crate::legacy::server) fn tell_on(&self, outlet: Option<Arc<dyn Outlet>>) {
        let mut state = self.state();
        let useful = state.ready && outlet.is_some() && self.tells_lists();
        if useful {
            self.settled.send_replace(false);
        }
        state.outlet.send_replace(outlet);
        if useful {
            self.start(&mut state);
        }
    }

    /// Waits a short time until changes are heard, if they are about to be.
    ///
    /// A list that is read before that may change without anybody hearing of it.
    pub(in crate::legacy::server) async fn settle(&self) {
        let mut settled = self.settled.subscribe();
        if timeout(SETTLES, settled.wait_for(|settled| *settled))
            .await
            .is_err()
        {
            self.settled.send_replace(true);
        }
    }

    /// Watches a resource, or no longer; done when the service has acknowledged it.
    pub(in crate::legacy::server) async fn change(&self, change: Change) -> Result<(), Error> {
        let commands = {
            let mut state = self.state();
            self.start(&mut state).commands.clone()
        };
        let (done, outcome) = oneshot::channel();
        let over = || Error::internal("the session is over");
        let command = Command { change, done };
        commands.send(command).await.map_err(|_| over())?;
        outcome.await.map_err(|_| over())?
    }

    /// Ends the subscription upstream.
    pub(in crate::legacy::server) fn close(&self) {
        let mut state = self.state();
        state.outlet.send_replace(None);
        if let Some(listener) = state.listener.take() {
            listener.abort.abort();
        }
    }

    fn tells_lists(&self) -> bool {
        self.lists != SubscriptionFilter::default()
    }

    fn start<'a>(&self, state: &'a mut State) -> &'a Running {
        let outlet = &state.outlet;
        state.listener.get_or_insert_with(|| {
            let (commands, received) = mpsc::channel(COMMANDS);
            let listener = Listener::new(
                self.upstream.clone(),
                self.lists.clone(),
                self.most,
                outlet.subscribe(),
                received,
                self.settled.clone(),
            );
            Running {
                commands,
                abort: tokio::spawn(listener.run()).abort_handle(),
            }
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
