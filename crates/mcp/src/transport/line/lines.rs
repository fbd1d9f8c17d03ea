use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use callgate_wire::Id;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::id_finder::IdFinder;

/// The lines of a byte stream, each bounded; empty ones are left out.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: R,
    buffer: BytesMut,
    /// How much of the buffer is known to have no line break.
    searched: usize,
    longest: usize,
    /// Reads the rest of a line that is too long to keep.
    discarding: Option<IdFinder>,
    ended: bool,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line without its end.
    Message(Bytes),
    /// The line had more bytes than the limit; this was its id.
    TooLong(Option<Id>),
}

/// How much room a new buffer has: messages in flight share it, and so keep it alive.
const CHUNK: usize = 16 * 1024;

/// With less room than this a read is not worth its system call.
const SMALLEST_READ: usize = 4 * 1024;

/// A buffer that a long line made larger than this is given back.
const LARGEST_KEPT: usize = 1024 * 1024;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, longest: usize) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
            searched: 0,
            longest,
            discarding: None,
            ended: false,
        }
    }

    /// The next line; `None` at the end of the stream. A last line needs no line break.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            if let Some(line) = self.take_line() {
                return Poll::Ready(Ok(Some(line)));
            }
            if self.ended {
                return Poll::Ready(Ok(self.take_rest()));
            }
            ready!(self.poll_fill(cx))?;
        }
    }

    /// The next line that is complete in the buffer.
    fn take_line(&mut self) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                self.discard_if_too_long();
                return None;
            };
            let line = self.buffer.split_to(self.searched + length + 1);
            self.searched = 0;
            if let Some(line) = self.finish_line(line) {
                return Some(line);
            }
        }
    }

    /// What stands before the end of the stream without a line break.
    fn take_rest(&mut self) -> Option<Line> {
        self.searched = 0;
        let rest = self.buffer.split();
        self.finish_line(rest)
    }

    fn finish_line(&mut self, line: BytesMut) -> Option<Line> {
        let line = line.freeze();
        if self.discarding.is_some() || line.trim_ascii().len() > self.longest {
            let mut finder = self.discarding.take().unwrap_or_default();
            finder.feed(&line);
            return Some(Line::TooLong(finder.finish()));
        }
        let line = line.slice_ref(line.trim_ascii());
        (!line.is_empty()).then_some(Line::Message(line))
    }

    fn discard_if_too_long(&mut self) {
        if self.discarding.is_none() && self.buffer.len() <= self.longest {
            return;
        }
        self.discarding.get_or_insert_default().feed(&self.buffer);
        self.buffer.clear();
        self.searched = 0;
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.buffer.is_empty() && self.buffer.capacity() > LARGEST_KEPT {
            self.buffer = BytesMut::new();
        }
        if self.buffer.capacity() - self.buffer.len() < SMALLEST_READ {
            self.buffer.reserve(CHUNK.max(self.buffer.len()));
        }
        let read = pin!(self.source.read_buf(&mut self.buffer));
        self.ended = ready!(read.poll(cx))? == 0;
        Poll::Ready(Ok(()))
    }
}
