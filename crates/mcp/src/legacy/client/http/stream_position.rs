use std::time::Duration;

use callgate_wire::sse;
use http::HeaderValue;

use crate::client::Backoff;

/// Position in a stream of events, for resuming it after it has ended early.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamPosition {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// Number of attempts to resume since the last event.
    attempts: u32,
}

/// Maximum length of a remembered event id. After a longer one the stream cannot be resumed, until an event
/// has another.
const MAX_ID: usize = 4096;

/// Maximum number of attempts to resume without a new event. After them the stream is given up.
const MAX_ATTEMPTS: u32 = 12;

/// Minimum wait, whatever `retry` the server asks for: it protects the server from a busy loop.
const MIN_WAIT: Duration = Duration::from_millis(50);

/// Waits without a `retry` of the server, and after failed attempts.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(15),
};

impl StreamPosition {
    /// Moves the position past an event.
    pub(crate) fn passed(&mut self, event: &sse::Event) {
        self.attempts = 0;
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry));
        }
        if let Some(id) = &event.id {
            // By the standard of server-sent events, an empty id takes back the last one.
            let fits = !id.is_empty() && id.len() <= MAX_ID;
            self.last_id = fits.then(|| HeaderValue::from_str(id).ok()).flatten();
        }
    }

    /// Forgets the last event: the next stream begins with what is new then.
    pub(crate) fn forget_id(&mut self) {
        self.last_id = None;
    }

    /// Id of the last event, if a header can carry it.
    pub(crate) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// Counts an attempt to resume the stream, and returns the wait before it.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let asked = self.retry.map(|retry| retry.max(MIN_WAIT));
        // The time that the server asks for is meant for the first attempt; later ones have failed and back
        // off.
        let wait = match (asked, self.attempts) {
            (Some(asked), 0) => asked,
            (asked, attempts) => BACKOFF.delay(attempts).max(asked.unwrap_or(MIN_WAIT)),
        };
        self.attempts = self.attempts.saturating_add(1);
        wait
    }

    /// True if no attempt is left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, retry: Option<u64>) -> sse::Event {
        let mut event = sse::Event::default();
        event.id = id.map(str::to_owned);
        event.retry = retry;
        event
    }

    #[test]
    fn the_last_id_that_can_be_sent_is_remembered() {
        let mut position = StreamPosition::default();
        for (id, expect) in [
            (None, None),
            (Some("7"), Some("7")),
            (None, Some("7")),
            (Some("8/a"), Some("8/a")),
            (Some("bell\u{7}"), None),
            (Some("9"), Some("9")),
            (Some(""), None),
            (Some(&*"x".repeat(MAX_ID)), Some(&*"x".repeat(MAX_ID))),
            (Some(&*"x".repeat(MAX_ID + 1)), None),
        ] {
            position.passed(&event(id, None));
            let seen = position.last_id().map(|id| id.to_str().unwrap());
            assert_eq!(seen, expect);
        }
    }

    #[test]
    fn the_wait_is_the_servers_and_grows_only_after_failures() {
        let mut position = StreamPosition::default();
        position.passed(&event(Some("1"), Some(500)));
        assert_eq!(position.next_wait(), Duration::from_millis(500));
        let second = position.next_wait();
        assert!(
            second >= BACKOFF.first && second <= 2 * BACKOFF.first,
            "{second:?}"
        );
        position.passed(&event(None, Some(0)));
        assert_eq!(position.next_wait(), MIN_WAIT);
        position.passed(&event(None, Some(60_000)));
        for _ in 0..3 {
            assert_eq!(position.next_wait(), Duration::from_secs(60));
        }
    }

    #[test]
    fn attempts_are_limited_and_an_event_resets_them() {
        let mut position = StreamPosition::default();
        for _ in 0..MAX_ATTEMPTS {
            assert!(!position.is_exhausted());
            position.next_wait();
        }
        assert!(position.is_exhausted());
        position.passed(&event(None, None));
        assert!(!position.is_exhausted());
    }
}
