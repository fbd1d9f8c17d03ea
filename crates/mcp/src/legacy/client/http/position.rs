use std::time::Duration;

use callgate_wire::sse;
use http::HeaderValue;

use crate::client::Backoff;

/// Where a stream of events broke off, and when to come back for the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Position {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// How often it was resumed since the last event.
    attempts: u32,
}

/// A longer id is not remembered.
const MAX_ID: usize = 4096;

/// How often a stream is resumed without anything coming.
const MAX_ATTEMPTS: u32 = 12;

/// The shortest wait, whatever the server says.
const SHORTEST: Duration = Duration::from_millis(50);

/// How long to wait where the server does not say, or does not answer.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(15),
};

impl Position {
    /// Takes note of an event.
    pub(super) fn passed(&mut self, event: &sse::Event) {
        self.attempts = 0;
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry));
        }
        if let Some(id) = &event.id {
            let fits = !id.is_empty() && id.len() <= MAX_ID;
            self.last_id = fits.then(|| HeaderValue::from_str(id).ok()).flatten();
        }
    }

    /// The id of the last event, if it had one that can be named.
    pub(super) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// Counts an attempt to resume the stream and says how long to wait before it.
    pub(super) fn next_wait(&mut self) -> Duration {
        let asked = self.retry.map(|retry| retry.max(SHORTEST));
        let wait = match (asked, self.attempts) {
            (Some(asked), 0) => asked,
            (asked, attempts) => BACKOFF.delay(attempts).max(asked.unwrap_or(SHORTEST)),
        };
        self.attempts = self.attempts.saturating_add(1);
        wait
    }

    /// Whether the stream was resumed often enough in vain.
    pub(super) fn is_hopeless(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, retry: Option<u64>) -> sse::Event {
        sse::Event {
            id: id.map(str::to_owned),
            retry,
            ..sse::Event::default()
        }
    }

    #[test]
    fn the_last_id_that_can_be_sent_is_remembered() {
        let mut position = Position::default();
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
    fn the_wait_is_what_the_server_asked_for_and_longer_only_where_that_was_in_vain() {
        let mut position = Position::default();
        position.passed(&event(Some("1"), Some(500)));
        assert_eq!(position.next_wait(), Duration::from_millis(500));
        let second = position.next_wait();
        assert!(
            second >= BACKOFF.first && second <= 2 * BACKOFF.first,
            "{second:?}"
        );
        position.passed(&event(None, Some(0)));
        assert_eq!(position.next_wait(), SHORTEST);
        position.passed(&event(None, Some(60_000)));
        for _ in 0..3 {
            assert_eq!(position.next_wait(), Duration::from_secs(60));
        }
    }

    #[test]
    fn hope_ends_after_so_many_attempts_and_returns_with_an_event() {
        let mut position = Position::default();
        for _ in 0..MAX_ATTEMPTS {
            assert!(!position.is_hopeless());
            position.next_wait();
        }
        assert!(position.is_hopeless());
        position.passed(&event(None, None));
        assert!(!position.is_hopeless());
    }
}
