use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::event_id::EventId;
use super::source::Source;
use super::table::{Event, Front, Table};
use crate::legacy::server::{Message, Outlet};
use crate::service::BoxFuture;

/// The streams of one session: calls append to them, connections come and go reading them.
#[derive(Debug)]
pub(super) struct Streams {
    table: Mutex<Table>,
    /// Told whenever something has been read.
    room: Notify,
}

/// Whether a stream can be read on after its connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Its last events are kept.
    Events,
    /// Nobody can come back to it.
    Nothing,
}

impl Streams {
    /// Streams that keep `replay_bytes` of what was sent.
    pub(super) fn new(replay_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::new(Table::new(replay_bytes)),
            room: Notify::new(),
        })
    }

    /// Opens a stream for the messages of one request.
    pub(super) fn open(self: &Arc<Self>, keep: Keep) -> Source {
        let (stream, turn) = self.table().open(keep);
        Source::new(self.clone(), stream, turn)
    }

    /// Opens a stream for messages that belong to no request. From now on they go there.
    pub(super) fn open_general(self: &Arc<Self>, keep: Keep) -> Source {
        let (stream, turn) = self.table().open_general(keep);
        Source::new(self.clone(), stream, turn)
    }

    /// Reads on after the event `id`, instead of whoever reads that stream now.
    ///
    /// There is no such event, or some that came after it are no longer kept.
    pub(super) fn resume(self: &Arc<Self>, id: EventId) -> Option<Source> {
        let turn = self.table().resume(id)?;
        Some(Source::new(self.clone(), id.stream, turn))
    }

    /// Where messages go that belong to no request.
    pub(super) fn general(self: &Arc<Self>) -> Arc<dyn Outlet> {
        Arc::new(General(self.clone()))
    }

    pub(super) fn is_general(&self, stream: u64) -> bool {
        self.table().is_general(stream)
    }

    /// Whether anybody reads any stream.
    pub(super) fn are_read(&self) -> bool {
        self.table().are_read()
    }

    /// Since when nobody reads the messages that belong to no request; `None` while somebody does
    /// or where nobody ever did.
    pub(super) fn unheard_since(&self) -> Option<Instant> {
        self.table().unheard_since()
    }

    /// Ends the streams of messages that belong to no request.
    pub(super) fn end_general(&self) {
        self.table().end_general();
    }

    /// Ends every stream at once.
    pub(super) fn close(&self) {
        self.table().close();
        self.room.notify_waiters();
    }

    pub(super) fn push(&self, stream: u64, message: Message) {
        self.table().push(stream, message);
    }

    pub(super) fn finish(&self, stream: u64) {
        self.table().finish(stream);
    }

    /// Notes that the client can name the stream.
    pub(super) fn name(&self, stream: u64) {
        self.table().name(stream);
    }

    pub(super) fn leave(&self, stream: u64, turn: u64) {
        self.table().leave(stream, turn);
        self.room.notify_waiters();
    }

    pub(super) fn poll_front(&self, stream: u64, cx: &mut Context<'_>) -> Poll<Front> {
        self.table().poll_front(stream, cx)
    }

    pub(super) fn poll_read(
        &self,
        stream: u64,
        turn: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Vec<Event>>> {
        let polled = self.table().poll_read(stream, turn, cx);
        if polled.is_ready() {
            self.room.notify_waiters();
        }
        polled
    }

    /// Waits until `has_room` says so. Dropping the future changes nothing.
    pub(super) async fn wait_for_room(&self, has_room: impl Fn(&Table) -> bool) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the look at the table, so that no wake-up is missed.
            room.as_mut().enable();
            if has_room(&self.table()) {
                return;
            }
            room.await;
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way to whichever general stream is read.
struct General(Arc<Streams>);

impl Outlet for General {
    fn push(&self, message: Message) {
        self.0.table().push_general(message);
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.wait_for_room(Table::has_general_room))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use futures_util::FutureExt;

    use super::*;
    use crate::legacy::server::outlet::MessageKind;

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

    /// What can be read now: the events, and whether the stream is over.
    fn read(source: &Source) -> (Vec<(u64, String)>, bool) {
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
        let streams = Streams::new(1000);
        let source = streams.open(Keep::Events);
        let outlet = source.for_request();
        outlet.push(note("a"));
        assert_eq!(read(&source), (events(&[(1, "a")]), false));
        outlet.push(response("b"));
        outlet.push(note("c"));
        assert_eq!(read(&source), (events(&[(2, "b")]), true));

        let source = streams.open(Keep::Events);
        drop(source.for_request());
        assert_eq!(read(&source), (vec![], true));
    }

    #[test]
    fn a_response_that_comes_first_is_the_whole_stream() {
        let streams = Streams::new(1000);
        let source = streams.open(Keep::Events);
        let front = |source: &Source| source.poll_front(&mut Context::from_waker(Waker::noop()));
        assert_eq!(front(&source), Poll::Pending);
        source.for_request().push(response("a"));
        let expect = Front::Response(Bytes::from_static(b"a"));
        assert_eq!(front(&source), Poll::Ready(expect));
        assert_eq!(front(&source), Poll::Ready(Front::End));
        assert!(streams.resume(id(0, 0)).is_none());

        let source = streams.open(Keep::Events);
        source.for_request().push(note("a"));
        assert_eq!(front(&source), Poll::Ready(Front::Other));
    }

    #[test]
    fn nothing_is_kept_for_a_client_that_cannot_come_back() {
        let streams = Streams::new(1000);
        for keep in [Keep::Events, Keep::Nothing] {
            let source = streams.open(keep);
            let outlet = source.for_request();
            let stream = source.stream();
            drop(source);
            outlet.push(note("a"));
            outlet.push(response("b"));
            assert!(streams.resume(id(stream, 0)).is_none(), "{keep:?}");
            assert!(streams.table().is_empty(), "{keep:?}");
        }
    }

    #[test]
    fn a_stream_that_is_finished_is_forgotten_with_its_last_event() {
        let streams = Streams::new(2);
        let outlets: Vec<_> = (0..3)
            .map(|_| {
                let source = streams.open(Keep::Events);
                source.name();
                source.for_request()
            })
            .collect();
        for outlet in &outlets {
            outlet.push(response("x"));
        }
        assert!(streams.resume(id(0, 0)).is_none());
        for stream in [1, 2] {
            let again = streams.resume(id(stream, 0)).unwrap();
            assert_eq!(read(&again), (events(&[(1, "x")]), true));
        }
    }

    #[test]
    fn an_event_that_is_too_large_to_keep_leaves_a_gap() {
        let streams = Streams::new(5);
        let source = streams.open(Keep::Events);
        let outlet = source.for_request();
        for json in ["a", "123456", "b"] {
            outlet.push(note(json));
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
        let streams = Streams::new(1000);
        let general = streams.general();
        general.push(note("nobody"));
        let first = streams.open_general(Keep::Events);
        let second = streams.open_general(Keep::Events);
        general.push(note("a"));
        assert_eq!(read(&first), (vec![], false));
        assert_eq!(read(&second), (events(&[(1, "a")]), false));
        drop(second);
        general.push(note("b"));
        assert_eq!(read(&first), (events(&[(1, "b")]), false));
        drop(first);
        assert!(streams.unheard_since().is_some());

        // Nobody reads: it is kept for the newest one, who may come back.
        general.push(note("c"));
        let again = streams.resume(id(1, 1)).unwrap();
        assert_eq!(streams.unheard_since(), None);
        assert_eq!(read(&again), (events(&[(2, "c")]), false));
        streams.end_general();
        assert_eq!(read(&again), (vec![], true));
    }

    #[test]
    fn there_are_so_many_general_streams_and_no_more() {
        let streams = Streams::new(1000);
        let sources: Vec<_> = (0..5).map(|_| streams.open_general(Keep::Events)).collect();
        let over: Vec<_> = sources.iter().map(|source| read(source).1).collect();
        assert_eq!(over, [true, false, false, false, false]);
    }

    #[test]
    fn there_is_room_until_much_is_unread_and_always_when_nobody_reads() {
        let streams = Streams::new(1000);
        let source = streams.open(Keep::Events);
        let outlet = source.for_request();
        let large = "x".repeat(40_000);
        outlet.push(note(&large));
        assert!(outlet.room().now_or_never().is_some());
        outlet.push(note(&large));
        assert!(outlet.room().now_or_never().is_none());
        assert_eq!(read(&source).0.len(), 2);
        assert!(outlet.room().now_or_never().is_some());
        outlet.push(note(&large));
        outlet.push(note(&large));
        drop(source);
        assert!(outlet.room().now_or_never().is_some());
    }

    #[test]
    fn closing_ends_every_stream() {
        let streams = Streams::new(1000);
        let (one, general) = (
            streams.open(Keep::Events),
            streams.open_general(Keep::Events),
        );
        one.for_request().push(note("a"));
        streams.close();
        assert_eq!(read(&one), (vec![], true));
        assert_eq!(read(&general), (vec![], true));
        assert_eq!(read(&streams.open(Keep::Events)), (vec![], true));
    }
}
