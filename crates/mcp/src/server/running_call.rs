use std::sync::Arc;
use std::task::{Context, Poll, ready};

use callgate_wire::{Id, Notification};

use crate::error::Error;
use crate::layer::poll_call;
use crate::notifier::Notifications;
use crate::service::{BoxFuture, Call, Reply, Service};

/// A call under way. Dropping it cancels the call.
pub(crate) struct RunningCall {
    pub(crate) id: Id,
    /// Absent once it has panicked or finished, so that it is never polled again.
    call: Option<BoxFuture<'static, Result<Reply, Error>>>,
    notifications: Option<Notifications>,
}

/// Event of a call.
pub(crate) enum CallEvent {
    Notification(Notification),
    /// The call ended; notifications that it sent before may still wait.
    Outcome(Result<Reply, Error>),
}

impl RunningCall {
    pub(crate) fn start(
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

    /// Waits for the first event, but no longer than `keep_alive`; then the client must be told that
    /// the call goes on.
    ///
    /// No timer is set for a call that does something at once: most do, and a timer costs more than
    /// the rest of this function.
    #[cfg(feature = "http-server")]
    pub(crate) async fn first_event(
        &mut self,
        keep_alive: std::time::Duration,
    ) -> Option<CallEvent> {
        let mut timer = std::pin::pin!(None);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(event) = self.poll_event(cx) {
                return Poll::Ready(Some(event));
            }
            // A client that accepts no events cannot be told that the call goes on.
            if self.notifications.is_none() {
                return Poll::Pending;
            }
            if timer.is_none() {
                timer.set(Some(tokio::time::sleep(keep_alive)));
            }
            match timer.as_mut().as_pin_mut() {
                Some(timer) => timer.poll(cx).map(|()| None),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// The next event. The call is polled first: its last notifications must precede its outcome.
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<CallEvent> {
        if let Poll::Ready(outcome) = self.poll_outcome(cx) {
            return Poll::Ready(CallEvent::Outcome(outcome));
        }
        self.poll_notification(cx).map(CallEvent::Notification)
    }

    /// The outcome of the call. A panic in the service costs this one request.
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Error>> {
        let Some(call) = &mut self.call else {
            return Poll::Pending;
        };
        let outcome = ready!(poll_call(call, &self.id, cx));
        self.call = None;
        Poll::Ready(outcome)
    }

    /// The next notification; never ready if the client accepts no events.
    pub(crate) fn poll_notification(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        match &mut self.notifications {
            Some(notifications) => notifications.poll_next(cx),
            None => Poll::Pending,
        }
    }

    /// The next notification that already waits.
    pub(crate) fn waiting_notification(&mut self) -> Option<Notification> {
        self.notifications.as_mut()?.try_next()
    }
}
