use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_wire::{Notification, method};
use futures_util::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::mutex::Mutex;

/// Bounded queue for the notifications of one request: the sending end.
///
/// Clones share the queue. Notifications that are sent after the request has ended are dropped.
#[derive(Debug, Clone)]
pub struct Notifier {
    queue: Option<Arc<Queue>>,
    without_progress: bool,
    activity: Option<Arc<Activity>>,
}

/// Receiving end of a [`Notifier`].
#[derive(Debug)]
pub struct Notifications {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    state: Mutex<QueueState>,
    room: Notify,
}

/// Maximum unread bytes of one queue; a single notification may have more.
const MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
struct QueueState {
    unread: VecDeque<Notification>,
    bytes: usize,
    reader: AtomicWaker,
    dropped: u64,
    closed: bool,
}

impl Notifier {
    /// Makes a queue for up to `capacity` notifications and up to 8 MiB, and returns both ends.
    /// There is always room for one notification.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, Notifications) {
        let queue = Arc::new(Queue {
            capacity,
            state: Mutex::default(),
            room: Notify::new(),
        });
        (
            Self {
                queue: Some(queue.clone()),
                ..Self::disabled()
            },
            Notifications { queue },
        )
    }

    /// Makes a notifier that drops all notifications.
    #[must_use]
    pub fn disabled() -> Self {
        Self {
            queue: None,
            without_progress: false,
            activity: None,
        }
    }

    /// Returns a notifier of the same queue that drops progress notifications.
    #[must_use]
    pub(crate) fn without_progress(&self) -> Self {
        Self {
            without_progress: true,
            ..self.clone()
        }
    }

    /// Returns a notifier of the same queue that records progress in `activity`, and in those that
    /// already observe it.
    #[must_use]
    pub(crate) fn observed_by(&self, activity: &Arc<Activity>) -> Self {
        if let Some(outer) = &self.activity {
            // The first layer to observe a request sets this; each layer does so once.
            let _ = activity.outer.set(outer.clone());
        }
        Self {
            activity: Some(activity.clone()),
            ..self.clone()
        }
    }

    /// Records progress, and returns the queue if the notification is to be sent.
    fn admit(&self, notification: &Notification) -> Option<&Arc<Queue>> {
        if (self.without_progress || self.activity.is_some())
            && notification.method.as_str() == method::NOTIFICATIONS_PROGRESS
        {
            if let Some(activity) = &self.activity {
                activity.note();
            }
            if self.without_progress {
                return None;
            }
        }
        self.queue.as_ref()
    }

    /// Sends a notification; waits while the queue is full. Dropping the future sends nothing.
    pub async fn send(&self, notification: Notification) {
        let Some(queue) = self.admit(&notification) else {
            return;
        };
        loop {
            let room = queue.room.notified();
            tokio::pin!(room);
            // Registered before the queue is checked: room that is made in between wakes it too.
            room.as_mut().enable();
            {
                let mut state = queue.state.lock();
                if state.closed {
                    return;
                }
                if state.has_room(queue.capacity, &notification) {
                    state.push(notification);
                    return;
                }
            }
            room.await;
        }
    }

    /// Sends a notification without waiting: if the queue is full, the oldest ones are dropped.
    ///
    /// A task that reads from a peer uses this: if it waited for a slow consumer, it would hold up
    /// the replies to all other requests.
    pub fn offer(&self, notification: Notification) {
        let Some(queue) = self.admit(&notification) else {
            return;
        };
        let mut state = queue.state.lock();
        if state.closed {
            return;
        }
        while !state.has_room(queue.capacity, &notification) {
            state.pop();
            state.dropped += 1;
            // At the 1st, 2nd, 4th, 8th and so on, so that a flood does not flood the log.
            if state.dropped.is_power_of_two() {
                let dropped = state.dropped;
                tracing::warn!(
                    dropped,
                    "dropped notifications: the caller reads too slowly"
                );
            }
        }
        state.push(notification);
    }
}

/// Time of the last progress of one request, for a layer that limits its silence.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    /// Milliseconds since the start.
    last: AtomicU64,
    /// Activity of the layer around this one, which limits the same request.
    outer: OnceLock<Arc<Activity>>,
}

impl Activity {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            last: AtomicU64::new(0),
            outer: OnceLock::new(),
        }
    }

    /// Records that the request made progress now.
    pub(crate) fn note(&self) {
        let elapsed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
        if let Some(outer) = self.outer.get() {
            outer.note();
        }
    }

    /// Returns the time of the last progress, or of the start.
    pub(crate) fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

impl Notifications {
    /// Waits for the next notification. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Notification {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next notification.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        let mut state = self.queue.state.lock();
        if let Some(notification) = state.pop() {
            drop(state);
            // One sender, since there is room for one notification.
            self.queue.room.notify_one();
            return Poll::Ready(notification);
        }
        state.reader.register(cx.waker());
        Poll::Pending
    }

    /// Returns the next notification if one is unread.
    pub fn try_next(&mut self) -> Option<Notification> {
        let notification = self.queue.state.lock().pop()?;
        self.queue.room.notify_one();
        Some(notification)
    }

    /// Returns the number of notifications that were dropped to make room for newer ones.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.state.lock().dropped
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.closed = true;
        state.unread.clear();
        drop(state);
        // All of them: a sender that waits for room must see that the queue is closed.
        self.queue.room.notify_waiters();
    }
}

impl QueueState {
    fn has_room(&self, capacity: usize, notification: &Notification) -> bool {
        // The number alone is no bound: a server on stdio could have a slow reader hold messages of 16 MiB
        // each.
        let fits = || self.bytes + size(notification) <= MAX_BYTES;
        self.unread.is_empty() || self.unread.len() < capacity && fits()
    }

    fn pop(&mut self) -> Option<Notification> {
        let notification = self.unread.pop_front()?;
        self.bytes -= size(&notification);
        Some(notification)
    }

    fn push(&mut self, notification: Notification) {
        self.bytes += size(&notification);
        self.unread.push_back(notification);
        self.reader.wake();
    }
}

fn size(notification: &Notification) -> usize {
    notification.method.as_str().len() + notification.params.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::{Method, RawJson};
    use tokio::time::timeout;

    fn numbered(number: u32) -> Notification {
        Notification {
            method: Method::new(&number.to_string()),
            params: RawJson::empty_object(),
        }
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_sender_wait_until_one_is_read() {
        let (notifier, mut notifications) = Notifier::channel(2);
        notifier.send(numbered(1)).await;
        notifier.send(numbered(2)).await;
        let third = tokio::spawn({
            let notifier = notifier.clone();
            async move { notifier.send(numbered(3)).await }
        });
        tokio::task::yield_now().await;
        assert!(!third.is_finished());
        for number in 1..=3 {
            assert_eq!(notifications.next().await, numbered(number));
        }
        third.await.unwrap();
        assert_eq!(notifications.dropped(), 0);
    }

    #[tokio::test]
    async fn an_offer_never_waits_and_drops_the_oldest() {
        let (notifier, mut notifications) = Notifier::channel(2);
        for number in 1..=5 {
            notifier.offer(numbered(number));
        }
        assert_eq!(notifications.try_next(), Some(numbered(4)));
        assert_eq!(notifications.try_next(), Some(numbered(5)));
        assert_eq!(notifications.try_next(), None);
        assert_eq!(notifications.dropped(), 3);
    }

    #[tokio::test]
    async fn bytes_are_bounded_too_but_one_notification_always_fits() {
        let large = |number: u32| Notification {
            params: RawJson::string(&"x".repeat(MAX_BYTES / 2)),
            ..numbered(number)
        };
        let (notifier, mut notifications) = Notifier::channel(0);
        notifier.send(numbered(1)).await;
        notifier.offer(numbered(2));
        assert_eq!(notifications.try_next(), Some(numbered(2)));

        let (notifier, mut notifications) = Notifier::channel(9);
        notifier.offer(numbered(1));
        notifier.offer(large(2));
        notifier.offer(large(3));
        assert_eq!(notifications.dropped(), 2);
        let fourth = tokio::spawn(async move { notifier.send(large(4)).await });
        tokio::task::yield_now().await;
        assert!(!fourth.is_finished());
        assert_eq!(notifications.next().await, large(3));
        assert_eq!(notifications.next().await, large(4));
    }

    #[tokio::test]
    async fn a_waiting_sender_is_released_when_the_request_ends() {
        let (notifier, notifications) = Notifier::channel(1);
        notifier.send(numbered(1)).await;
        let waiting = tokio::spawn(async move { notifier.send(numbered(2)).await });
        tokio::task::yield_now().await;
        drop(notifications);
        timeout(Duration::from_secs(60), waiting)
            .await
            .unwrap()
            .unwrap();
    }
}
