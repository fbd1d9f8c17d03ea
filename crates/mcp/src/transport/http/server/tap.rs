use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::framing::{Framing, Seen};
use super::vitals::Vitals;

/// A stream that notes what passes through it.
#[derive(Debug)]
pub(super) struct Tap {
    stream: TcpStream,
    framing: Framing,
    vitals: Arc<Vitals>,
    ended: bool,
    linger: Option<Linger>,
}

/// Reads on for a moment after our side is closed: closing a connection with unread input resets
/// it, and the peer might lose the response that says why.
#[derive(Debug)]
struct Linger {
    end: Pin<Box<Sleep>>,
    discarded: usize,
}

const LINGER: Duration = Duration::from_millis(500);
const MAX_DISCARDED: usize = 256 * 1024;

impl Tap {
    pub(super) fn new(stream: TcpStream, framing: Framing, vitals: Arc<Vitals>) -> Self {
        Self {
            stream,
            framing,
            vitals,
            ended: false,
            linger: None,
        }
    }

    fn note_write<T>(&self, polled: Poll<T>) -> Poll<T> {
        match polled {
            Poll::Pending => self.vitals.stalls(),
            Poll::Ready(_) => self.vitals.flows(),
        }
        polled
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = &polled {
            let fresh = buf.filled().get(before..).unwrap_or_default();
            if fresh.is_empty() {
                self.ended = true;
                return polled;
            }
            match self.framing.push(fresh) {
                Seen::Whole => self.vitals.head_ends(),
                Seen::PartOfHead => self.vitals.head_begins(),
                Seen::Ambiguous => self.vitals.mark_ambiguous(),
            }
        }
        polled
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_write(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_write(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tap = &mut *self;
        let linger = match &mut tap.linger {
            Some(linger) => linger,
            none => {
                ready!(Pin::new(&mut tap.stream).poll_shutdown(cx))?;
                if tap.ended {
                    return Poll::Ready(Ok(()));
                }
                none.insert(Linger::new())
            }
        };
        linger.poll(&mut tap.stream, cx)
    }
}

impl Linger {
    fn new() -> Self {
        Self {
            end: Box::pin(sleep(LINGER)),
            discarded: 0,
        }
    }

    /// Discards what the peer sends until it is done, or long enough.
    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [0; 4096];
        while self.discarded < MAX_DISCARDED {
            let mut rest = ReadBuf::new(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut rest)? {
                Poll::Ready(()) if rest.filled().is_empty() => break,
                Poll::Ready(()) => self.discarded += rest.filled().len(),
                Poll::Pending => return self.end.as_mut().poll(cx).map(Ok),
            }
        }
        Poll::Ready(Ok(()))
    }
}
