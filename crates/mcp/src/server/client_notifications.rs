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
    /// True while a task passes them on.
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
        let Some(notification) = self.0.lock().push_if_running(notification) else {
            return;
        };
        let mut passing = pass_on(service.clone(), notification);
        // A service that takes it at once gets it before the next request of the client. The task polls
        // again with a waker of its own, so none is needed here.
        let mut cx = Context::from_waker(Waker::noop());
        if passing.poll_unpin(&mut cx).is_ready() {
            return;
        }
        self.0.lock().is_running = true;
        let (queue, service) = (self.clone(), service.clone());
        tokio::spawn(async move {
            passing.await;
            while let Some(next) = queue.next() {
                pass_on(service.clone(), next).await;
            }
        });
    }

    fn next(&self) -> Option<Call> {
        let mut queue = self.0.lock();
        let next = queue.waiting.pop_front();
        match &next {
            Some(next) => queue.bytes -= size(next),
            // Under the lock of the look: a notification that comes now starts a task of its own.
            None => queue.is_running = false,
        }
        next
    }
}

impl NotificationQueue {
    /// Queues a notification, or drops it if there is no room. If no task is running, it is handed back.
    fn push_if_running(&mut self, notification: Call) -> Option<Call> {
        if !self.is_running {
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
