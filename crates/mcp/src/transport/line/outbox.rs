use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, BytesMut};
use futures_util::task::AtomicWaker;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::mutex::Mutex;
use crate::transport::observer::{MessageObserver, WireMessage};

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
    /// Bytes in `lines` that answer requests of the peer.
    answers: usize,
    /// The same of the lines that the sender has taken, until all of them are written.
    sending_answers: usize,
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
    observer: Option<MessageObserver>,
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
        let end = state.append(write);
        // The sender may run on another thread at once, and needs the lock.
        drop(state);
        self.sender.wake();
        Ok(end)
    }

    /// Appends a line that answers a request of the peer, even if there is no room for it.
    pub(super) fn push_answer(&self, write: impl FnOnce(&mut BytesMut)) -> Result<(), Closed> {
        let mut state = self.state.lock();
        if state.phase != OutboxPhase::Open {
            return Err(Closed);
        }
        let before = state.lines.len();
        state.append(write);
        state.answers += state.lines.len() - before;
        drop(state);
        self.sender.wake();
        Ok(())
    }

    /// Says that the sender is about to check the queue, so that a push need not wake it.
    pub(super) fn sender_is_awake(&self) {
        self.sender.take();
    }

    /// True if another line should be appended now.
    pub(super) fn has_room(&self) -> bool {
        let state = self.state.lock();
        // A closed outbox has room, so that waiting callers go on and learn of the end.
        state.phase != OutboxPhase::Open || state.unsent() < self.room_for
    }

    /// True if another answer should be appended now.
    ///
    /// Answers have the same room as all lines, but are counted alone: a peer that is slow to read
    /// our requests is no reason to stop reading from it, because it may wait for us to read.
    pub(super) fn has_answer_room(&self) -> bool {
        let state = self.state.lock();
        state.phase != OutboxPhase::Open || state.unsent_answers() < self.room_for
    }

    /// Waits until there is room or the outbox is closed. Dropping the future is safe.
    pub(super) async fn room(&self) {
        self.wait_until(Self::has_room).await;
    }

    /// Waits until there is room for an answer or the outbox is closed. Dropping the future is safe.
    pub(super) async fn answer_room(&self) {
        self.wait_until(Self::has_answer_room).await;
    }

    async fn wait_until(&self, has_room: impl Fn(&Self) -> bool) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the state is checked, so that no wake-up is missed.
            room.as_mut().enable();
            if has_room(self) {
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
            state.sending_answers = std::mem::take(&mut state.answers);
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
        let is_full = |bytes: usize| bytes >= self.room_for;
        let were_full = (is_full(state.unsent()), is_full(state.unsent_answers()));
        state.sending -= bytes;
        state.written += bytes as u64;
        if state.sending == 0 {
            state.sending_answers = 0;
        }
        let are_full = (is_full(state.unsent()), is_full(state.unsent_answers()));
        // Waiting callers are woken only when a limit is passed, not by every write.
        let made_room = were_full != are_full;
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

    fn unsent_answers(&self) -> usize {
        self.answers + self.sending_answers
    }

    /// Appends a line; returns the number of written bytes at which the whole line is written.
    fn append(&mut self, write: impl FnOnce(&mut BytesMut)) -> u64 {
        write(&mut self.lines);
        // The line break does not count: a server may read the text alone, if the stream ends after it.
        let end = self.written + self.unsent() as u64;
        self.lines.put_u8(b'\n');
        end
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
            observer: None,
        }
    }

    /// Shows each line to `observer` before it is written.
    pub(super) fn observed_by(mut self, observer: Option<MessageObserver>) -> Self {
        self.observer = observer;
        self
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
            // The empty buffer goes in exchange, so that both keep their memory.
            match outbox.take(&mut self.lines, cx) {
                Taken::Lines => {
                    if let Some(observer) = &self.observer {
                        let lines: &[u8] = &self.lines;
                        let lines = lines.split(|byte| *byte == b'\n');
                        let lines = lines.filter(|line| !line.is_empty());
                        lines.for_each(|line| observer.observe(WireMessage::LineSent(line)));
                    }
                }
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
