use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, BytesMut};
use futures_util::task::AtomicWaker;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::mutex::Mutex;

/// Queue of outgoing lines: many tasks append whole lines, one [`Sender`] writes them.
pub(super) struct Outbox {
    room_for: usize,
    state: Mutex<OutboxState>,
    sender: AtomicWaker,
    room: Notify,
}

#[derive(Default)]
struct OutboxState {
    lines: BytesMut,
    /// Bytes that the sender has taken and not written yet.
    sending: usize,
    written: u64,
    phase: OutboxPhase,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum OutboxPhase {
    #[default]
    Open,
    /// No more lines are taken, and the stream ends after the queued ones.
    Finishing,
    Closed,
}

/// The outbox takes no more lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// Writing end of an [`Outbox`].
pub(super) struct Sender<W> {
    sink: Option<W>,
    lines: BytesMut,
    sent: usize,
}

/// Largest buffer that is kept for the next lines; long lines make it larger.
const LARGEST_KEPT: usize = 256 * 1024;

impl Outbox {
    /// An outbox that has room until `room_for` bytes are unsent.
    pub(super) fn new(room_for: usize) -> Self {
        Self {
            room_for,
            state: Mutex::default(),
            sender: AtomicWaker::new(),
            room: Notify::new(),
        }
    }

    /// Appends the line that `write` writes, even if there is no room.
    ///
    /// Returns the number of written bytes at which the whole line has been written.
    pub(super) fn push(&self, write: impl FnOnce(&mut BytesMut)) -> Result<u64, Closed> {
        let mut state = self.state.lock();
        if state.phase != OutboxPhase::Open {
            return Err(Closed);
        }
        write(&mut state.lines);
        let end = state.written + state.unsent() as u64;
        state.lines.put_u8(b'\n');
        drop(state);
        self.sender.wake();
        Ok(end)
    }

    /// Says that the sender is about to check the queue, so that a push need not wake it.
    pub(super) fn sender_is_awake(&self) {
        self.sender.take();
    }

    /// True if another line should be appended now.
    pub(super) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.phase != OutboxPhase::Open || state.unsent() < self.room_for
    }

    /// Waits until there is room or the outbox is closed. Dropping the future is safe.
    pub(super) async fn room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the state is checked, so that no wake-up is missed.
            room.as_mut().enable();
            if self.has_room() {
                return;
            }
            room.await;
        }
    }

    /// Takes no more lines; the sender ends the stream after the queued ones.
    pub(super) fn finish(&self) {
        self.enter(OutboxPhase::Finishing);
    }

    /// Takes no more lines and drops the queued ones.
    pub(super) fn close(&self) {
        self.enter(OutboxPhase::Closed);
    }

    pub(super) fn written(&self) -> u64 {
        self.state.lock().written
    }

    fn enter(&self, phase: OutboxPhase) {
        let mut state = self.state.lock();
        if state.phase != OutboxPhase::Closed {
            state.phase = phase;
        }
        if phase == OutboxPhase::Closed {
            state.lines = BytesMut::new();
        }
        drop(state);
        self.sender.wake();
        self.room.notify_waiters();
    }

    /// Trades an empty buffer for the waiting lines, if there are any.
    fn take(&self, empty: &mut BytesMut, cx: &mut Context<'_>) -> Taken {
        let mut state = self.state.lock();
        if !state.lines.is_empty() {
            std::mem::swap(&mut state.lines, empty);
            state.sending = empty.len();
            return Taken::Lines;
        }
        // Registered under the lock: a line that is pushed next wakes the sender.
        self.sender.register(cx.waker());
        match state.phase {
            OutboxPhase::Open => Taken::Nothing,
            OutboxPhase::Finishing | OutboxPhase::Closed => Taken::End,
        }
    }

    fn wrote(&self, bytes: usize) {
        let mut state = self.state.lock();
        let was_full = state.unsent() >= self.room_for;
        state.sending -= bytes;
        state.written += bytes as u64;
        let made_room = was_full && state.unsent() < self.room_for;
        drop(state);
        if made_room {
            self.room.notify_waiters();
        }
    }
}

impl OutboxState {
    fn unsent(&self) -> usize {
        self.lines.len() + self.sending
    }
}

enum Taken {
    Lines,
    Nothing,
    End,
}

impl<W: AsyncWrite + Unpin> Sender<W> {
    pub(super) fn new(sink: W) -> Self {
        Self {
            sink: Some(sink),
            lines: BytesMut::new(),
            sent: 0,
        }
    }

    /// Writes all queued lines, as many as possible in one write, and then flushes.
    pub(super) fn poll_flush(
        &mut self,
        outbox: &Outbox,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let Some(sink) = self.sink.as_mut() else {
                return Poll::Ready(Ok(()));
            };
            let unsent = self.lines.get(self.sent..).unwrap_or_default();
            if !unsent.is_empty() {
                let bytes = ready!(Pin::new(sink).poll_write(cx, unsent))?;
                if bytes == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.sent += bytes;
                outbox.wrote(bytes);
                continue;
            }
            self.sent = 0;
            recycle(&mut self.lines);
            match outbox.take(&mut self.lines, cx) {
                Taken::Lines => {}
                Taken::Nothing => return Pin::new(sink).poll_flush(cx),
                Taken::End => {
                    ready!(Pin::new(sink).poll_shutdown(cx))?;
                    self.sink = None;
                }
            }
        }
    }
}

/// Empties a buffer and keeps its memory, up to a limit.
fn recycle(lines: &mut BytesMut) {
    if lines.capacity() > LARGEST_KEPT {
        *lines = BytesMut::new();
    }
    lines.clear();
}
