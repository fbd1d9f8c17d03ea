use std::sync::Arc;
use std::time::Duration;

use callgate_wire::subscription::SubscriptionFilter;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::subscription_listener::{Change, Command, SubscriptionListener};
use crate::error::Error;
use crate::legacy::server::client_request::MessageSink;
use crate::legacy::server::forward::SessionService;
use crate::mutex::Mutex;

/// Subscriptions of one session: changes of lists, and of resources that its client asks for.
pub(in crate::legacy::server) struct Subscriptions {
    /// Changes of lists that the service announces.
    lists: SubscriptionFilter,
    /// Maximum number of resources.
    most: usize,
    upstream: SessionService,
    /// False while the service is asked for a subscription, until it acknowledges it.
    settled: Arc<watch::Sender<bool>>,
    state: Mutex<SubscriptionState>,
}

struct SubscriptionState {
    /// True once the client may be notified.
    ready: bool,
    sink: watch::Sender<Option<Arc<dyn MessageSink>>>,
    listener: Option<ListenerTask>,
}

struct ListenerTask {
    commands: mpsc::Sender<Command>,
    abort: AbortHandle,
}

/// Maximum number of queued changes of the filter. One more waits until there is room.
const COMMANDS: usize = 16;

/// Maximum time that a list request waits for the subscription to be acknowledged.
const OPEN_TIMEOUT: Duration = Duration::from_secs(1);

impl Subscriptions {
    pub(in crate::legacy::server) fn new(
        upstream: SessionService,
        lists: SubscriptionFilter,
        most: usize,
    ) -> Self {
        Self {
            lists,
            most,
            upstream,
            settled: Arc::new(watch::Sender::new(true)),
            state: Mutex::new(SubscriptionState {
                ready: false,
                sink: watch::Sender::new(None),
                listener: None,
            }),
        }
    }

    /// Notifies the client from now on.
    pub(in crate::legacy::server) fn ready(&self) {
        let mut state = self.state.lock();
        if !state.ready {
            state.ready = true;
            if state.sink.borrow().is_some() {
                // Before the listener starts, which sets it again.
                self.settled.send_replace(false);
                self.start(&mut state);
            }
        }
    }

    /// Sends changes to `sink` from now on, or drops them.
    pub(in crate::legacy::server) fn set_sink(&self, sink: Option<Arc<dyn MessageSink>>) {
        let mut state = self.state.lock();
        let useful = state.ready && sink.is_some();
        // Before the listener learns of the sink, after which it sets this again.
        if useful {
            self.settled.send_replace(false);
        }
        state.sink.send_replace(sink);
        if useful {
            self.start(&mut state);
        }
    }

    /// Waits a short time for the subscription, if one is being opened.
    ///
    /// A list that is read before the subscription stands may change unnoticed.
    pub(in crate::legacy::server) async fn wait_until_open(&self) {
        let mut settled = self.settled.subscribe();
        if timeout(OPEN_TIMEOUT, settled.wait_for(|settled| *settled))
            .await
            .is_err()
        {
            // The service is slow: later list requests do not wait for it once more.
            self.settled.send_replace(true);
        }
    }

    /// Adds or removes a resource; returns when the service has acknowledged it.
    pub(in crate::legacy::server) async fn change(&self, change: Change) -> Result<(), Error> {
        let commands = {
            let mut state = self.state.lock();
            self.start(&mut state).commands.clone()
        };
        let (done, outcome) = oneshot::channel();
        let over = || Error::internal("the session is over");
        let command = Command { change, done };
        commands.send(command).await.map_err(|_| over())?;
        outcome.await.map_err(|_| over())?
    }

    /// Ends the subscription at the service.
    pub(in crate::legacy::server) fn close(&self) {
        let mut state = self.state.lock();
        state.sink.send_replace(None);
        if let Some(listener) = state.listener.take() {
            listener.abort.abort();
        }
    }

    fn start<'a>(&self, state: &'a mut SubscriptionState) -> &'a ListenerTask {
        let sink = &state.sink;
        state.listener.get_or_insert_with(|| {
            let (commands, received) = mpsc::channel(COMMANDS);
            let listener = SubscriptionListener::new(
                self.upstream.clone(),
                self.lists.clone(),
                self.most,
                sink.subscribe(),
                received,
                self.settled.clone(),
            );
            ListenerTask {
                commands,
                abort: tokio::spawn(listener.run()).abort_handle(),
            }
        })
    }
}
