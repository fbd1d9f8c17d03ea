//! Subscribers to changes: the publish side of `subscriptions/listen`.
//!
//! A [`Router`](crate::router::Router) and the adapter to old servers publish through this; a hub
//! that merges the changes of many servers does the same.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::params::NotificationParams;
use callgate_wire::resource::ResourceUpdatedParams;
use callgate_wire::subscription::{SubscriptionFilter, SubscriptionsAcknowledgedParams};
use callgate_wire::{DecodeError, Id, Meta, Method, Notification, RawJson, Splice, meta, method};
use tokio::sync::Notify;

use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::service::{Caller, Cx};

/// Table of subscribers.
///
/// A change that happens again while a subscriber is slow to read is delivered once, so the queue
/// of a subscriber is never longer than its [`ChangeFilter`]. Clones share the table.
#[derive(Debug, Clone, Default)]
pub struct Subscribers {
    table: Arc<Mutex<SubscriberTable>>,
}

#[derive(Debug, Default)]
struct SubscriberTable {
    /// Number of the next subscriber.
    next: u64,
    /// Memory of all URIs and task ids that are followed, in bytes.
    memory: usize,
    entries: HashMap<u64, Arc<SubscriberEntry>>,
}

/// Subscription. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscriber {
    number: u64,
    entry: Arc<SubscriberEntry>,
    table: Arc<Mutex<SubscriberTable>>,
}

#[derive(Debug)]
struct SubscriberEntry {
    /// Caller whose share this subscription counts in, if there are shares.
    caller: Option<Caller>,
    filter: ChangeFilter,
    queue: Mutex<ChangeQueue>,
    wake: Notify,
}

/// Filter of the changes that a subscriber is notified of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeFilter {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources or of their templates.
    pub resources: bool,
    /// Changes of the resources with these URIs.
    pub uris: HashSet<String>,
    /// Changes of the tasks with these ids.
    pub task_ids: HashSet<String>,
}

#[derive(Debug, Default)]
struct ChangeQueue {
    changes: BTreeSet<ServerChange>,
    closed: bool,
}

/// Change of the tools, prompts, resources or tasks of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ServerChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of their templates.
    Resources,
    /// The resource with this URI.
    Resource(String),
    /// The task with this id.
    Task(String),
}

/// The error of a subscription beyond the limit.
pub(crate) fn limit_reached() -> Error {
    let text = "subscription limit reached: close one, or try again later";
    Error::new(Kind::Busy, text)
        .retry_safe()
        .with_retry_after(RETRY_AFTER)
}

/// Time after which a subscription that was refused may be tried again. Subscriptions last long, so an
/// early attempt would be in vain.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Maximum memory of the URIs and task ids that all subscribers follow, in bytes.
const MAX_MEMORY: usize = 8 * 1024 * 1024;
/// Maximum memory of the URIs and task ids that the subscribers of one caller follow, where callers have
/// shares.
const MAX_CALLER_MEMORY: usize = MAX_MEMORY / 2;
/// Memory of one URI or task id besides its text, in bytes.
const NAME_OVERHEAD: usize = 96;

impl ServerChange {
    /// Notification of this change; `None` for a task, whose state is not known here.
    #[must_use]
    pub fn notification(&self, meta: Meta) -> Option<Notification> {
        let meta = Some(meta);
        let (name, params) = match self {
            Self::Tools => (method::NOTIFICATIONS_TOOLS_LIST_CHANGED, list_changed(meta)),
            Self::Prompts => (
                method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
                list_changed(meta),
            ),
            Self::Resources => (
                method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
                list_changed(meta),
            ),
            Self::Resource(uri) => {
                let mut params = ResourceUpdatedParams::new(uri);
                params.meta = meta;
                let params = RawJson::encode(&params);
                (method::NOTIFICATIONS_RESOURCES_UPDATED, params)
            }
            Self::Task(_) => return None,
        };
        Some(Notification {
            method: Method::new(name),
            params: params.expect("params are JSON"),
        })
    }
}

impl Subscribers {
    /// Subscribes. Returns `None` if there are `limit` subscribers already, or if the URIs and task
    /// ids of all of them take too much memory.
    #[must_use]
    pub fn subscribe(&self, filter: ChangeFilter, limit: usize) -> Option<Subscriber> {
        self.insert(filter, limit, None)
    }

    /// Subscribes for a caller, which has at most `share` of the places, and half of the memory.
    #[cfg(feature = "legacy")]
    pub(crate) fn subscribe_for(
        &self,
        caller: &Caller,
        filter: ChangeFilter,
        limit: usize,
        share: usize,
    ) -> Option<Subscriber> {
        self.insert(filter, limit, Some((caller, share)))
    }

    fn insert(
        &self,
        filter: ChangeFilter,
        limit: usize,
        share: Option<(&Caller, usize)>,
    ) -> Option<Subscriber> {
        let mut table = self.table.lock();
        if let Some((caller, share)) = share {
            let entries = table.entries.values();
            let own: Vec<_> = entries
                .filter(|entry| entry.caller.as_ref() == Some(caller))
                .map(|entry| entry.filter.memory())
                .collect();
            let memory = own.iter().sum::<usize>() + filter.memory();
            if own.len() >= share || memory > MAX_CALLER_MEMORY {
                return None;
            }
        }
        let memory = table.memory + filter.memory();
        // The number alone is no bound, since each subscriber may follow many names.
        if table.entries.len() >= limit || memory > MAX_MEMORY {
            return None;
        }
        table.memory = memory;
        let number = table.next;
        table.next += 1;
        let entry = Arc::new(SubscriberEntry {
            caller: share.map(|(caller, _)| caller.clone()),
            filter,
            queue: Mutex::default(),
            wake: Notify::new(),
        });
        table.entries.insert(number, entry.clone());
        Some(Subscriber {
            number,
            entry,
            table: self.table.clone(),
        })
    }

    /// Publishes a change to the subscribers whose filter includes it. Never waits.
    pub fn publish(&self, change: &ServerChange) {
        for entry in self.table.lock().entries.values() {
            if entry.filter.includes(change) {
                entry.queue.lock().changes.insert(change.clone());
                entry.wake.notify_one();
            }
        }
    }

    /// Serves one `subscriptions/listen` request: acknowledges `accepted`, and sends a notification for
    /// each change until the subscription is closed. Dropping the future unsubscribes.
    ///
    /// `notification` writes the notification of a change with this `_meta`, or leaves it out.
    ///
    /// # Errors
    /// There are `limit` subscribers already, or they follow too much.
    pub async fn serve(
        &self,
        cx: &Cx,
        accepted: SubscriptionFilter,
        limit: usize,
        notification: impl Fn(ServerChange, &Meta) -> Option<Notification> + Send,
    ) -> Result<(), Error> {
        // Subscribed before the acknowledgment is sent, so that no change after it is missed.
        let subscriber = self.subscribe(ChangeFilter::new(&accepted), limit);
        let subscriber = subscriber.ok_or_else(limit_reached)?;
        let acknowledged = SubscriptionsAcknowledgedParams::new(&cx.id, accepted);
        let acknowledged = Notification {
            method: Method::new(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED),
            params: RawJson::encode(&acknowledged).expect("params are JSON"),
        };
        cx.notify.send(acknowledged).await;
        let meta = Meta::subscription(&cx.id);
        while let Some(changes) = subscriber.next().await {
            for change in changes {
                if let Some(notification) = notification(change, &meta) {
                    cx.notify.send(notification).await;
                }
            }
        }
        Ok(())
    }

    /// Closes the open subscriptions, each after the changes that wait for it.
    pub fn close(&self) {
        for entry in self.table.lock().entries.values() {
            entry.queue.lock().closed = true;
            entry.wake.notify_one();
        }
    }
}

impl Subscriber {
    /// Waits for changes since the last call; `None` when the subscription was closed.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&self) -> Option<BTreeSet<ServerChange>> {
        loop {
            {
                let mut queue = self.entry.queue.lock();
                // Before the end, so that a subscription closes after the changes that wait.
                if !queue.changes.is_empty() {
                    return Some(std::mem::take(&mut queue.changes));
                }
                if queue.closed {
                    return None;
                }
            }
            self.entry.wake.notified().await;
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        table.entries.remove(&self.number);
        table.memory -= self.entry.filter.memory();
    }
}

impl ChangeFilter {
    /// Reads the filter of a `subscriptions/listen` request.
    #[must_use]
    pub fn new(filter: &SubscriptionFilter) -> Self {
        let names = |names: &Option<Vec<String>>| names.iter().flatten().cloned().collect();
        Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            uris: names(&filter.resource_subscriptions),
            task_ids: names(&filter.task_ids),
        }
    }

    fn memory(&self) -> usize {
        let names = self.uris.iter().chain(&self.task_ids);
        names.map(|name| NAME_OVERHEAD + name.len()).sum()
    }

    fn includes(&self, change: &ServerChange) -> bool {
        match change {
            ServerChange::Tools => self.tools,
            ServerChange::Prompts => self.prompts,
            ServerChange::Resources => self.resources,
            ServerChange::Resource(uri) => self.uris.contains(uri),
            ServerChange::Task(id) => self.task_ids.contains(id),
        }
    }
}

/// A notification of a server, as one of the subscription `id`.
pub(crate) fn tagged(notification: &Notification, id: &Id) -> Notification {
    let tagging = Splice::new(&notification.params)
        .set(&["_meta", meta::SUBSCRIPTION_ID], id.as_raw())
        .finish();
    Notification {
        method: notification.method.clone(),
        // A `_meta` that is no object is left as it is.
        params: tagging.unwrap_or_else(|_| notification.params.clone()),
    }
}

fn list_changed(meta: Option<Meta>) -> Result<RawJson, DecodeError> {
    RawJson::encode(&NotificationParams::new(meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_that_happens_often_is_delivered_once() {
        let subscribers = Subscribers::default();
        let filter = ChangeFilter {
            tools: true,
            uris: HashSet::from(["a:".to_owned()]),
            ..ChangeFilter::default()
        };
        let subscriber = subscribers.subscribe(filter, 1).unwrap();
        for _ in 0..1_000 {
            subscribers.publish(&ServerChange::Tools);
            subscribers.publish(&ServerChange::Prompts);
            subscribers.publish(&ServerChange::Resource("a:".to_owned()));
            subscribers.publish(&ServerChange::Resource("b:".to_owned()));
        }
        let expect = BTreeSet::from([ServerChange::Tools, ServerChange::Resource("a:".to_owned())]);
        assert_eq!(subscriber.next().await, Some(expect));
        subscribers.publish(&ServerChange::Tools);
        subscribers.close();
        assert_eq!(
            subscriber.next().await,
            Some(BTreeSet::from([ServerChange::Tools]))
        );
        assert_eq!(subscriber.next().await, None);
    }

    #[test]
    fn places_are_limited_and_free_again_when_left() {
        let subscribers = Subscribers::default();
        let subscriber = subscribers.subscribe(ChangeFilter::default(), 1);
        assert!(subscribers.subscribe(ChangeFilter::default(), 1).is_none());
        drop(subscriber);
        assert!(subscribers.subscribe(ChangeFilter::default(), 1).is_some());
    }

    #[cfg(feature = "legacy")]
    #[test]
    fn a_caller_has_a_share_of_the_places_and_of_the_memory() {
        let subscribers = Subscribers::default();
        let follow = |caller: &str, length: usize| {
            let filter = ChangeFilter {
                uris: HashSet::from(["a".repeat(length)]),
                ..ChangeFilter::default()
            };
            subscribers.subscribe_for(&Caller::named(caller), filter, 10, 2)
        };
        let _one = follow("ada", 1).unwrap();
        let two = follow("ada", 1).unwrap();
        assert!(follow("ada", 1).is_none());
        assert!(follow("bob", 1).is_some());
        drop(two);
        assert!(follow("ada", MAX_CALLER_MEMORY - 2 * NAME_OVERHEAD).is_none());
        let _two = follow("ada", MAX_CALLER_MEMORY - 2 * NAME_OVERHEAD - 1).unwrap();
        assert!(follow("bob", 1).is_some());
    }

    #[test]
    fn the_resources_of_all_listeners_together_are_limited() {
        let subscribers = Subscribers::default();
        let follow = |length: usize| {
            let uris = HashSet::from(["a".repeat(length)]);
            let filter = ChangeFilter {
                uris,
                ..ChangeFilter::default()
            };
            subscribers.subscribe(filter, 10)
        };
        let largest = MAX_MEMORY - NAME_OVERHEAD;
        assert!(follow(largest + 1).is_none());
        let subscriber = follow(largest);
        assert!(follow(0).is_none());
        assert!(subscribers.subscribe(ChangeFilter::default(), 10).is_some());
        drop(subscriber);
        assert!(follow(largest).is_some());
    }
}
