use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::params::NotificationParams;
use callgate_wire::resource::ResourceUpdatedParams;
use callgate_wire::{DecodeError, Meta, Method, Notification, RawJson, method};
use tokio::sync::Notify;

/// Those who want to be told of changes.
///
/// What happens while one of them is slow to read is told once, however often it happens: what
/// waits for a listener is never more than what it subscribed to. Clones speak to the same listeners.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// The memory that all names take which are followed.
    weight: usize,
    listeners: HashMap<u64, Arc<Listener>>,
}

/// A place among the listeners, left when it is dropped.
pub(crate) struct Seat {
    number: u64,
    listener: Arc<Listener>,
    open: Arc<Mutex<Open>>,
}

struct Listener {
    wanted: Wanted,
    waiting: Mutex<Waiting>,
    wake: Notify,
}

/// What a listener wants to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: HashSet<String>,
    pub(crate) task_ids: HashSet<String>,
}

#[derive(Default)]
struct Waiting {
    changes: BTreeSet<Change>,
    closed: bool,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
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

/// The most memory that the names take which all listeners follow, in bytes.
const MAX_WEIGHT: usize = 8 * 1024 * 1024;
/// What a name takes besides its text, in bytes.
const NAME_WEIGHT: usize = 96;

impl Change {
    /// What a subscriber is told; `None` for a task, of which only its keeper knows the state.
    pub(crate) fn notification(&self, meta: Meta) -> Option<Notification> {
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
                let uri = uri.clone();
                let params = RawJson::encode(&ResourceUpdatedParams { meta, uri });
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

impl Listeners {
    /// Takes a place, unless `limit` of them are taken or too many names are followed.
    pub(crate) fn join(&self, wanted: Wanted, limit: usize) -> Option<Seat> {
        let mut open = lock(&self.open);
        let weight = open.weight + wanted.weight();
        if open.listeners.len() >= limit || weight > MAX_WEIGHT {
            return None;
        }
        open.weight = weight;
        let number = open.next;
        open.next += 1;
        let listener = Arc::new(Listener {
            wanted,
            waiting: Mutex::default(),
            wake: Notify::new(),
        });
        open.listeners.insert(number, listener.clone());
        Some(Seat {
            number,
            listener,
            open: self.open.clone(),
        })
    }

    /// Tells a change to those who want to know.
    pub(crate) fn tell(&self, change: &Change) {
        for listener in lock(&self.open).listeners.values() {
            if listener.wanted.includes(change) {
                lock(&listener.waiting).changes.insert(change.clone());
                listener.wake.notify_one();
            }
        }
    }

    /// Ends all subscriptions that are open now.
    pub(crate) fn close(&self) {
        for listener in lock(&self.open).listeners.values() {
            lock(&listener.waiting).closed = true;
            listener.wake.notify_one();
        }
    }
}

impl Seat {
    /// What changed since the last time, once something has; `None` at the end.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> Option<BTreeSet<Change>> {
        loop {
            {
                let mut waiting = lock(&self.listener.waiting);
                if !waiting.changes.is_empty() {
                    return Some(std::mem::take(&mut waiting.changes));
                }
                if waiting.closed {
                    return None;
                }
            }
            self.listener.wake.notified().await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.listeners.remove(&self.number);
        open.weight -= self.listener.wanted.weight();
    }
}

impl Wanted {
    fn weight(&self) -> usize {
        let names = self.uris.iter().chain(&self.task_ids);
        names.map(|name| NAME_WEIGHT + name.len()).sum()
    }

    fn includes(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
            Change::Task(id) => self.task_ids.contains(id),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn list_changed(meta: Option<Meta>) -> Result<RawJson, DecodeError> {
    RawJson::encode(&NotificationParams { meta })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_happens_often_is_told_once() {
        let listeners = Listeners::default();
        let wanted = Wanted {
            tools: true,
            uris: HashSet::from(["a:".to_owned()]),
            ..Wanted::default()
        };
        let seat = listeners.join(wanted, 1).unwrap();
        for _ in 0..1_000 {
            listeners.tell(&Change::Tools);
            listeners.tell(&Change::Prompts);
            listeners.tell(&Change::Resource("a:".to_owned()));
            listeners.tell(&Change::Resource("b:".to_owned()));
        }
        let expect = BTreeSet::from([Change::Tools, Change::Resource("a:".to_owned())]);
        assert_eq!(seat.next().await, Some(expect));
        listeners.tell(&Change::Tools);
        listeners.close();
        assert_eq!(seat.next().await, Some(BTreeSet::from([Change::Tools])));
        assert_eq!(seat.next().await, None);
    }

    #[test]
    fn places_are_limited_and_free_again_when_left() {
        let listeners = Listeners::default();
        let seat = listeners.join(Wanted::default(), 1);
        assert!(listeners.join(Wanted::default(), 1).is_none());
        drop(seat);
        assert!(listeners.join(Wanted::default(), 1).is_some());
    }

    #[test]
    fn what_all_listeners_follow_is_limited() {
        let listeners = Listeners::default();
        let follow = |length: usize| {
            let uris = HashSet::from(["a".repeat(length)]);
            let wanted = Wanted {
                uris,
                ..Wanted::default()
            };
            listeners.join(wanted, 10)
        };
        let largest = MAX_WEIGHT - NAME_WEIGHT;
        assert!(follow(largest + 1).is_none());
        let seat = follow(largest);
        assert!(follow(0).is_none());
        assert!(listeners.join(Wanted::default(), 10).is_some());
        drop(seat);
        assert!(follow(largest).is_some());
    }
}
