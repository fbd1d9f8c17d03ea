use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use callgate_wire::legacy::method::is_about_connection;
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::layer::{Panicked, poll_guarded};
use crate::mutex::Mutex;
use crate::service::{BoxFuture, Call, Service};

/// Notifications of one client on their way to the service, in their order.
///
/// Those that the service does not take at once wait in a queue. If it is full, a new one is dropped.
#[derive(Debug, Default)]
pub(crate) struct ClientNotifications(Mutex<NotificationQueue>);

#[derive(Debug, Default)]
struct NotificationQueue {
    waiting: VecDeque<Call>,
    bytes: usize,
    /// True while notifications are being passed on.
    is_running: bool,
    dropped: u64,
}

/// Maximum number of notifications that wait.
const MAX_WAITING: usize = 64;

/// Maximum bytes of their params; a single one may have more.
const MAX_BYTES: usize = 1024 * 1024;

/// Time that a service has for one notification.
const TIMEOUT: Duration = Duration::from_secs(10);

impl ClientNotifications {
    /// Passes on a notification, now or later. Never waits.
    pub(crate) fn pass_on(self: &Arc<Self>, service: &Arc<dyn Service>, notification: Call) {
        let Some(first) = self.0.lock().push_if_running(notification) else {
            return;
        };
        let mut passing = Box::pin(self.clone().pass_all(service.clone(), first));
        // A service that takes it at once gets it before the next request of the client. The task polls
        // again with a waker of its own, so none is needed here.
        let mut cx = Context::from_waker(Waker::noop());
        if passing.poll_unpin(&mut cx).is_pending() {
            tokio::spawn(passing);
        }
    }

    /// Passes on the first notification, then those that have come meanwhile.
    async fn pass_all(self: Arc<Self>, service: Arc<dyn Service>, first: Call) {
        let mut next = Some(first);
        while let Some(notification) = next {
            pass_on(service.clone(), notification).await;
            next = self.next();
        }
    }

    fn next(&self) -> Option<Call> {
        let mut queue = self.0.lock();
        let next = queue.waiting.pop_front();
        match &next {
            Some(next) => queue.bytes -= size(next),
            // Under the lock of the look: a notification that comes now is a first one again.
            None => queue.is_running = false,
        }
        next
    }
}

impl NotificationQueue {
    /// Queues a notification, or drops it if there is no room. If none is being passed on, it is handed back as the
    /// first one.
    fn push_if_running(&mut self, notification: Call) -> Option<Call> {
        // Before the first one is passed on: of two that come at once, on two connections, the other one waits.
        if !std::mem::replace(&mut self.is_running, true) {
            return Some(notification);
        }
        let fits = self.bytes + size(&notification) <= MAX_BYTES;
        if self.waiting.is_empty() || self.waiting.len() < MAX_WAITING && fits {
            self.bytes += size(&notification);
            self.waiting.push_back(notification);
            return None;
        }
        self.dropped += 1;
        // At the 1st, 2nd, 4th, 8th and so on, so that a flood does not flood the log.
        if self.dropped.is_power_of_two() {
            let dropped = self.dropped;
            tracing::warn!(
                dropped,
                "dropped notifications of a client: the server reads too slowly"
            );
        }
        None
    }
}

/// Passes a notification of a client on to the service, unless it is about the connection to the client.
///
/// It has no answer, so that neither a panic, nor a service that is too slow, is an error.
pub(crate) fn pass_on(service: Arc<dyn Service>, notification: Call) -> BoxFuture<'static, ()> {
    if is_about_connection(&notification.method) {
        return Box::pin(std::future::ready(()));
    }
    let mut passing: BoxFuture<'static, ()> =
        Box::pin(async move { service.notify(notification).await });
    Box::pin(async move {
        match timeout(TIMEOUT, poll_fn(|cx| poll_guarded(&mut passing, cx))).await {
            Ok(Ok(())) => {}
            Ok(Err(Panicked)) => tracing::error!("the handler of a notification panicked"),
            Err(_) => tracing::debug!("a notification of a client was not passed on in time"),
        }
    })
}

fn size(notification: &Call) -> usize {
    notification.method.as_str().len() + notification.params().as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::service::{Cx, Reply};
    use callgate_wire::{Id, Method, RawJson};
    use tokio::sync::{Semaphore, mpsc};

    /// Records each notification once it has a permit.
    struct Slow {
        permits: Semaphore,
        seen: mpsc::UnboundedSender<String>,
    }

    impl Service for Slow {
        fn call(&self, _: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async { Ok(Reply::Complete(RawJson::empty_object())) })
        }

        fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
            Box::pin(async move {
                assert_ne!(notification.method.as_str(), "panic");
                self.permits.acquire().await.unwrap().forget();
                self.seen.send(notification.method.to_string()).unwrap();
            })
        }
    }

    fn slow(permits: usize) -> (Arc<Slow>, mpsc::UnboundedReceiver<String>) {
        let (seen, received) = mpsc::unbounded_channel();
        let permits = Semaphore::new(permits);
        (Arc::new(Slow { permits, seen }), received)
    }

    fn notification(method: &str, params: RawJson) -> Call {
        Call::new(Method::new(method), params, Cx::new(Id::number(0)))
    }

    fn empty(method: &str) -> Call {
        notification(method, RawJson::empty_object())
    }

    #[tokio::test]
    async fn a_service_that_is_ready_gets_it_at_once_and_others_in_order() {
        let (slow, mut seen) = slow(2);
        let service: Arc<dyn Service> = slow.clone();
        let queue = Arc::new(ClientNotifications::default());
        queue.pass_on(&service, empty("panic"));
        queue.pass_on(&service, empty("notifications/cancelled"));
        for number in 0..5 {
            queue.pass_on(&service, empty(&number.to_string()));
        }
        assert_eq!(
            (seen.try_recv().unwrap(), seen.try_recv().unwrap()),
            ("0".into(), "1".into())
        );
        assert!(seen.try_recv().is_err());
        slow.permits.add_permits(3);
        for number in 2..5 {
            assert_eq!(seen.recv().await.unwrap(), number.to_string());
        }
    }

    /// Waits for a permit, and while it takes the first notification, the client sends another one.
    struct Overtaken {
        slow: Arc<Slow>,
        queue: Arc<ClientNotifications>,
    }

    impl Service for Overtaken {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            self.slow.call(call)
        }

        fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
            let method = notification.method.to_string();
            self.slow.seen.send(format!("begin {method}")).unwrap();
            if method == "first" {
                // As from another thread, but at a known moment.
                let other: Arc<dyn Service> = Arc::new(Self {
                    slow: self.slow.clone(),
                    queue: self.queue.clone(),
                });
                self.queue.pass_on(&other, empty("second"));
            }
            self.slow.notify(notification)
        }
    }

    #[tokio::test]
    async fn notifications_that_come_at_once_are_passed_on_one_by_one() {
        for permits in [0, 2] {
            let (slow, mut seen) = slow(permits);
            let queue = Arc::new(ClientNotifications::default());
            let service: Arc<dyn Service> = Arc::new(Overtaken {
                slow: slow.clone(),
                queue: queue.clone(),
            });
            queue.pass_on(&service, empty("first"));
            slow.permits.add_permits(2);
            for expect in ["begin first", "first", "begin second", "second"] {
                assert_eq!(seen.recv().await.unwrap(), expect, "{permits} permits");
            }
        }
    }

    #[tokio::test]
    async fn the_number_and_the_bytes_of_those_that_wait_are_limited() {
        for (params, fit) in [
            (RawJson::empty_object(), MAX_WAITING),
            (RawJson::string(&"x".repeat(MAX_BYTES / 4)), 3),
        ] {
            let (slow, mut seen) = slow(0);
            let service: Arc<dyn Service> = slow.clone();
            let queue = Arc::new(ClientNotifications::default());
            for number in 0..100 {
                queue.pass_on(&service, notification(&number.to_string(), params.clone()));
            }
            slow.permits.add_permits(100);
            // The first one is with the service and not in the queue.
            for number in 0..=fit {
                assert_eq!(seen.recv().await.unwrap(), number.to_string());
            }
            assert_eq!(queue.0.lock().dropped, u64::try_from(99 - fit).unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_never_takes_it_is_given_up_on() {
        let (slow, _seen) = slow(0);
        pass_on(slow, empty("notifications/x")).await;
    }
}
