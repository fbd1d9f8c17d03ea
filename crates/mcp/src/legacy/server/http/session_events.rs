use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use callgate_wire::sse;
use tokio::time::{Sleep, sleep};

use super::stream_table::{Event, EventId};
use super::streams::StreamReader;
use crate::service::BoxFuture;
use crate::transport::http::server::{EventChunks, LARGE};

/// Stream of a session on one connection, as server-sent events. Dropping it leaves the stream.
pub(super) struct SessionEvents {
    reader: StreamReader,
    ids: EventIds,
    /// Chunks to send.
    ready: VecDeque<Bytes>,
    keep_alive: Pin<Box<Sleep>>,
    interval: Duration,
    /// Resolves when the stream has to end because the server shuts down.
    end: Option<BoxFuture<'static, ()>>,
    is_over: bool,
    /// Action at the end of the connection.
    _guard: Option<OnDrop>,
}

/// Presence of ids on events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventIds {
    /// A client may resume after an event.
    Given,
    /// A client cannot resume the stream.
    None,
}

/// Runs a function when it is dropped.
pub(super) struct OnDrop(Option<Box<dyn FnOnce() + Send>>);

impl SessionEvents {
    pub(super) fn new(reader: StreamReader, ids: EventIds, interval: Duration) -> Self {
        Self {
            reader,
            ids,
            ready: VecDeque::new(),
            keep_alive: Box::pin(sleep(interval)),
            interval,
            end: None,
            is_over: false,
            _guard: None,
        }
    }

    /// The same stream, which ends when `end` resolves.
    pub(super) fn until(mut self, end: BoxFuture<'static, ()>) -> Self {
        self.end = Some(end);
        self
    }

    /// The same stream; `guard` is dropped with it.
    pub(super) fn guarded(mut self, guard: OnDrop) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Sends an id first, so that the client can reconnect, and the time to wait before that.
    pub(super) fn prime(&mut self, retry: Duration) {
        let id = self.id(0);
        let retry = retry.as_millis();
        // From here on the client can resume, so what it misses is kept.
        self.reader.name();
        self.send(format!("id: {id}\nretry: {retry}\ndata: \n\n"));
    }

    /// Sends the URI first that the client has to send its messages to.
    pub(super) fn announce(&mut self, uri: &str) {
        self.send(format!("event: endpoint\ndata: {uri}\n\n"));
    }

    fn send(&mut self, event: String) {
        self.ready.push_back(Bytes::from(event));
    }

    fn read(&mut self, cx: &mut Context<'_>) {
        match self.reader.poll_read(cx) {
            Poll::Ready(Some(events)) => self.write(&events),
            Poll::Ready(None) => self.is_over = true,
            // Only when there is nothing to read, so that the events before the shutdown are delivered.
            Poll::Pending => {
                if let Some(end) = &mut self.end {
                    self.is_over = end.as_mut().poll(cx).is_ready();
                }
            }
        }
    }

    fn write(&mut self, events: &[Event]) {
        let mut buffer = BytesMut::new();
        for event in events {
            let json = &event.message.json;
            if self.ids == EventIds::Given {
                let id = self.id(event.number);
                buffer.extend_from_slice(format!("id: {id}\n").as_bytes());
            }
            buffer.extend_from_slice(sse::MESSAGE_PREFIX);
            if json.len() < LARGE {
                buffer.extend_from_slice(json);
            } else {
                self.ready.push_back(buffer.split().freeze());
                self.ready.push_back(json.clone());
            }
            buffer.extend_from_slice(sse::MESSAGE_SUFFIX);
        }
        self.ready.push_back(buffer.freeze());
    }

    fn id(&self, number: u64) -> EventId {
        EventId {
            stream: self.reader.stream,
            number,
        }
    }
}

impl EventChunks for SessionEvents {
    fn is_over(&self) -> bool {
        self.is_over && self.ready.is_empty()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ready.is_empty() && !self.is_over {
            self.read(cx);
        }
        if let Some(chunk) = self.ready.pop_front() {
            self.keep_alive.set(sleep(self.interval));
            return Poll::Ready(Some(chunk));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.keep_alive.as_mut().poll(cx).is_ready() {
            self.keep_alive.set(sleep(self.interval));
            // Polled once, so that the timer wakes this task.
            let _ = self.keep_alive.as_mut().poll(cx);
            return Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)));
        }
        Poll::Pending
    }
}

impl fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEvents")
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

impl OnDrop {
    pub(super) fn new(then: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(then)))
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}
