use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use callgate_wire::{Id, Notification, encode};

use super::server::LineServer;
use crate::error::Error;
use crate::layer::{Panicked, poll_guarded};
use crate::notifier::Notifications;
use crate::server::reply;
use crate::service::{BoxFuture, Call, Reply, Service};

/// One request at the server: its call, its notifications and its response.
pub(super) struct ServerCall {
    id: Id,
    answer: BoxFuture<'static, Outcome>,
    notifications: Notifications,
}

type Outcome = Result<Reply, Error>;

enum Event {
    Notified(Notification),
    Answered(Outcome),
}

impl ServerCall {
    pub(super) fn new(service: Arc<dyn Service>, call: Call, notifications: Notifications) -> Self {
        Self {
            id: call.cx.id.clone(),
            answer: Box::pin(async move { service.call(call).await }),
            notifications,
        }
    }

    /// Polls the call once and, if it is done, sends its notifications and its response.
    ///
    /// The poll registers no waker: if the call is not done, [`Self::run`] must follow.
    pub(super) fn try_answer(&mut self, server: &LineServer) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(outcome) = self.poll_answer(&mut cx) else {
            return false;
        };
        while let Some(notification) = self.notifications.try_next() {
            notify(server, &notification);
        }
        server.push(|out| reply::response(out, &self.id, &outcome));
        true
    }

    /// Runs the call until it is answered. Dropping the future cancels it.
    pub(super) async fn run(mut self, server: Arc<LineServer>, number: u64) {
        loop {
            match self.next_event(&server).await {
                Event::Notified(notification) => server
                    .in_flight()
                    .send(number, || notify(&server, &notification)),
                Event::Answered(outcome) => {
                    return server.in_flight().finish(number, || {
                        while let Some(notification) = self.notifications.try_next() {
                            notify(&server, &notification);
                        }
                        server.push(|out| reply::response(out, &self.id, &outcome));
                    });
                }
            }
        }
    }

    /// The next notification of the call, or its outcome.
    ///
    /// The call is not polled while there is no room for its messages. So for a peer that does not
    /// read there is at most one result beyond [`Config::unsent_bytes`](super::Config) for each
    /// thread that runs calls, however many calls could end.
    async fn next_event(&mut self, server: &LineServer) -> Event {
        loop {
            server.room().await;
            let looked = poll_fn(|cx| match server.has_room() {
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
        poll_guarded(&mut self.answer, cx).map(|outcome| {
            outcome.unwrap_or_else(|Panicked| {
                tracing::error!(id = %self.id, "a request handler panicked");
                Err(Error::internal("the request handler panicked"))
            })
        })
    }
}

fn notify(server: &LineServer, notification: &Notification) {
    let Notification { method, params } = notification;
    server.push(|out| encode::notification(out, method, params));
}
