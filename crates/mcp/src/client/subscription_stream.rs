use std::fmt;

use callgate_wire::{Id, Method, Notification, RawJson, meta, method};

use super::typed_client::Client;
use crate::error::Error;
use crate::notifier::{Notifications, Notifier};
use crate::service::{BoxFuture, Reply};

/// Maximum unread events of one subscription. A server that cannot wait drops the oldest, and the
/// reader gets [`StreamItem::Missed`].
pub(crate) const EVENT_CAPACITY: usize = 256;

/// One `subscriptions/listen` request in flight. Dropping it cancels the request.
pub(crate) struct SubscriptionStream {
    /// Id of the request, which is the id of the subscription too.
    id: Id,
    call: BoxFuture<'static, Result<Reply, Error>>,
    notifications: Notifications,
    /// Number of dropped notifications that the reader knows of.
    missed: u64,
    /// Outcome of the request, while notifications from before it are still unread.
    outcome: Option<Result<(), Error>>,
}

/// Next item of a [`SubscriptionStream`].
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// A notification of this subscription.
    Notification(Notification),
    /// Notifications were dropped because the reader was too slow.
    Missed,
    /// The request is over. Nothing comes after this.
    Ended(Result<(), Error>),
}

impl SubscriptionStream {
    /// Sends a `subscriptions/listen` request.
    pub(super) fn open(client: &Client, params: &RawJson) -> Result<Self, Error> {
        let (notify, notifications) = Notifier::channel(EVENT_CAPACITY);
        let listen = Method::new(method::SUBSCRIPTIONS_LISTEN);
        let call = client.new_call(&listen, params, client.version(), notify)?;
        let service = client.shared.service.clone();
        let id = call.cx.id.clone();
        let call = Box::pin(async move { service.call(call).await });
        Ok(Self::new(id, call, notifications))
    }

    /// Makes the stream of the request `id`, which `call` sends.
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

    /// Waits for the next item. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> StreamItem {
        loop {
            // Before the next notification, since the dropped ones were older.
            let missed = self.notifications.dropped();
            if missed > self.missed {
                self.missed = missed;
                return StreamItem::Missed;
            }
            let notification = if let Some(outcome) = self.outcome.take() {
                let Some(unread) = self.notifications.try_next() else {
                    return StreamItem::Ended(outcome);
                };
                self.outcome = Some(outcome);
                unread
            } else {
                tokio::select! {
                    // Notifications first, since they were sent before the outcome.
                    biased;
                    notification = self.notifications.next() => notification,
                    outcome = &mut self.call => {
                        self.outcome = Some(outcome.map(|_| ()));
                        continue;
                    }
                }
            };
            if !self.is_own(&notification) {
                continue;
            }
            // A server may end a subscription by canceling its request.
            if notification.method.as_str() == method::NOTIFICATIONS_CANCELLED {
                return StreamItem::Ended(Ok(()));
            }
            return StreamItem::Notification(notification);
        }
    }

    /// Returns whether a notification is of this subscription: one that names another is not.
    fn is_own(&self, notification: &Notification) -> bool {
        let named = notification.params.at(&["_meta", meta::SUBSCRIPTION_ID]);
        named.is_none_or(|id| id == *self.id.as_raw())
    }
}

impl fmt::Debug for SubscriptionStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionStream")
            .field("id", &self.id)
            .field("missed", &self.missed)
            .finish_non_exhaustive()
    }
}
