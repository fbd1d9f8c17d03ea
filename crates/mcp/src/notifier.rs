use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use callgate_wire::Notification;
use tokio::sync::Notify;

/// The bounded sink for the notifications of one request.
///
/// Clones share the queue. What is sent after the request has ended goes nowhere.
#[derive(Debug, Clone)]
pub struct Notifier {
    queue: Option<Arc<Queue>>,
}

/// The receiving end of a [`Notifier`].
#[derive(Debug)]
pub struct Notifications {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    state: Mutex<State>,
    room: Notify,
}

/// The most bytes that wait in one queue; a single notification may have more.
const MOST_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Notification>,
    bytes: usize,
    reader: Option<Waker>,
    dropped: u64,
    closed: bool,
}

impl Notifier {
    /// A sink that holds up to `capacity` notifications, or up to 8 MiB of them, and its receiving
    /// end. There is always room for one.
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
            },
            Notifications { queue },
        )
    }

    /// A sink that nobody reads.
    #[must_use]
    pub fn disabled() -> Self {
        Self { queue: None }
    }

    /// Sends a notification, waiting while the queue is full. Dropping the future sends nothing.
    pub async fn send(&self, notification: Notification) {
        let Some(queue) = &self.queue else { return };
        loop {
            let room = queue.room.notified();
            tokio::pin!(room);
            // Registered before the look at the queue, so that no wake-up is missed.
            room.as_mut().enable();
            {
                let mut state = queue.state();
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

    /// Sends a notification without waiting: when the queue is full, the oldest one makes way.
    ///
    /// This is for readers that must never wait for a consumer.
    pub fn offer(&self, notification: Notification) {
        let Some(queue) = &self.queue else { return };
        let mut state = queue.state();
        if state.closed {
            return;
        }
        while !state.has_room(queue.capacity, &notification) {
            state.pop();
            state.dropped += 1;
        }
        state.push(notification);
    }
}

impl Notifications {
    /// The next notification. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Notification {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next notification, or a promise to wake `cx` when there is one.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        let mut state = self.queue.state();
        if let Some(notification) = state.pop() {
            drop(state);
            self.queue.room.notify_one();
            return Poll::Ready(notification);
        }
        match &mut state.reader {
            Some(reader) => reader.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// The next notification, if one is waiting.
    pub fn try_next(&mut self) -> Option<Notification> {
        let notification = self.queue.state().pop()?;
        self.queue.room.notify_one();
        Some(notification)
    }

    /// How many notifications made way for newer ones.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.state().dropped
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.queue.room.notify_waiters();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self, capacity: usize, notification: &Notification) -> bool {
        let fits = || self.bytes + size(notification) <= MOST_BYTES;
        self.waiting.is_empty() || self.waiting.len() < capacity && fits()
    }

    fn pop(&mut self) -> Option<Notification> {
        let notification = self.waiting.pop_front()?;
        self.bytes -= size(&notification);
        Some(notification)
    }

    fn push(&mut self, notification: Notification) {
        self.bytes += size(&notification);
        self.waiting.push_back(notification);
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

fn size(notification: &Notification) -> usize {
    notification.method.as_str().len() + notification.params.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::{Method, RawJson};
    use std::time::Duration;
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
            params: RawJson::string(&"x".repeat(MOST_BYTES / 2)),
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
        timeout(Duration::from_secs(5), waiting)
            .await
            .unwrap()
            .unwrap();
    }
}
