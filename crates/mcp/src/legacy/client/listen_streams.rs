use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_wire::{Id, Notification};

use crate::mutex::Mutex;
use crate::notifier::Notifier;
use crate::service::{CallerKey, Cx};
use crate::subscribers::tagged;

/// Streams of the clients that listen: the way of notifications that this client does not know.
#[derive(Debug, Clone, Default)]
pub(super) struct ListenStreams(Arc<Mutex<StreamTable>>);

#[derive(Debug, Default)]
struct StreamTable {
    next: u64,
    streams: BTreeMap<u64, ListenStream>,
}

/// Stream of one `subscriptions/listen` request.
#[derive(Debug, Clone)]
pub(super) struct ListenStream {
    pub(super) caller: CallerKey,
    id: Id,
    notify: Notifier,
}

/// Entry of a stream. Dropping it removes the stream.
pub(super) struct ListenEntry {
    number: u64,
    table: ListenStreams,
}

impl ListenStreams {
    /// Adds the stream of a request, which begins with its acknowledgment.
    pub(super) fn add(&self, cx: &Cx, acknowledgment: Notification) -> ListenEntry {
        // Locked while it is sent: no notification comes before it, and none after it is missed.
        let mut table = self.0.lock();
        cx.notify.offer(acknowledgment);
        let number = table.next;
        table.next += 1;
        let stream = ListenStream {
            caller: CallerKey::of(cx),
            id: cx.id.clone(),
            notify: cx.notify.clone(),
        };
        table.streams.insert(number, stream);
        ListenEntry {
            number,
            table: self.clone(),
        }
    }

    pub(super) fn all(&self) -> Vec<ListenStream> {
        self.0.lock().streams.values().cloned().collect()
    }
}

impl ListenStream {
    /// Delivers a notification under the id of the subscription.
    pub(super) fn pass(&self, notification: &Notification) {
        self.notify.offer(tagged(notification, &self.id));
    }
}

impl Drop for ListenEntry {
    fn drop(&mut self) {
        self.table.0.lock().streams.remove(&self.number);
    }
}
