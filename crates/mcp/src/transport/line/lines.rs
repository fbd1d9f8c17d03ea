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
    /// Bytes of memory that the buffer shares with the lines taken from it.
    allocated: usize,
    /// Length of recent lines.
    usual: usize,
    /// Bytes at the start of the buffer that are known to have no line break.
    searched: usize,
    longest: usize,
    /// Set while the rest of a line over the limit is skipped.
    discarding: Option<TooLong>,
    ended: bool,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line without its end.
    Message(Bytes),
    /// The line has more bytes than the limit; this is its id. The line may not have ended yet.
    TooLong(Option<Id>),
}

#[derive(Debug)]
enum TooLong {
    /// Its id has not come yet.
    Unnamed(IdFinder),
    /// It has been reported.
    Reported,
}

/// Minimum capacity of a buffer. Messages in flight share it, and so keep it alive.
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
            allocated: 0,
            usual: 0,
            searched: 0,
            longest,
            discarding: None,
            ended: false,
        }
    }

    /// The next line; `None` at the end of the stream. A last line needs no line break.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            let line = self.next_buffered();
            if line.is_some() || self.ended {
                return Poll::Ready(Ok(line));
            }
            ready!(self.poll_fill(cx))?;
        }
    }

    /// The next line, if all of it has been read.
    pub(super) fn next_buffered(&mut self) -> Option<Line> {
        let line = self.take_line();
        if line.is_none() && self.ended {
            return self.take_rest();
        }
        line
    }

    /// True if the stream has ended, so that nothing follows the buffered lines.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads more.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.buffer.is_empty() && self.buffer.capacity() > LARGEST_KEPT {
            self.buffer = BytesMut::new();
        }
        if self.buffer.capacity() - self.buffer.len() < SMALLEST_READ {
            self.grow();
        }
        let read = pin!(self.source.read_buf(&mut self.buffer));
        self.ended = ready!(read.poll(cx))? == 0;
        Poll::Ready(Ok(()))
    }

    /// The next line that is complete in the buffer.
    fn take_line(&mut self) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                return self.discard_if_too_long();
            };
            let line = self.buffer.split_to(self.searched + length + 1);
            self.searched = 0;
            if let Some(line) = self.finish_line(line) {
                return Some(line);
            }
        }
    }

    /// The last line of the stream, if it has no line break.
    fn take_rest(&mut self) -> Option<Line> {
        self.searched = 0;
        let rest = self.buffer.split();
        self.finish_line(rest)
    }

    fn finish_line(&mut self, line: BytesMut) -> Option<Line> {
        let line = line.freeze();
        let line_break = usize::from(line.ends_with(b"\n"));
        if self.discarding.is_some() || line.len() - line_break > self.longest {
            return match self.discarding.take().unwrap_or_default() {
                TooLong::Unnamed(mut finder) => Some(Line::TooLong(finder.feed(&line))),
                TooLong::Reported => None,
            };
        }
        // It halves with each shorter line, so that one long line does not decide the size of later buffers.
        self.usual = line.len().max(self.usual / 2);
        let text = line.trim_ascii();
        // A short line would keep the large buffer that it came in while its call runs.
        let keeps_too_much = self.allocated > CHUNK && text.len() < self.allocated / 2;
        let text = if keeps_too_much {
            Bytes::copy_from_slice(text)
        } else {
            line.slice_ref(text)
        };
        (!text.is_empty()).then_some(Line::Message(text))
    }

    /// Drops the beginning of a line over the limit, and reports the line once its id is known.
    fn discard_if_too_long(&mut self) -> Option<Line> {
        if self.discarding.is_none() && self.buffer.len() <= self.longest {
            return None;
        }
        let discarding = self.discarding.get_or_insert_default();
        let id = match discarding {
            TooLong::Unnamed(finder) => finder.feed(&self.buffer),
            TooLong::Reported => None,
        };
        self.buffer.clear();
        self.searched = 0;
        // Reported before the line has ended: a server that stalls within it would leave the call to its
        // timeout.
        id.map(|id| {
            *discarding = TooLong::Reported;
            Line::TooLong(Some(id))
        })
    }

    /// Makes room for the line that has begun, or for one like those before it.
    fn grow(&mut self) {
        let before = self.buffer.as_ptr();
        let usual = self.usual.min(LARGEST_KEPT) + SMALLEST_READ;
        self.buffer.reserve(usual.max(CHUNK).max(self.buffer.len()));
        let capacity = self.buffer.capacity();
        // A buffer that stays in place shares its memory with lines that were taken from it, which its
        // capacity does not count.
        self.allocated = if self.buffer.as_ptr() == before {
            self.allocated.max(capacity)
        } else {
            capacity
        };
    }
}

impl Default for TooLong {
    fn default() -> Self {
        Self::Unnamed(IdFinder::default())
    }
}

/// True for the header by which other protocols, such as LSP, frame their messages.
pub(super) fn is_header(line: &[u8]) -> bool {
    let header = b"content-length:";
    line.get(..header.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::Waker;
    use tokio::io::ReadBuf;

    /// A stream that comes in pieces.
    struct Pieces(VecDeque<Vec<u8>>);

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if let Some(mut piece) = self.0.pop_front() {
                let rest = piece.split_off(piece.len().min(buffer.remaining()));
                buffer.put_slice(&piece);
                if !rest.is_empty() {
                    self.0.push_front(rest);
                }
            }
            Poll::Ready(Ok(()))
        }
    }

    fn read(text: &[u8], size: usize, longest: usize) -> Vec<Line> {
        let pieces = text.chunks(size).map(<[u8]>::to_vec).collect();
        let mut lines = Lines::new(Pieces(pieces), longest);
        let mut seen = Vec::new();
        while let Some(line) = next(&mut lines) {
            seen.push(line);
        }
        seen
    }

    fn next(lines: &mut Lines<Pieces>) -> Option<Line> {
        match lines.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(line) => line.unwrap(),
            Poll::Pending => unreachable!("all pieces are there"),
        }
    }

    fn message(text: &str) -> Line {
        Line::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn lines_end_in_many_ways_and_empty_ones_are_left_out() {
        let text = b"one\n\n \r\ntwo\r\n three \nfour";
        let expect = ["one", "two", "three", "four"].map(message);
        for size in 1..=text.len() {
            assert_eq!(read(text, size, 7), expect);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over_and_its_id_found() {
        let text = b"{\"a\":[1,2,3,4],\"id\":7}\nshort\n{\"id\":8,\"a\":\"xxxxxxxxxxxxxx";
        let id = |number| Line::TooLong(Some(Id::number(number)));
        for size in 1..=text.len() {
            assert_eq!(read(text, size, 10), [id(7), message("short"), id(8)]);
        }
    }

    #[test]
    fn a_short_line_does_not_keep_a_long_buffer_alive() {
        let long = "x".repeat(10 * CHUNK);
        let pieces = [format!("{long}\nshort\n{long}\n").into_bytes()];
        let mut lines = Lines::new(Pieces(pieces.into()), long.len());
        drop(next(&mut lines));
        let short = next(&mut lines);
        assert!(lines.buffer.try_reclaim(10 * CHUNK), "somebody shares it");
        assert_eq!(short, Some(message("short")));
        assert_eq!(next(&mut lines), Some(message(&long)));
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_does_not_matter(
            text in prop::collection::vec(prop::sample::select(b"{}\"id:,71 \r\nx".to_vec()), 0..200),
            size in 1_usize..50,
            longest in 0_usize..40,
        ) {
            prop_assert_eq!(read(&text, size, longest), read(&text, text.len().max(1), longest));
        }
    }
}
