use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use callgate_wire::{Id, Notification, RawJson, encode, sse};
use tokio::time::{Sleep, sleep};

use super::body::{EventChunks, LARGE};
use crate::error::Error;
use crate::server::{CallerBudget, RunningCall, reply};
use crate::service::{BoxFuture, Reply};

/// Event stream of one call: its notifications in order, then its response.
///
/// Dropping the stream cancels the call.
pub(super) struct EventStream {
    running: Option<RunningCall>,
    /// Chunks to send.
    ready: VecDeque<Bytes>,
    buffer: BytesMut,
    keep_alive: Pin<Box<Sleep>>,
    interval: Duration,
    /// Resolves when a subscription has to end because the server shuts down.
    end: Option<BoxFuture<'static, ()>>,
    unsent: CallerBudget,
}

/// Size from which on a chunk is sent.
const CHUNK: usize = 16 * 1024;

impl EventStream {
    /// The stream of a call; once `end` resolves, it ends with the regular end of a subscription.
    pub(super) fn new(
        running: RunningCall,
        interval: Duration,
        end: Option<BoxFuture<'static, ()>>,
        unsent: CallerBudget,
    ) -> Self {
        Self {
            running: Some(running),
            ready: VecDeque::new(),
            buffer: BytesMut::new(),
            keep_alive: Box::pin(sleep(interval)),
            interval,
            end,
            unsent,
        }
    }

    /// Sends a notification that was taken from the call already.
    pub(super) fn push(&mut self, notification: &Notification) {
        sse::message(&mut self.buffer, |out| {
            encode::notification(out, &notification.method, &notification.params);
        });
    }

    /// Sends the notifications that the call sent before its outcome, then the outcome, and ends.
    pub(super) fn finish(&mut self, outcome: Result<Reply, Error>) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        while let Some(notification) = running.waiting_notification() {
            self.push(&notification);
        }
        match outcome {
            Ok(reply) => self.push_result(&running.id, &reply.into_result()),
            Err(error) => self.push_error(&running.id, &error),
        }
        self.flush();
    }

    fn push_error(&mut self, id: &Id, error: &Error) {
        sse::message(&mut self.buffer, |out| {
            reply::error_response(out, Some(id), error);
        });
    }

    fn push_result(&mut self, id: &Id, result: &RawJson) {
        if result.as_bytes().len() < LARGE {
            sse::message(&mut self.buffer, |out| encode::result(out, id, result));
            return;
        }
        let result = match self.unsent.admit(result.to_line().into_bytes()) {
            Ok(result) => result,
            Err(error) => return self.push_error(id, &error),
        };
        self.buffer.extend_from_slice(sse::MESSAGE_PREFIX);
        encode::result_prefix(&mut self.buffer, id);
        // Chunks leave before the buffer, so the prefix must be a chunk before the result is one.
        self.flush();
        self.ready.push_back(result);
        self.buffer.extend_from_slice(encode::RESULT_SUFFIX);
        self.buffer.extend_from_slice(sse::MESSAGE_SUFFIX);
    }

    /// Polls the call and takes its notifications and its outcome.
    fn advance(&mut self, cx: &mut Context<'_>) {
        let Some(running) = &mut self.running else {
            return;
        };
        // The call is polled first: its last notifications must precede its outcome.
        if let Poll::Ready(outcome) = running.poll_outcome(cx) {
            return self.finish(outcome);
        }
        // A full chunk is sent before more notifications are taken: so a fast call waits for a slow reader.
        while self.buffer.len() < CHUNK
            && let Some(running) = &mut self.running
            && let Poll::Ready(notification) = running.poll_notification(cx)
        {
            self.push(&notification);
        }
        // After the notifications, so that those sent before the shutdown precede the end.
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
            && let Some(running) = &self.running
        {
            let end = Reply::subscription_end(&running.id);
            self.finish(Ok(end));
        }
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            let chunk = self.unsent.count(self.buffer.split().freeze());
            self.ready.push_back(chunk);
        }
    }
}

impl EventChunks for EventStream {
    fn is_over(&self) -> bool {
        self.running.is_none() && self.ready.is_empty() && self.buffer.is_empty()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.advance(cx);
        self.flush();
        if let Some(chunk) = self.ready.pop_front() {
            self.keep_alive.set(sleep(self.interval));
            return Poll::Ready(Some(chunk));
        }
        if self.running.is_none() {
            return Poll::Ready(None);
        }
        if self.keep_alive.as_mut().poll(cx).is_ready() {
            self.keep_alive.set(sleep(self.interval));
            return Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)));
        }
        Poll::Pending
    }
}
