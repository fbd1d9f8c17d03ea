use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_wire::{Id, Notification};
use tokio::time::{Sleep, sleep};

use crate::error::Error;
use crate::layer::{Panicked, poll_guarded};
use crate::notifier::Notifications;
use crate::service::{BoxFuture, Call, Reply, Service};

/// A call under way. Dropping it cancels the call.
pub(super) struct RunningCall {
    id: Id,
    /// Absent once it has panicked or finished, so that it is never polled again.
    call: Option<BoxFuture<'static, Result<Reply, Error>>>,
    notifications: Option<Notifications>,
}

/// First event of a call, which decides the form of its response.
pub(super) enum FirstEvent {
    /// The call ended: the response is JSON.
    Outcome(Result<Reply, Error>),
    /// The call sent a notification and goes on: the response is an event stream.
    Notification(Notification),
    /// The call did nothing until a keep-alive is due: the response is an event stream.
    Timeout,
}

impl RunningCall {
    pub(super) fn start(
        service: Arc<dyn Service>,
        call: Call,
        notifications: Option<Notifications>,
    ) -> Self {
        Self {
            id: call.cx.id.clone(),
            call: Some(Box::pin(async move { service.call(call).await })),
            notifications,
        }
    }

    pub(super) fn id(&self) -> &Id {
        &self.id
    }

    /// Waits for the first event, but no longer than `keep_alive`.
    ///
    /// No timer is set for a call that does something at once: most do, and a timer costs more than
    /// the rest of this function.
    pub(super) async fn first_event(&mut self, keep_alive: Duration) -> FirstEvent {
        let mut timer = std::pin::pin!(None::<Sleep>);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(outcome) = self.poll_outcome(cx) {
                return Poll::Ready(FirstEvent::Outcome(outcome));
            }
            if self.notifications.is_none() {
                return Poll::Pending;
            }
            if let Poll::Ready(notification) = self.poll_notification(cx) {
                return Poll::Ready(FirstEvent::Notification(notification));
            }
            if timer.is_none() {
                timer.set(Some(sleep(keep_alive)));
            }
            match timer.as_mut().as_pin_mut() {
                Some(timer) => timer.poll(cx).map(|()| FirstEvent::Timeout),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// The outcome of the call. A panic in the service costs this one request.
    pub(super) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Error>> {
        let Some(call) = &mut self.call else {
            return Poll::Pending;
        };
        let outcome = match poll_guarded(call, cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(outcome)) => outcome,
            Poll::Ready(Err(Panicked)) => {
                tracing::error!(id = %self.id, "a request handler panicked");
                Err(Error::internal("the request handler panicked"))
            }
        };
        self.call = None;
        Poll::Ready(outcome)
    }

    /// The next notification; never ready if the client accepts no events.
    pub(super) fn poll_notification(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        match &mut self.notifications {
            Some(notifications) => notifications.poll_next(cx),
            None => Poll::Pending,
        }
    }

    /// The next notification that already waits.
    pub(super) fn waiting_notification(&mut self) -> Option<Notification> {
        self.notifications.as_mut()?.try_next()
    }
}
