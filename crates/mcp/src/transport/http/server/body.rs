use std::array;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::events::EventStream;
use super::vitals::Vitals;
use crate::legacy::server::http::Events;

/// The body of a response. Dropping it cancels the call that still feeds it.
pub(super) struct Body {
    content: Content,
    /// Told when the response has been handed over.
    vitals: Option<Arc<Vitals>>,
}

enum Content {
    Empty,
    Whole(Bytes),
    Parts(array::IntoIter<Bytes, 3>),
    Events(Box<EventStream>),
    Legacy(Box<Events>),
}

impl Body {
    pub(super) fn empty() -> Self {
        Self::new(Content::Empty)
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::new(Content::Whole(bytes))
    }

    pub(super) fn parts(parts: [Bytes; 3]) -> Self {
        Self::new(Content::Parts(parts.into_iter()))
    }

    pub(super) fn events(stream: EventStream) -> Self {
        Self::new(Content::Events(Box::new(stream)))
    }

    /// A stream of events to a client of an older revision. Dropping it need not cancel anything.
    pub(super) fn legacy(events: Box<Events>) -> Self {
        Self::new(Content::Legacy(events))
    }

    fn new(content: Content) -> Self {
        Self {
            content,
            vitals: None,
        }
    }

    /// Tells `vitals` when the response has been handed over.
    pub(super) fn reports_to(&mut self, vitals: Arc<Vitals>) {
        self.vitals = Some(vitals);
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(vitals) = &self.vitals {
            vitals.end_exchange();
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.content {
            Content::Empty => None,
            Content::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.content = Content::Empty;
                Some(bytes)
            }
            Content::Parts(parts) => parts.next(),
            Content::Events(stream) => ready!(stream.poll_next(cx)),
            Content::Legacy(stream) => ready!(stream.poll_next(cx)),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Empty => true,
            Content::Whole(_) => false,
            Content::Parts(parts) => parts.len() == 0,
            Content::Events(stream) => stream.is_over(),
            Content::Legacy(stream) => stream.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let exact = match &self.content {
            Content::Empty => 0,
            Content::Whole(bytes) => bytes.len(),
            Content::Parts(parts) => parts.as_slice().iter().map(Bytes::len).sum(),
            Content::Events(_) | Content::Legacy(_) => return SizeHint::default(),
        };
        SizeHint::with_exact(exact as u64)
    }
}
