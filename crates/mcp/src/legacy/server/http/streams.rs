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
