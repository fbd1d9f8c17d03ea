use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use callgate_wire::sse;
use tokio::time::{Sleep, sleep};

use super::event_id::EventId;
use super::source::Source;
use super::table::Event;
use crate::service::BoxFuture;

/// A stream on its way to one connection. Dropping it leaves the stream.
pub(crate) struct Events {
    source: Source,
    ids: Ids,
    /// Chunks that are ready to go.
    ready: VecDeque<Bytes>,
    keep_alive: Pin<Box<Sleep>>,
    interval: Duration,
    /// Resolves when the connection has to be let go because the server ends.
    end: Option<BoxFuture<'static, ()>>,
    is_over: bool,
    /// What ends with the connection.
    _guard: Option<Guard>,
}

/// Whether events have ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// A client may name one to read on.
    Given,
    /// Nobody can come back.
    None,
}

/// Does something when it is dropped.
pub(super) struct Guard(Option<Box<dyn FnOnce() + Send>>);

/// Messages of at least this many bytes are sent as they are, smaller ones copied into a chunk.
const LARGE: usize = 8 * 1024;

impl Events {
    pub(super) fn new(source: Source, ids: Ids, interval: Duration) -> Self {
        Self {
            source,
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
    pub(super) fn guarded(mut self, guard: Guard) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Begins with an id, so that the client can come back whatever happens, and says when.
    pub(super) fn prime(&mut self, retry: Duration) {
        let id = self.id(0);
        let retry = retry.as_millis();
        self.source.name();
        self.send(format!("id: {id}\nretry: {retry}\ndata: \n\n"));
    }

    /// Begins with where the client has to send its messages.
    pub(super) fn announce(&mut self, uri: &str) {
        self.send(format!("event: endpoint\ndata: {uri}\n\n"));
    }

    fn send(&mut self, event: String) {
        self.ready.push_back(Bytes::from(event));
    }

    /// Whether everything has been sent.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over && self.ready.is_empty()
    }

    /// The next chunk, or `None` after the last one.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
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
            // Polled once, so that it wakes us.
            let _ = self.keep_alive.as_mut().poll(cx);
            return Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)));
        }
        Poll::Pending
    }

    fn read(&mut self, cx: &mut Context<'_>) {
        match self.source.poll_read(cx) {
            Poll::Ready(Some(events)) => self.write(&events),
            Poll::Ready(None) => self.is_over = true,
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
            if self.ids == Ids::Given {
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
            stream: self.source.stream(),
            number,
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Guard {
    pub(super) fn new(then: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(then)))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}
