use std::fmt;

use callgate_wire::{Id, Method, Notification, RawJson, meta, method};

use super::handle::Client;
use crate::error::Error;
use crate::notifier::{Notifications, Notifier};
use crate::service::{BoxFuture, Reply};

/// How many events wait for their reader. A server that cannot wait drops the oldest, and the
/// reader hears of the gap.
pub(crate) const EVENTS: usize = 256;

/// One `subscriptions/listen` request under way. Dropping it cancels the request.
pub(crate) struct Stream {
    /// What the subscription is called: the id of the request.
    id: Id,
    call: BoxFuture<'static, Result<Reply, Error>>,
    notifications: Notifications,
    /// How many notifications are known to be lost.
    missed: u64,
    /// How the request ended, while notifications from before that are still waiting.
    outcome: Option<Result<(), Error>>,
}

/// What a stream tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// Something happened.
    Notification(Notification),
    /// Things happened that nobody can tell any more.
    Missed,
    /// This was all.
    Ended(Result<(), Error>),
}

impl Stream {
    /// Sends the request.
    pub(super) fn open(client: &Client, params: &RawJson) -> Result<Self, Error> {
        let (notify, notifications) = Notifier::channel(EVENTS);
        let listen = Method::new(method::SUBSCRIPTIONS_LISTEN);
        let call = client.stamped_call(&listen, params, client.version(), notify)?;
        let service = client.shared.service.clone();
        let id = call.cx.id.clone();
        let call = Box::pin(async move { service.call(call).await });
        Ok(Self::new(id, call, notifications))
    }

    /// The request `id`, which `call` sends, and what it is told.
    pub(crate) fn new(
        id: Id,
        call: BoxFuture<'static, Result<Reply, Error>>,
        notifications: Notifications,
    ) -> Self {
        Self {
            id,
            call,
            notifications,
            missed: 0,
            outcome: None,
        }
    }

    /// Waits for what comes next. Dropping the future loses nothing; nothing comes after the end.
    pub(crate) async fn next(&mut self) -> Told {
        loop {
            let missed = self.notifications.dropped();
            if missed > self.missed {
                self.missed = missed;
                return Told::Missed;
            }
            let notification = if let Some(outcome) = self.outcome.take() {
                let Some(waiting) = self.notifications.try_next() else {
                    return Told::Ended(outcome);
                };
                self.outcome = Some(outcome);
                waiting
            } else {
                tokio::select! {
                    biased;
                    notification = self.notifications.next() => notification,
                    outcome = &mut self.call => {
                        self.outcome = Some(outcome.map(|_| ()));
                        continue;
                    }
                }
            };
            if !self.concerns(&notification) {
                continue;
            }
            if notification.method.as_str() == method::NOTIFICATIONS_CANCELLED {
                return Told::Ended(Ok(()));
            }
            return Told::Notification(notification);
        }
    }

    /// Whether a notification is about this subscription: one that names another is not.
    fn concerns(&self, notification: &Notification) -> bool {
        let named = notification.params.at(&["_meta", meta::SUBSCRIPTION_ID]);
        named.is_none_or(|id| id == *self.id.as_raw())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("id", &self.id)
            .field("missed", &self.missed)
            .finish_non_exhaustive()
    }
}
