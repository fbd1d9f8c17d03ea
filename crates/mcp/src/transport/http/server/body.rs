use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::connection_health::Exchange;

/// Body of a response. Dropping it cancels the call that still produces it.
pub struct ResponseBody {
    content: Content,
    /// Ends when the response has been handed over.
    exchange: Option<Exchange>,
}

enum Content {
    /// Parts to send; one that was sent is empty.
    Parts([Bytes; 3]),
    Events(Box<dyn EventChunks>),
}

/// Size from which on a message is sent as its own chunk; smaller ones are copied into a buffer.
pub(crate) const LARGE: usize = 8 * 1024;

/// Event stream in chunks of bytes.
pub(crate) trait EventChunks: Send {
    /// The next chunk, or `None` after the last one.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// True if everything has been sent.
    fn is_over(&self) -> bool;
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::parts(Default::default())
    }

    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::parts([bytes, Bytes::new(), Bytes::new()])
    }

    pub(super) fn parts(parts: [Bytes; 3]) -> Self {
        Self::new(Content::Parts(parts))
    }

    pub(crate) fn events(stream: impl EventChunks + 'static) -> Self {
        Self::new(Content::Events(Box::new(stream)))
    }

    fn new(content: Content) -> Self {
        Self {
            content,
            exchange: None,
        }
    }

    /// Ends `exchange` once the response has been handed over.
    pub(super) fn ends(&mut self, exchange: Exchange) {
        self.exchange = Some(exchange);
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.content {
            Content::Parts(parts) => {
                let unsent = parts.iter_mut().find(|part| !part.is_empty());
                unsent.map(std::mem::take)
            }
            Content::Events(stream) => ready!(stream.poll_next(cx)),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    // hyper asks after each chunk, so a response ends with its last one and not at a further poll.
    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Parts(parts) => parts.iter().all(Bytes::is_empty),
            Content::Events(stream) => stream.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Parts(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            Content::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
