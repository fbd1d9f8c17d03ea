use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::answer::Refusal;
use super::config::Limits;

/// The memory for the bodies of all connections together.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicUsize);

/// What one body takes of a [`Room`], until it is dropped.
#[derive(Debug)]
pub(super) struct Place<'r> {
    room: &'r Room,
    bytes: usize,
}

/// Reads a whole body within `limits`, into its place in `room`.
///
/// A body that arrived with its head is neither copied nor timed, and takes no place.
pub(super) async fn read<'r>(
    mut body: Incoming,
    limits: &Limits,
    room: &'r Room,
) -> Result<(Bytes, Place<'r>), Refusal> {
    let limit = limits.body_bytes;
    if body.size_hint().lower() > limit as u64 {
        return Err(Refusal::BodyTooLarge);
    }
    let mut late = pin!(None::<Sleep>);
    let mut gathered = Gathered::default();
    let mut place = Place { room, bytes: 0 };
    let body = std::future::poll_fn(|cx| {
        while !body.is_end_stream() {
            match Pin::new(&mut body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    if gathered.len() + data.len() > limit {
                        return Poll::Ready(Err(Refusal::BodyTooLarge));
                    }
                    let joined = gathered.push(data);
                    if !place.grow(joined, limits.bodies_bytes) {
                        return Poll::Ready(Err(Refusal::NoRoom));
                    }
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Refusal::BodyBroken)),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    if late.is_none() {
                        late.set(Some(sleep(limits.body_timeout)));
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
    .await?;
    Ok((body, place))
}

impl Place<'_> {
    /// Takes so many bytes in all, unless there is no room for them.
    fn grow(&mut self, bytes: usize, limit: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        self.bytes += more;
        self.room.0.fetch_add(more, Ordering::Relaxed) + more <= limit
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
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

    /// Adds a piece, and says how much of the data had to be copied so far.
    fn push(&mut self, data: Bytes) -> usize {
        if self.len() == 0 {
            self.only = data;
            return 0;
        }
        self.joined.reserve(self.only.len() + data.len());
        self.joined
            .extend_from_slice(&std::mem::take(&mut self.only));
        self.joined.extend_from_slice(&data);
        self.joined.len()
    }

    fn take(&mut self) -> Bytes {
        if self.joined.is_empty() {
            std::mem::take(&mut self.only)
        } else {
            self.joined.split().freeze()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_their_room_until_they_are_gone() {
        let room = Room::default();
        let place = || Place {
            room: &room,
            bytes: 0,
        };
        let (mut one, mut other) = (place(), place());
        assert!(one.grow(4, 10) && one.grow(6, 10) && one.grow(6, 10));
        assert!(other.grow(4, 10));
        assert!(!other.grow(5, 10));
        drop(other);
        assert!(one.grow(10, 10));
        drop(one);
        assert!(place().grow(10, 10));
        assert_eq!(room.0.into_inner(), 0);
    }
}
