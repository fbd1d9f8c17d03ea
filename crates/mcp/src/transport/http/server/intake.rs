use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::answer::Refusal;

/// Reads a whole body of at most `limit` bytes within `patience`.
///
/// A body that arrived with its head is neither copied nor timed.
pub(super) async fn read(
    mut body: Incoming,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Refusal::BodyTooLarge);
    }
    let mut late = pin!(None::<Sleep>);
    let mut gathered = Gathered::default();
    std::future::poll_fn(|cx| {
        while !body.is_end_stream() {
            match Pin::new(&mut body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    if gathered.len() + data.len() > limit {
                        return Poll::Ready(Err(Refusal::BodyTooLarge));
                    }
                    gathered.push(data);
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Refusal::BodyBroken)),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    if late.is_none() {
                        late.set(Some(sleep(patience)));
                    }
                    return match late.as_mut().as_pin_mut().map(|late| late.poll(cx)) {
                        Some(Poll::Ready(())) => Poll::Ready(Err(Refusal::BodyTooSlow)),
                        _ => Poll::Pending,
                    };
                }
            }
        }
        Poll::Ready(Ok(gathered.take()))
    })
    .await
}

/// The data so far: as it came while it is one piece, copied together from the second piece on.
#[derive(Default)]
struct Gathered {
    only: Bytes,
    joined: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    fn push(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.only = data;
            return;
        }
        self.joined.reserve(self.only.len() + data.len());
        self.joined
            .extend_from_slice(&std::mem::take(&mut self.only));
        self.joined.extend_from_slice(&data);
    }

    fn take(&mut self) -> Bytes {
        if self.joined.is_empty() {
            std::mem::take(&mut self.only)
        } else {
            self.joined.split().freeze()
        }
    }
}
