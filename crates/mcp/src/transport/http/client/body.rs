use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use super::pool::Lease;

/// The body of a response, which holds on to its connection.
///
/// Dropped before its end, it closes the connection: the server learns that nobody listens.
pub(crate) struct Stream {
    /// What has been read and not been taken yet.
    ahead: Bytes,
    body: Incoming,
    lease: Option<Lease>,
}

/// Why a body could not be taken.
pub(crate) enum BodyError {
    TooLarge { limit: usize },
    Broken(hyper::Error),
}

/// How long a body that nobody depends on may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Stream {
    pub(super) fn new(body: Incoming, lease: Lease) -> Self {
        Self {
            ahead: Bytes::new(),
            body,
            lease: Some(lease),
        }
    }

    /// The address that the body comes from; unknown once all of it has been read.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.lease.as_ref().and_then(Lease::peer)
    }

    /// The next part of the body. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        if !self.ahead.is_empty() {
            return Some(Ok(std::mem::take(&mut self.ahead)));
        }
        while !self.body.is_end_stream() {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(part) = frame.into_data() {
                        return Some(Ok(part));
                    }
                }
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        if let Some(lease) = self.lease.take() {
            lease.end();
        }
        None
    }

    /// Reads a body that may not be wanted, so that its connection is not held meanwhile.
    ///
    /// It goes on being held where the end does not come within `patience` and about `limit` bytes.
    pub(super) async fn read_ahead(&mut self, limit: usize, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut ahead = BytesMut::new();
        while ahead.len() < limit {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(Ok(part))) => ahead.extend_from_slice(&part),
                Ok(Some(Err(_))) => {
                    self.lease = None;
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        self.ahead = ahead.freeze();
    }

    /// Takes a whole body into one buffer, which has the right size if the peer announced it.
    ///
    /// The parts are copied and not kept, so that the connection can go on using its own buffer.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, BodyError> {
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

    /// Takes up to `limit` bytes of a body that nobody depends on; what is broken, late or more is
    /// left.
    pub(crate) async fn beginning(mut self, limit: usize) -> Bytes {
        let deadline = Instant::now() + PATIENCE;
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
        let announced = usize::try_from(self.body.size_hint().lower());
        announced
            .unwrap_or(usize::MAX)
            .saturating_add(self.ahead.len())
    }
}
