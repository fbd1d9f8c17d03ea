use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use bytes::{Buf, Bytes, BytesMut};
use http_body::Body;
use tokio::time::{Sleep, sleep};

use super::config::HttpServerLimits;
use super::connection_health::ConnectionHealth;
use super::response::Refusal;

/// Memory for the bodies of all connections together.
#[derive(Debug, Default)]
pub(super) struct BodyBudget(AtomicUsize);

/// Share of one body in a [`BodyBudget`], until it is dropped.
#[derive(Debug)]
pub(super) struct BodyReservation<'r> {
    budget: &'r BodyBudget,
    bytes: usize,
}

/// Reads a whole body within `limits`, with its share of `budget`.
///
/// A body that arrived with its head is neither copied nor timed, and does not count: it is in the
/// read buffer of its connection, which has limits of its own. A wait for the rest of any other one is
/// recorded in the `health` of the connection.
pub(super) async fn read<'r>(
    body: impl Body,
    limits: &HttpServerLimits,
    budget: &'r BodyBudget,
    health: Option<&ConnectionHealth>,
) -> Result<(Bytes, BodyReservation<'r>), Refusal> {
    let limit = limits.body_bytes;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Refusal::BodyTooLarge);
    }
    let mut body = pin!(body);
    let mut timer = pin!(None::<Sleep>);
    let mut wait = None;
    let mut gathered = Gathered::default();
    let mut reservation = BodyReservation { budget, bytes: 0 };
    let body = std::future::poll_fn(|cx| {
        while !body.is_end_stream() {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let data = match frame.into_data() {
                        Ok(mut data) => data.copy_to_bytes(data.remaining()),
                        Err(_trailers) => continue,
                    };
                    // A chunked body announces no size, so what comes is counted.
                    if gathered.len() + data.len() > limit {
                        return Poll::Ready(Err(Refusal::BodyTooLarge));
                    }
                    let joined = gathered.push(data, announced);
                    if !reservation.grow(joined, limits.bodies_bytes) {
                        return Poll::Ready(Err(Refusal::BodyBudgetExceeded));
                    }
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Refusal::BodyBroken)),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    // Most bodies arrive whole, and need no timer.
                    if timer.is_none() {
                        timer.set(Some(sleep(limits.body_timeout)));
                        wait = health.map(ConnectionHealth::wait_for_body);
                    }
                    return match timer.as_mut().as_pin_mut().map(|timer| timer.poll(cx)) {
                        Some(Poll::Ready(())) => Poll::Ready(Err(Refusal::BodyTooSlow)),
                        _ => Poll::Pending,
                    };
                }
            }
        }
        Poll::Ready(Ok(gathered.take()))
    })
    .await?;
    drop(wait);
    Ok((body, reservation))
}

impl BodyReservation<'_> {
    /// Grows the share to this many bytes, unless that exceeds the budget.
    fn grow(&mut self, bytes: usize, limit: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        self.bytes += more;
        // Added before it is compared, so that two bodies cannot take the same room. A body that is refused
        // gives its share back when it is dropped. Only the sum counts, so relaxed order is enough.
        self.budget.0.fetch_add(more, Ordering::Relaxed) + more <= limit
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// Largest size of the buffer for a body, as a multiple of the bytes that have come.
const ROOM_FACTOR: usize = 8;

/// Data so far: one piece as it came, or several pieces copied together.
#[derive(Default)]
struct Gathered {
    only: Bytes,
    joined: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    /// Adds a piece of a body that has `announced` bytes, if it says so; returns the number of
    /// bytes that were copied so far.
    fn push(&mut self, data: Bytes, announced: usize) -> usize {
        if self.len() == 0 {
            self.only = data;
            return 0;
        }
        // Room for the whole body spares copies of a buffer that grows. A peer that announces a
        // body must still send a part of it for each allocation.
        let needed = self.len() + data.len();
        let room = announced.clamp(needed, needed.saturating_mul(ROOM_FACTOR));
        if self.joined.capacity() < needed {
            self.joined.reserve(room - self.joined.len());
        }
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
    fn an_announced_body_is_gathered_in_one_buffer() {
        let piece = || Bytes::from(vec![b'x'; 1000]);
        let mut gathered = Gathered::default();
        assert_eq!(gathered.push(piece(), 10_000), 0);
        assert_eq!(gathered.push(piece(), 10_000), 2000);
        let buffer = gathered.joined.as_ptr();
        for pieces in 3..=10 {
            assert_eq!(gathered.push(piece(), 10_000), pieces * 1000);
        }
        assert_eq!(gathered.joined.as_ptr(), buffer);
        assert_eq!(gathered.take(), vec![b'x'; 10_000]);
    }

    #[test]
    fn an_announced_body_takes_no_room_before_a_part_of_it_came() {
        let piece = || Bytes::from_static(b"x");
        let mut gathered = Gathered::default();
        gathered.push(piece(), 1_000_000);
        gathered.push(piece(), 1_000_000);
        assert!(gathered.joined.capacity() < 100);
    }

    #[test]
    fn bodies_share_their_room_until_they_are_gone() {
        let budget = BodyBudget::default();
        let reservation = || BodyReservation {
            budget: &budget,
            bytes: 0,
        };
        let (mut one, mut other) = (reservation(), reservation());
        assert!(one.grow(4, 10) && one.grow(6, 10) && one.grow(6, 10));
        assert!(other.grow(4, 10));
        assert!(!other.grow(5, 10));
        drop(other);
        assert!(one.grow(10, 10));
        drop(one);
        assert!(reservation().grow(10, 10));
        assert_eq!(budget.0.into_inner(), 0);
    }
}
