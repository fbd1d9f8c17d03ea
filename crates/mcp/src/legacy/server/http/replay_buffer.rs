use std::collections::VecDeque;

use bytes::Bytes;

use super::stream_table::EventId;

/// Events of all streams of a session, kept for clients that reconnect.
///
/// The oldest events are removed first, whatever stream they belong to: those that remain of a
/// stream are its last ones.
#[derive(Debug)]
pub(super) struct ReplayBuffer {
    most_bytes: usize,
    bytes: usize,
    kept: VecDeque<ReplayEvent>,
}

/// Event that can be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplayEvent {
    pub(super) id: EventId,
    pub(super) json: Bytes,
}

/// Maximum number of events. For one more, the oldest is forgotten, as beyond the limit of bytes.
const MAX_EVENTS: usize = 1024;

impl ReplayBuffer {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            bytes: 0,
            kept: VecDeque::new(),
        }
    }

    /// True if an event of this length is kept at all.
    pub(super) fn takes(&self, length: usize) -> bool {
        length <= self.most_bytes
    }

    /// Keeps an event. Call [`Self::forget`] after it until it returns `None`.
    pub(super) fn keep(&mut self, kept: ReplayEvent) {
        self.bytes += kept.json.len();
        self.kept.push_back(kept);
    }

    /// Removes the oldest event, if there are too many.
    pub(super) fn forget(&mut self) -> Option<EventId> {
        if self.bytes <= self.most_bytes && self.kept.len() <= MAX_EVENTS {
            return None;
        }
        let oldest = self.kept.pop_front()?;
        self.bytes -= oldest.json.len();
        Some(oldest.id)
    }

    /// Events of the stream of `id` after it.
    pub(super) fn after(&self, id: EventId) -> impl Iterator<Item = &ReplayEvent> {
        self.kept
            .iter()
            .filter(move |kept| kept.id.stream == id.stream && kept.id.number > id.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(stream: u64, number: u64, json: &'static str) -> ReplayEvent {
        ReplayEvent {
            id: EventId { stream, number },
            json: Bytes::from_static(json.as_bytes()),
        }
    }

    fn forgotten(replay: &mut ReplayBuffer) -> Vec<String> {
        std::iter::from_fn(|| replay.forget())
            .map(|id| id.to_string())
            .collect()
    }

    #[test]
    fn only_the_stream_that_was_cut_is_said_again() {
        let mut replay = ReplayBuffer::new(100);
        for (stream, number) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
            replay.keep(kept(stream, number, "x"));
        }
        let id = EventId {
            stream: 1,
            number: 0,
        };
        let again: Vec<_> = replay.after(id).cloned().collect();
        assert_eq!(again, [kept(1, 1, "x"), kept(1, 2, "x")]);
        let later = EventId { number: 1, ..id };
        assert_eq!(replay.after(later).count(), 1);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_bytes_or_events() {
        let mut replay = ReplayBuffer::new(10);
        assert!(replay.takes(10) && !replay.takes(11));
        for number in 1..=3 {
            replay.keep(kept(1, number, "12345"));
        }
        assert_eq!(forgotten(&mut replay), ["1-1"]);
        replay.keep(kept(2, 1, "1234567890"));
        assert_eq!(forgotten(&mut replay), ["1-2", "1-3"]);

        let mut replay = ReplayBuffer::new(10);
        for number in 0..=MAX_EVENTS as u64 {
            replay.keep(kept(1, number, ""));
        }
        assert_eq!(forgotten(&mut replay), ["1-0"]);
    }
}
