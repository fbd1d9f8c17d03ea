use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{BufMut, BytesMut};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

/// The lines on their way to a peer: many append whole lines, one [`Sender`] writes them.
#[derive(Debug)]
pub(super) struct Outbox {
    room_for: usize,
    state: Mutex<State>,
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: BytesMut,
    /// How much of what was taken is not yet written.
    sending: usize,
    written: u64,
    sender: Option<Waker>,
    phase: Phase,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// Nothing more is taken in, and the stream ends after what is left.
    Finishing,
    Closed,
}

/// The outbox takes no more lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// The end of an [`Outbox`] that writes.
#[derive(Debug)]
pub(super) struct Sender<W> {
    sink: Option<W>,
    lines: BytesMut,
    sent: usize,
}

/// A buffer that long lines made larger than this is given back.
const LARGEST_KEPT: usize = 256 * 1024;

impl Outbox {
    /// An outbox that has room until `room_for` bytes are unsent.
    pub(super) fn new(room_for: usize) -> Self {
        Self {
            room_for,
            state: Mutex::default(),
            room: Notify::new(),
        }
    }

    /// Appends the line that `write` writes, whether or not there is room.
    ///
    /// Returns how many bytes will have been written when the whole line has been.
    pub(super) fn push(&self, write: impl FnOnce(&mut BytesMut)) -> Result<u64, Closed> {
        let mut state = self.state();
        if state.phase != Phase::Open {
            return Err(Closed);
        }
        write(&mut state.lines);
        let end = state.written + state.unsent() as u64;
        state.lines.put_u8(b'\n');
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
        Ok(end)
    }

    /// Says that the sender is about to look, so that a push need not wake it.
    pub(super) fn sender_is_awake(&self) {
        self.state().sender = None;
    }

    /// Whether another line should be appended now.
    pub(super) fn has_room(&self) -> bool {
        let state = self.state();
        state.phase != Phase::Open || state.unsent() < self.room_for
    }

    /// Waits until there is room, or no use in waiting. Dropping the future changes nothing.
    pub(super) async fn room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the look at the state, so that no wake-up is missed.
            room.as_mut().enable();
            if self.has_room() {
                return;
            }
            room.await;
        }
    }

    /// Takes no more lines; the sender ends the stream after those that are left.
    pub(super) fn finish(&self) {
        self.enter(Phase::Finishing);
    }

    /// Takes no more lines and forgets those that are left.
    pub(super) fn close(&self) {
        self.enter(Phase::Closed);
    }

    /// How many bytes have been written.
    pub(super) fn written(&self) -> u64 {
        self.state().written
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        if state.phase != Phase::Closed {
            state.phase = phase;
        }
        if phase == Phase::Closed {
            state.lines = BytesMut::new();
        }
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
        self.room.notify_waiters();
    }

    /// Trades an empty buffer for the waiting lines, if there are any.
    fn take(&self, empty: &mut BytesMut, cx: &mut Context<'_>) -> Taken {
        let mut state = self.state();
        if !state.lines.is_empty() {
            std::mem::swap(&mut state.lines, empty);
            state.sending = empty.len();
            return Taken::Lines;
        }
        match &mut state.sender {
            Some(sender) => sender.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        match state.phase {
            Phase::Open => Taken::Nothing,
            Phase::Finishing | Phase::Closed => Taken::End,
        }
    }

    fn wrote(&self, bytes: usize) {
        let mut state = self.state();
        let was_full = state.unsent() >= self.room_for;
        state.sending -= bytes;
        state.written += bytes as u64;
        let made_room = was_full && state.unsent() < self.room_for;
        drop(state);
        if made_room {
            self.room.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

    /// Writes until nothing is left, all waiting lines at a time, and then flushes.
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

/// Empties a buffer and keeps its memory, unless that is a lot.
fn recycle(lines: &mut BytesMut) {
    if lines.capacity() > LARGEST_KEPT {
        *lines = BytesMut::new();
    }
    lines.clear();
}
