use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use super::observed::BodyObserver;
use super::pool::Lease;

/// Body of a response, which holds its connection until it has been read.
///
/// Dropping it before its end closes the connection, which cancels the request at the server.
pub(crate) struct BodyStream {
    /// Bytes that were read ahead.
    ahead: Bytes,
    body: Incoming,
    lease: Option<Lease>,
    observer: Option<Box<BodyObserver>>,
}

/// Failure of reading a body.
pub(crate) enum BodyError {
    TooLarge { limit: usize },
    Broken(hyper::Error),
}

/// Timeout of reading a body that is only shown in an error.
const EXCERPT_TIMEOUT: Duration = Duration::from_secs(5);

impl BodyStream {
    pub(super) fn new(body: Incoming, lease: Lease) -> Self {
        Self {
            ahead: Bytes::new(),
            body,
            lease: Some(lease),
            observer: None,
        }
    }

    /// Shows the body to `observer` while it is read.
    pub(super) fn observed_by(mut self, observer: BodyObserver) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Address of the server; unknown once the whole body was read.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.lease.as_ref().and_then(Lease::peer)
    }

    /// The next part of the body. Dropping the future is safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        if !self.ahead.is_empty() {
            return Some(Ok(std::mem::take(&mut self.ahead)));
        }
        while !self.body.is_end_stream() {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(part) = frame.into_data() {
                        if let Some(observer) = &mut self.observer {
                            observer.part(&part);
                        }
                        return Some(Ok(part));
                    }
                }
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        if let Some(mut observer) = self.observer.take() {
            observer.end();
        }
        if let Some(lease) = self.lease.take() {
            lease.end();
        }
        None
    }

    /// Reads a body ahead, so that its connection is free before it is decided about.
    ///
    /// The connection stays in use if the body does not end within `limit` bytes and the timeout.
    pub(super) async fn read_ahead(&mut self, limit: usize, timeout: Duration) {
        // One deadline for all parts, so that a body that trickles in gains no time.
        let deadline = Instant::now() + timeout;
        let mut ahead = BytesMut::new();
        while ahead.len() < limit {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(Ok(part))) => ahead.extend_from_slice(&part),
                Ok(Some(Err(_))) => {
                    // A connection that failed inside a body can carry no other request.
                    self.lease = None;
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        self.ahead = ahead.freeze();
    }

    /// Reads the whole body into one buffer, of the announced size if there is one.
    ///
    /// The parts are copied and not kept, so that the connection can use its own buffer again.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, BodyError> {
        // The announced size is checked before a buffer of that size is allocated.
        let announced = self.announced();
        if announced > limit {
            return Err(BodyError::TooLarge { limit });
        }
        let mut whole = BytesMut::with_capacity(announced);
        while let Some(part) = self.next().await {
            let part = part.map_err(BodyError::Broken)?;
            if whole.len() + part.len() > limit {
                return Err(BodyError::TooLarge { limit });
            }
            whole.extend_from_slice(&part);
        }
        Ok(whole.freeze())
    }

    /// Reads up to `limit` bytes of a body for an error text; a failure or the timeout ends it early.
    pub(crate) async fn beginning(mut self, limit: usize) -> Bytes {
        // One deadline for all parts: an error is reported although its body trickles in or never ends.
        let deadline = Instant::now() + EXCERPT_TIMEOUT;
        let mut beginning = BytesMut::with_capacity(self.announced().min(limit));
        while let Ok(Some(Ok(part))) = timeout_at(deadline, self.next()).await {
            let room = limit - beginning.len();
            if part.len() > room {
                beginning.extend_from_slice(part.get(..room).unwrap_or_default());
                break;
            }
            beginning.extend_from_slice(&part);
        }
        beginning.freeze()
    }

    fn announced(&self) -> usize {
        // The lower bound is the content length, or zero for a body of unknown length.
        let announced = usize::try_from(self.body.size_hint().lower());
        announced
            .unwrap_or(usize::MAX)
            .saturating_add(self.ahead.len())
    }
}
