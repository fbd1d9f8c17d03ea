use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use callgate_wire::{Id, Notification, encode, method};
use futures_util::FutureExt;

use super::server::Session;
use crate::error::Error;
use crate::notifier::Notifications;
use crate::server::reply;
use crate::service::{BoxFuture, Call, PeerInfo, Reply, Service};

/// One request at the server: the call, and what it has to say until it is answered.
pub(super) struct Exchange {
    id: Id,
    peer: Arc<PeerInfo>,
    answer: BoxFuture<'static, Result<Outcome, Box<dyn Any + Send>>>,
    notifications: Notifications,
}

type Outcome = Result<Reply, Error>;

enum Event {
    Notified(Notification),
    Answered(Outcome),
}

impl Exchange {
    pub(super) fn new(service: Arc<dyn Service>, call: Call, notifications: Notifications) -> Self {
        let (id, peer) = (call.cx.id.clone(), call.cx.peer.clone());
        let answer = async move { service.call(call).await };
        Self {
            id,
            peer,
            answer: Box::pin(AssertUnwindSafe(answer).catch_unwind()),
            notifications,
        }
    }

    /// Looks at the call once and, if that is all it needs, says everything there is to say.
    ///
    /// The future is not woken for this look: if it is not done, [`Self::run`] must follow.
    pub(super) fn try_answer(&mut self, session: &Session) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(outcome) = self.poll_answer(&mut cx) else {
            return false;
        };
        while let Some(notification) = self.notifications.try_next() {
            self.notify(session, &notification);
        }
        session.push(|out| reply::response(out, &self.id, &outcome));
        true
    }

    /// Works on the call until it is answered. Dropping the future cancels it.
    pub(super) async fn run(mut self, session: Arc<Session>, number: u64) {
        loop {
            match self.next_event(&session).await {
                Event::Notified(notification) => session
                    .in_flight()
                    .speak(number, || self.notify(&session, &notification)),
                Event::Answered(outcome) => {
                    return session.in_flight().finish(number, || {
                        while let Some(notification) = self.notifications.try_next() {
                            self.notify(&session, &notification);
                        }
                        session.push(|out| reply::response(out, &self.id, &outcome));
                    });
                }
            }
        }
    }

    /// What the call has to say next.
    ///
    /// The call stands still while there is no room for what it says. So for a peer that does not
    /// read there is at most one result beyond [`Config::unsent_bytes`](super::Config) for each
    /// thread that runs calls, however many calls could end.
    async fn next_event(&mut self, session: &Session) -> Event {
        loop {
            session.room().await;
            let looked = poll_fn(|cx| match session.has_room() {
                true => self.poll_event(cx).map(Some),
                false => Poll::Ready(None),
            });
            if let Some(event) = looked.await {
                return event;
            }
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(outcome) = self.poll_answer(cx) {
            return Poll::Ready(Event::Answered(outcome));
        }
        self.notifications.poll_next(cx).map(Event::Notified)
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.answer.as_mut().poll(cx).map(|outcome| {
            outcome.unwrap_or_else(|_panic| {
                tracing::error!(id = %self.id, "a request handler panicked");
                Err(Error::internal("the request handler panicked"))
            })
        })
    }

    /// Passes a notification on. A service may report progress unasked; a peer must not see it.
    fn notify(&self, session: &Session, notification: &Notification) {
        let Notification { method, params } = notification;
        let unasked = method.as_str() == method::NOTIFICATIONS_PROGRESS
            && self.peer.progress_token().is_none();
        if !unasked {
            session.push(|out| encode::notification(out, method, params));
        }
    }
}
