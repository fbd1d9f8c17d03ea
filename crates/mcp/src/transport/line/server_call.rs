//! One request at the server, from its first poll to its response.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use callgate_wire::{Notification, encode};

use super::server::LineServer;
use crate::error::Error;
use crate::server::{CallEvent, RunningCall, reply};
use crate::service::Reply;

/// Polls a call once and, if it is done, sends its notifications and its response.
///
/// The poll registers no waker: if the call is not done, [`run`] must follow.
pub(super) fn try_answer(call: &mut RunningCall, server: &LineServer) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(outcome) = call.poll_outcome(&mut cx) else {
        return false;
    };
    respond(call, &outcome, server);
    true
}

/// Runs a call until it is answered. Dropping the future cancels it.
pub(super) async fn run(mut call: RunningCall, server: Arc<LineServer>, number: u64) {
    let in_flight = &server.in_flight;
    loop {
        match next_event(&mut call, &server).await {
            CallEvent::Notification(notification) => {
                in_flight.send(number, || notify(&server, &notification));
            }
            CallEvent::Outcome(outcome) => {
                return in_flight.finish(number, || respond(&mut call, &outcome, &server));
            }
        }
    }
}

/// The next notification of the call, or its outcome.
///
/// The call is not polled while there is no room for its messages. So for a peer that does not
/// read there is at most one result beyond [`LineConfig::unsent_bytes`](super::LineConfig) for each
/// thread that runs calls, however many calls could end.
async fn next_event(call: &mut RunningCall, server: &LineServer) -> CallEvent {
    loop {
        server.room().await;
        // Another call may have taken the room since.
        let looked = poll_fn(|cx| match server.outbox.has_room() {
            true => call.poll_event(cx).map(Some),
            false => Poll::Ready(None),
        });
        if let Some(event) = looked.await {
            return event;
        }
    }
}

fn respond(call: &mut RunningCall, outcome: &Result<Reply, Error>, server: &LineServer) {
    // The notifications that the call sent before its end precede the response.
    while let Some(notification) = call.waiting_notification() {
        notify(server, &notification);
    }
    server.push(|out| reply::response(out, &call.id, outcome));
}

fn notify(server: &LineServer, notification: &Notification) {
    let Notification { method, params } = notification;
    server.push(|out| encode::notification(out, method, params));
}
