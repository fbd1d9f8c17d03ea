use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::streams::Streams;
use super::table::{Event, Front};
use crate::legacy::server::outlet::{Message, MessageKind, Outlet};
use crate::service::BoxFuture;

/// The end of a stream where it is read. Dropping it leaves the stream.
#[derive(Debug)]
pub(super) struct Source {
    streams: Arc<Streams>,
    stream: u64,
    turn: u64,
}

/// The end of a stream where the messages of one request are appended.
///
/// The stream ends with the response, or when there will be none.
#[derive(Debug)]
struct Sink {
    streams: Arc<Streams>,
    stream: u64,
    carries_questions: bool,
}

impl Source {
    pub(super) fn new(streams: Arc<Streams>, stream: u64, turn: u64) -> Self {
        Self {
            streams,
            stream,
            turn,
        }
    }

    /// The number of the stream in its session.
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// Where the messages of one request go; its response ends the stream.
    pub(super) fn for_request(&self) -> Arc<dyn Outlet> {
        self.sink(true)
    }

    /// The same, for a client that takes nothing but the response.
    pub(super) fn for_response(&self) -> Arc<dyn Outlet> {
        self.sink(false)
    }

    /// Whether the stream has messages that belong to no request.
    pub(super) fn is_general(&self) -> bool {
        self.streams.is_general(self.stream)
    }

    /// Notes that the client has been told an id of this stream.
    pub(super) fn name(&self) {
        self.streams.name(self.stream);
    }

    /// What the stream begins with.
    pub(super) fn poll_front(&self, cx: &mut Context<'_>) -> Poll<Front> {
        self.streams.poll_front(self.stream, cx)
    }

    /// The next events, or `None` after the last one or when somebody else reads on.
    pub(super) fn poll_read(&self, cx: &mut Context<'_>) -> Poll<Option<Vec<Event>>> {
        self.streams.poll_read(self.stream, self.turn, cx)
    }

    /// The response, past everything that comes before it; `None` if the stream ends without one.
    pub(super) async fn response(&self) -> Option<Bytes> {
        loop {
            let events = std::future::poll_fn(|cx| self.poll_read(cx)).await?;
            let response = events
                .into_iter()
                .find(|event| event.message.kind == MessageKind::Response);
            if let Some(response) = response {
                return Some(response.message.json);
            }
        }
    }

    fn sink(&self, carries_questions: bool) -> Arc<dyn Outlet> {
        Arc::new(Sink {
            streams: self.streams.clone(),
            stream: self.stream,
            carries_questions,
        })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.streams.leave(self.stream, self.turn);
    }
}

impl Outlet for Sink {
    fn push(&self, message: Message) {
        let is_last = message.kind == MessageKind::Response;
        self.streams.push(self.stream, message);
        if is_last {
            self.streams.finish(self.stream);
        }
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        let stream = self.stream;
        Box::pin(
            self.streams
                .wait_for_room(move |table| table.has_room(stream)),
        )
    }

    fn carries_questions(&self) -> bool {
        self.carries_questions
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.streams.finish(self.stream);
    }
}
