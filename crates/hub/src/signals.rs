use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

use crate::reconnect::Event;

/// Events from outside, each at most once until it is read: a set, so it needs no bound.
#[derive(Default)]
pub(crate) struct Signals {
    pending: AtomicU8,
    wake: Notify,
}

/// Events that [`Signals`] can hold; the first ones are read first.
const SIGNALS: [Event; 5] = [
    Event::Disable,
    Event::Enable,
    Event::LoginChanged,
    Event::Retry,
    Event::Used,
];

impl Signals {
    /// Adds an event.
    ///
    /// Turning a server on replaces turning it off that was not read yet, and the other way round:
    /// the last of the two counts.
    pub(crate) fn send(&self, event: Event) {
        let opposite = match event {
            Event::Disable => mask(Event::Enable),
            Event::Enable => mask(Event::Disable),
            _ => 0,
        };
        let added = mask(event);
        let change = |pending| Some((pending & !opposite) | added);
        // The change is never refused, so the update cannot fail.
        let _ = self
            .pending
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        // After the change. It is remembered, so that `next` cannot miss it between its look and its wait.
        self.wake.notify_one();
    }

    /// Waits for an event. Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> Event {
        loop {
            for event in SIGNALS {
                let mask = mask(event);
                if self.pending.fetch_and(!mask, Ordering::AcqRel) & mask != 0 {
                    return event;
                }
            }
            self.wake.notified().await;
        }
    }
}

/// The bit of an event; no bit for one that does not come from outside.
fn mask(event: Event) -> u8 {
    let bit = SIGNALS.iter().position(|signal| *signal == event);
    bit.map_or(0, |bit| 1 << bit)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn check(sent: &[Event], expect: &[Event]) {
        let signals = Signals::default();
        sent.iter().for_each(|event| signals.send(*event));
        let next = || signals.next().now_or_never();
        let read: Vec<_> = std::iter::from_fn(next).collect();
        assert_eq!(read, expect, "{sent:?}");
    }

    #[test]
    fn an_event_that_comes_often_is_read_once() {
        let used = Event::Used;
        check(&[used, Event::Retry, used], &[Event::Retry, used]);
        check(&[Event::Lost], &[]);
    }

    #[test]
    fn the_last_of_on_and_off_counts() {
        let (on, off) = (Event::Enable, Event::Disable);
        check(&[on, off], &[off]);
        check(&[off, on], &[on]);
        check(&[off, on, Event::Used, off], &[off, Event::Used]);
    }
}
