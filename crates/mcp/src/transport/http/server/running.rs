use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_wire::{Id, Notification, method};
use tokio::time::{Sleep, sleep};

use crate::error::Error;
use crate::notifier::Notifications;
use crate::service::{BoxFuture, Call, Reply, Service};

/// A call under way. Dropping it cancels the call.
pub(super) struct Running {
    id: Id,
    /// Absent once it has panicked or finished, so that it is never polled again.
    call: Option<BoxFuture<'static, Result<Reply, Error>>>,
    notifications: Option<Notifications>,
    /// Whether the client asked for progress. A service may report it unasked.
    wants_progress: bool,
}

/// What a call did first.
pub(super) enum First {
    /// It ended.
    Outcome(Result<Reply, Error>),
    /// It said something while it goes on.
    Notification(Notification),
    /// It kept quiet for too long to leave the client without a sign of life.
    Quiet,
}

impl Running {
    pub(super) fn start(
        service: Arc<dyn Service>,
        call: Call,
        notifications: Option<Notifications>,
    ) -> Self {
        Self {
            id: call.cx.id.clone(),
            wants_progress: call.cx.peer.progress_token().is_some(),
            call: Some(Box::pin(async move { service.call(call).await })),
            notifications,
        }
    }

    pub(super) fn id(&self) -> &Id {
        &self.id
    }

    /// Waits for the first thing that decides how to respond.
    ///
    /// No timer is set for a call that does something at once.
    pub(super) async fn first(&mut self, patience: Duration) -> First {
        let mut quiet = std::pin::pin!(None::<Sleep>);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(outcome) = self.poll_outcome(cx) {
                return Poll::Ready(First::Outcome(outcome));
            }
            if self.notifications.is_none() {
                return Poll::Pending;
            }
            if let Poll::Ready(notification) = self.poll_notification(cx) {
                return Poll::Ready(First::Notification(notification));
            }
            if quiet.is_none() {
                quiet.set(Some(sleep(patience)));
            }
            match quiet.as_mut().as_pin_mut() {
                Some(quiet) => quiet.poll(cx).map(|()| First::Quiet),
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
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(_panic) => {
                tracing::error!(id = %self.id, "the service panicked");
                Err(Error::internal("the server failed"))
            }
        };
        self.call = None;
        Poll::Ready(outcome)
    }

    /// The next notification; never ready where the client cannot take any.
    pub(super) fn poll_notification(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        let Some(notifications) = &mut self.notifications else {
            return Poll::Pending;
        };
        loop {
            let notification = std::task::ready!(notifications.poll_next(cx));
            if self.wants_progress || !is_progress(&notification) {
                return Poll::Ready(notification);
            }
        }
    }

    /// The next notification that already waits.
    pub(super) fn waiting_notification(&mut self) -> Option<Notification> {
        let notifications = self.notifications.as_mut()?;
        std::iter::from_fn(|| notifications.try_next())
            .find(|notification| self.wants_progress || !is_progress(notification))
    }
}

fn is_progress(notification: &Notification) -> bool {
    notification.method.as_str() == method::NOTIFICATIONS_PROGRESS
}
