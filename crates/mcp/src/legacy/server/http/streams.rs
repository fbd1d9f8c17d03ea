use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::stream_table::{Event, EventId, FirstEvent, StreamTable};
use crate::legacy::server::client_request::{Message, MessageKind, MessageSink};
use crate::mutex::Mutex;
use crate::server::CallerBudget;
use crate::service::BoxFuture;

/// Streams of one session: calls append to them, and connections come and go reading them.
#[derive(Debug)]
pub(super) struct Streams {
    table: Mutex<StreamTable>,
    unsent: CallerBudget,
    /// Notified whenever events have been read.
    room: Notify,
}

/// Retention of the events of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    /// The last events are kept, so that a client can resume the stream.
    Events,
    /// No events are kept: the client cannot resume the stream.
    Nothing,
}

impl Streams {
    /// Streams that keep up to `replay_bytes` of events.
    pub(super) fn new(replay_bytes: usize, unsent: CallerBudget) -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::new(StreamTable::new(replay_bytes, unsent.clone())),
            unsent,
            room: Notify::new(),
        })
    }

    /// Sink for the messages of one request; without `carries_questions` for a client that accepts
    /// only the response.
    pub(super) fn sink(
        self: &Arc<Self>,
        keep: Retention,
        carries_questions: bool,
    ) -> Arc<RequestSink> {
        Arc::new(RequestSink {
            streams: self.clone(),
            stream: self.table.lock().reserve(),
            keep,
            first_reader: OnceLock::new(),
            carries_questions,
        })
    }

    /// Opens a general stream. Messages that belong to no request go there from now on.
    pub(super) fn open_general(self: &Arc<Self>, keep: Retention) -> StreamReader {
        let opened = self.table.lock().open_general(keep);
        self.reader(opened)
    }

    /// Resumes a stream after the event `id`; its present reader, if any, is cut off.
    ///
    /// `None` if there is no such event, or if some of those after it are no longer kept.
    pub(super) fn resume(self: &Arc<Self>, id: EventId) -> Option<StreamReader> {
        let turn = self.table.lock().resume(id)?;
        Some(self.reader((id.stream, turn)))
    }

    /// Sink for messages that belong to no request.
    pub(super) fn general(self: &Arc<Self>) -> Arc<dyn MessageSink> {
        Arc::new(GeneralSink(self.clone()))
    }

    pub(super) fn are_read(&self) -> bool {
        self.table.lock().are_read()
    }

    /// Time since which no general stream is read; `None` while one is, or if there never was one.
    pub(super) fn unread_since(&self) -> Option<Instant> {
        self.table.lock().unread_since()
    }

    pub(super) fn end_general(&self) {
        self.table.lock().end_general();
    }

    /// Ends every stream at once.
    pub(super) fn close(&self) {
        self.table.lock().close();
        self.room.notify_waiters();
    }

    fn reader(self: &Arc<Self>, (stream, turn): (u64, u64)) -> StreamReader {
        StreamReader {
            streams: self.clone(),
            stream,
            turn,
        }
    }

    /// Waits until `has_room` is true. Dropping the future changes nothing.
    pub(super) async fn wait_for_room(&self, has_room: impl Fn(&StreamTable) -> bool) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the table is read, so that no wake-up is missed.
            room.as_mut().enable();
            if has_room(&self.table.lock()) {
                return;
            }
            room.await;
        }
    }
}

/// Sink of the general stream that is read at the moment.
struct GeneralSink(Arc<Streams>);

impl MessageSink for GeneralSink {
    fn push(&self, message: Message) {
        self.0.table.lock().push_general(message);
    }

    fn has_room(&self) -> bool {
        self.0.table.lock().has_general_room()
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.wait_for_room(StreamTable::has_general_room))
    }

    fn unsent(&self) -> Option<&CallerBudget> {
        Some(&self.0.unsent)
    }
}

/// Reader of a stream. Dropping it leaves the stream.
#[derive(Debug)]
pub(super) struct StreamReader {
    streams: Arc<Streams>,
    /// Number of the stream in its session.
    pub(super) stream: u64,
    turn: u64,
}

/// Sink for the messages of one request, on a stream of their own.
///
/// The stream is opened by its first message or by its reader: a call that ends at once needs none.
/// It ends with the response, or when the sink is dropped without one.
#[derive(Debug)]
pub(super) struct RequestSink {
    streams: Arc<Streams>,
    stream: u64,
    keep: Retention,
    /// Number of the first reader, once the stream is open.
    first_reader: OnceLock<u64>,
    carries_questions: bool,
}

impl StreamReader {
    pub(super) fn is_general(&self) -> bool {
        self.streams.table.lock().is_general(self.stream)
    }

    /// Records that the client knows an id of this stream.
    pub(super) fn name(&self) {
        self.streams.table.lock().name(self.stream);
    }

    pub(super) fn poll_first(&self, cx: &mut Context<'_>) -> Poll<FirstEvent> {
        self.streams.table.lock().poll_first(self.stream, cx)
    }

    /// The next events, or `None` after the last one or when another reader has taken over.
    pub(super) fn poll_read(&self, cx: &mut Context<'_>) -> Poll<Option<Vec<Event>>> {
        let mut table = self.streams.table.lock();
        let polled = table.poll_read(self.stream, self.turn, cx);
        // Released first, because the senders that are woken lock the table at once.
        drop(table);
        if polled.is_ready() {
            self.streams.room.notify_waiters();
        }
        polled
    }

    /// The response; other messages are skipped. `None` if the stream ends without one.
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
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.streams.table.lock().leave(self.stream, self.turn);
        self.streams.room.notify_waiters();
    }
}

impl RequestSink {
    /// The first reader of the stream, whose messages are kept until it reads them.
    pub(super) fn reader(&self) -> StreamReader {
        self.streams.reader((self.stream, self.open()))
    }

    /// True if the stream was opened, by a message or by a reader.
    pub(super) fn is_open(&self) -> bool {
        self.first_reader.get().is_some()
    }

    fn open(&self) -> u64 {
        let open = || self.streams.table.lock().open(self.stream, self.keep);
        *self.first_reader.get_or_init(open)
    }
}

impl MessageSink for RequestSink {
    fn push(&self, message: Message) {
        let is_last = message.kind == MessageKind::Response;
        // Before the lock, which opening takes itself.
        self.open();
        let mut table = self.streams.table.lock();
        table.push(self.stream, message);
        if is_last {
            table.finish(self.stream);
        }
    }

    fn has_room(&self) -> bool {
        !self.is_open() || self.streams.table.lock().has_room(self.stream)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        let stream = self.stream;
        Box::pin(
            self.streams
                .wait_for_room(move |table| table.has_room(stream)),
        )
    }

    fn unsent(&self) -> Option<&CallerBudget> {
        Some(&self.streams.unsent)
    }

    fn carries_questions(&self) -> bool {
        self.carries_questions
    }
}

impl Drop for RequestSink {
    fn drop(&mut self) {
        if self.is_open() {
            self.streams.table.lock().finish(self.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use callgate_wire::{Id, RawJson};
    use futures_util::FutureExt;

    use super::*;
    use crate::legacy::server::client_request::MessageKind;
    use crate::server::UnsentBudget;
    use crate::service::Caller;

    fn streams(replay_bytes: usize) -> Arc<Streams> {
        let budget = UnsentBudget::new(usize::MAX, usize::MAX);
        Streams::new(replay_bytes, CallerBudget::new(&budget, &Caller::Anonymous))
    }

    fn open(streams: &Arc<Streams>, keep: Retention) -> (StreamReader, Arc<RequestSink>) {
        let sink = streams.sink(keep, true);
        (sink.reader(), sink)
    }

    fn message(kind: MessageKind, json: &str) -> Message {
        Message {
            kind,
            json: Bytes::copy_from_slice(json.as_bytes()),
        }
    }

    fn note(json: &str) -> Message {
        message(MessageKind::Notification, json)
    }

    fn response(json: &str) -> Message {
        message(MessageKind::Response, json)
    }

    /// The events that can be read now, and true if the stream is over.
    fn read(source: &StreamReader) -> (Vec<(u64, String)>, bool) {
        let mut seen = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match source.poll_read(&mut cx) {
                Poll::Ready(Some(events)) => seen.extend(events.into_iter().map(|event| {
                    let json = event.message.json.to_vec();
                    (event.number, String::from_utf8(json).unwrap())
                })),
                Poll::Ready(None) => return (seen, true),
                Poll::Pending => return (seen, false),
            }
        }
    }

    fn events(events: &[(u64, &str)]) -> Vec<(u64, String)> {
        let owned = |(number, json): &(u64, &str)| (*number, (*json).to_owned());
        events.iter().map(owned).collect()
    }

    fn id(stream: u64, number: u64) -> EventId {
        EventId { stream, number }
    }

    #[test]
    fn a_stream_ends_with_its_response_or_with_its_outlet() {
        let streams = streams(1000);
        let (source, sink) = open(&streams, Retention::Events);
        sink.push(note("a"));
        assert_eq!(read(&source), (events(&[(1, "a")]), false));
        sink.push(response("b"));
        sink.push(note("c"));
        assert_eq!(read(&source), (events(&[(2, "b")]), true));

        let (source, sink) = open(&streams, Retention::Events);
        drop(sink);
        assert_eq!(read(&source), (vec![], true));
    }

    #[test]
    fn a_stream_is_opened_by_its_first_message_or_its_reader() {
        let streams = streams(1000);
        let sink = streams.sink(Retention::Events, true);
        assert!(sink.has_room() && sink.room().now_or_never().is_some());
        assert!(!sink.is_open() && streams.table.lock().is_empty());
        sink.push(note("a"));
        assert!(sink.is_open());
        assert_eq!(read(&sink.reader()), (events(&[(1, "a")]), false));

        let sink = streams.sink(Retention::Events, true);
        let source = sink.reader();
        sink.push(note("b"));
        assert_eq!(read(&source), (events(&[(1, "b")]), false));
    }

    #[test]
    fn a_response_that_comes_first_is_the_whole_stream() {
        let streams = streams(1000);
        let (source, sink) = open(&streams, Retention::Events);
        let front =
            |source: &StreamReader| source.poll_first(&mut Context::from_waker(Waker::noop()));
        assert_eq!(front(&source), Poll::Pending);
        sink.push(response("a"));
        let expect = FirstEvent::Response(Bytes::from_static(b"a"));
        assert_eq!(front(&source), Poll::Ready(expect));
        assert_eq!(front(&source), Poll::Ready(FirstEvent::End));
        assert!(streams.resume(id(0, 0)).is_none());

        let (source, sink) = open(&streams, Retention::Events);
        sink.push(note("a"));
        assert_eq!(front(&source), Poll::Ready(FirstEvent::Other));
    }

    #[test]
    fn nothing_is_kept_for_a_client_that_cannot_come_back() {
        let streams = streams(1000);
        for keep in [Retention::Events, Retention::Nothing] {
            let (source, sink) = open(&streams, keep);
            let stream = source.stream;
            drop(source);
            sink.push(note("a"));
            sink.push(response("b"));
            assert!(streams.resume(id(stream, 0)).is_none(), "{keep:?}");
            assert!(streams.table.lock().is_empty(), "{keep:?}");
        }
    }

    #[test]
    fn a_stream_that_is_finished_is_forgotten_with_its_last_event() {
        let streams = streams(2);
        let sinks: Vec<_> = (0..3)
            .map(|_| {
                let (source, sink) = open(&streams, Retention::Events);
                source.name();
                sink
            })
            .collect();
        for sink in &sinks {
            sink.push(response("x"));
        }
        assert!(streams.resume(id(0, 0)).is_none());
        for stream in [1, 2] {
            let again = streams.resume(id(stream, 0)).unwrap();
            assert_eq!(read(&again), (events(&[(1, "x")]), true));
        }
    }

    #[test]
    fn an_event_that_is_too_large_to_keep_leaves_a_gap() {
        let streams = streams(5);
        let (source, sink) = open(&streams, Retention::Events);
        for json in ["a", "123456", "b"] {
            sink.push(note(json));
        }
        assert_eq!(read(&source).0.len(), 3);
        drop(source);
        assert!(streams.resume(id(0, 0)).is_none());
        assert!(streams.resume(id(0, 1)).is_none());
        let again = streams.resume(id(0, 2)).unwrap();
        assert_eq!(read(&again), (events(&[(3, "b")]), false));
    }

    #[test]
    fn a_general_message_goes_to_the_newest_reader_alone() {
        let streams = streams(1000);
        let general = streams.general();
        general.push(note("nobody"));
        let first = streams.open_general(Retention::Events);
        let second = streams.open_general(Retention::Events);
        general.push(note("a"));
        assert_eq!(read(&first), (vec![], false));
        assert_eq!(read(&second), (events(&[(1, "a")]), false));
        drop(second);
        general.push(note("b"));
        assert_eq!(read(&first), (events(&[(1, "b")]), false));
        drop(first);
        assert!(streams.unread_since().is_some());

        // Without a reader, the message is kept for the newest stream, which may be resumed.
        general.push(note("c"));
        let again = streams.resume(id(1, 1)).unwrap();
        assert_eq!(streams.unread_since(), None);
        assert_eq!(read(&again), (events(&[(2, "c")]), false));
        streams.end_general();
        assert_eq!(read(&again), (vec![], true));
    }

    #[test]
    fn there_are_so_many_general_streams_and_no_more() {
        let streams = streams(1000);
        let sources: Vec<_> = (0..5)
            .map(|_| streams.open_general(Retention::Events))
            .collect();
        let over: Vec<_> = sources.iter().map(|source| read(source).1).collect();
        assert_eq!(over, [true, false, false, false, false]);
    }

    #[test]
    fn there_is_room_until_much_is_unread_and_always_without_a_reader() {
        let streams = streams(1000);
        let (source, sink) = open(&streams, Retention::Events);
        let large = "x".repeat(40_000);
        sink.push(note(&large));
        assert!(sink.room().now_or_never().is_some());
        sink.push(note(&large));
        assert!(sink.room().now_or_never().is_none());
        assert_eq!(read(&source).0.len(), 2);
        assert!(sink.room().now_or_never().is_some());
        sink.push(note(&large));
        sink.push(note(&large));
        drop(source);
        assert!(sink.room().now_or_never().is_some());
    }

    #[test]
    fn a_response_without_room_becomes_an_error() {
        let budget = UnsentBudget::new(usize::MAX, 1);
        let share = CallerBudget::new(&budget, &Caller::Anonymous);
        let (source, sink) = open(&Streams::new(0, share), Retention::Nothing);
        let id = Id::number(1);
        let large = Message::result(&id, &RawJson::string(&"x".repeat(10_000)));
        let admit = || Message::admitted(large.clone(), &id, &*sink);
        let admitted = admit();
        assert_eq!(admitted, large);
        let refused = String::from_utf8(admit().json.to_vec()).unwrap();
        assert_eq!(
            refused,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":42900,"message":"the answer is dropped, because too many answers are unread; read them, then try again"}}"#
        );
        sink.push(admitted);
        drop((source, sink));
        assert!(budget.has_room(&Caller::Anonymous));
    }

    #[test]
    fn closing_ends_every_stream() {
        let streams = streams(1000);
        let (one, sink) = open(&streams, Retention::Events);
        let general = streams.open_general(Retention::Events);
        sink.push(note("a"));
        streams.close();
        assert_eq!(read(&one), (vec![], true));
        assert_eq!(read(&general), (vec![], true));
        let (late, _sink) = open(&streams, Retention::Events);
        assert_eq!(read(&late), (vec![], true));
    }
}
