use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::head_scanner::{HeadScanner, ScanResult};
use crate::transport::http::server::connection_health::ConnectionHealth;

/// Stream of a connection that checks the bytes read from it and records its health.
#[derive(Debug)]
pub(in super::super) struct GuardedStream<S> {
    stream: S,
    scanner: Option<HeadScanner>,
    health: Arc<ConnectionHealth>,
    ended: bool,
    linger: Option<Linger>,
}

/// Reads on for a moment after our side is closed.
///
/// To close a connection with unread input resets it, and the peer may lose the response that says
/// why.
#[derive(Debug)]
struct Linger {
    end: Pin<Box<Sleep>>,
    discarded: usize,
}

const LINGER: Duration = Duration::from_millis(500);
const MAX_DISCARDED: usize = 256 * 1024;

impl<S> GuardedStream<S> {
    /// Guards `stream`; without a `scanner` only its health is recorded.
    pub(in super::super) fn new(
        stream: S,
        scanner: Option<HeadScanner>,
        health: Arc<ConnectionHealth>,
    ) -> Self {
        Self {
            stream,
            scanner,
            health,
            ended: false,
            linger: None,
        }
    }

    fn note_write<T>(&self, polled: Poll<T>) -> Poll<T> {
        match polled {
            Poll::Pending => self.health.stalls(),
            Poll::Ready(_) => self.health.flows(),
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
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
            let scanned = match &mut self.scanner {
                Some(scanner) => scanner.push(fresh),
                None => ScanResult::Whole,
            };
            match scanned {
                ScanResult::Whole => self.health.head_ends(),
                ScanResult::PartOfHead => self.health.head_begins(),
                ScanResult::Ambiguous => self.health.mark_ambiguous(),
            }
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
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
        let this = &mut *self;
        let linger = match &mut this.linger {
            Some(linger) => linger,
            none => {
                ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
                // The peer has closed its side, so no input can be left unread.
                if this.ended {
                    return Poll::Ready(Ok(()));
                }
                none.insert(Linger::new())
            }
        };
        linger.poll(&mut this.stream, cx)
    }
}

impl Linger {
    fn new() -> Self {
        Self {
            end: Box::pin(sleep(LINGER)),
            discarded: 0,
        }
    }

    /// Discards input until the peer closes the connection, or a limit is reached.
    fn poll<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
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
