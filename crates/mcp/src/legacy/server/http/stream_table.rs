use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::time::Instant;

use super::replay_buffer::{ReplayBuffer, ReplayEvent};
use super::streams::Retention;
use crate::legacy::server::client_request::{Message, MessageKind};
use crate::server::CallerBudget;

/// Streams of one session, and the events that are kept for reconnecting clients.
#[derive(Debug)]
pub(super) struct StreamTable {
    next: u64,
    /// Few at a time, and numbered in order: a tree finds them faster than a hash does.
    streams: BTreeMap<u64, Stream>,
    /// General streams, for messages that belong to no request, the newest last.
    general: Vec<u64>,
    unread_since: Option<Instant>,
    replay: ReplayBuffer,
    unsent: CallerBudget,
    closed: bool,
}

/// Message with its number on its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) message: Message,
    /// True if it has been sent before.
    again: bool,
}

/// First event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FirstEvent {
    /// The response: the stream has no other event.
    Response(Bytes),
    /// Another message.
    Other,
    /// None: the stream ended without a response.
    End,
}

#[derive(Debug)]
struct Stream {
    keep: Retention,
    unread: VecDeque<Event>,
    unread_bytes: usize,
    /// Number of the next event.
    next: u64,
    /// Lowest number from which on every event is unread or kept.
    kept_from: u64,
    /// Number of the current reader: a client that reconnects replaces the one before.
    turn: u64,
    is_read: bool,
    reader: Option<Waker>,
    /// True if the client knows an event id, so that it can resume the stream.
    is_named: bool,
    is_finished: bool,
}

/// Unread bytes from which on a stream has no room.
const ROOM: usize = 64 * 1024;

/// Maximum bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// Maximum number of general streams. For one more, the oldest is ended.
const MAX_GENERAL: usize = 4;

impl StreamTable {
    pub(super) fn new(replay_bytes: usize, unsent: CallerBudget) -> Self {
        Self {
            next: 0,
            streams: BTreeMap::new(),
            general: Vec::new(),
            unread_since: None,
            replay: ReplayBuffer::new(replay_bytes),
            unsent,
            closed: false,
        }
    }

    /// Takes the number of a stream, which is opened when it is needed.
    pub(super) fn reserve(&mut self) -> u64 {
        let stream = self.next;
        self.next += 1;
        stream
    }

    /// Opens the stream with a reserved number; returns the number of its first reader.
    pub(super) fn open(&mut self, stream: u64, keep: Retention) -> u64 {
        if !self.closed {
            self.streams.insert(stream, Stream::new(keep));
        }
        FIRST_TURN
    }

    pub(super) fn open_general(&mut self, keep: Retention) -> (u64, u64) {
        let stream = self.reserve();
        let turn = self.open(stream, keep);
        if self.general.len() == MAX_GENERAL {
            let oldest = self.general.remove(0);
            self.finish(oldest);
        }
        self.general.push(stream);
        self.unread_since = None;
        (stream, turn)
    }

    pub(super) fn resume(&mut self, id: EventId) -> Option<u64> {
        let stream = self.streams.get_mut(&id.stream)?;
        // Kept without a gap: the event after `id` is there, or is still to come.
        let is_known = id.number < stream.next && id.number + 1 >= stream.kept_from;
        if stream.keep == Retention::Nothing || !is_known {
            return None;
        }
        let unread_from = stream
            .unread
            .front()
            .map_or(stream.next, |event| event.number);
        let again = self
            .replay
            .after(id)
            .filter(|kept| kept.id.number < unread_from);
        let again: Vec<_> = again.map(Event::again).collect();
        // The client says that it has all events up to `id`.
        stream.unread.retain(|event| event.number > id.number);
        for event in again.into_iter().rev() {
            stream.unread.push_front(event);
        }
        stream.unread_bytes = stream.unread.iter().map(Event::length).sum();
        stream.turn += 1;
        stream.is_read = true;
        stream.wake();
        // The stream that was just resumed is the one that the client reads, so it counts as the newest.
        if let Some(at) = self.general.iter().position(|other| *other == id.stream) {
            self.general.remove(at);
            self.general.push(id.stream);
            self.unread_since = None;
        }
        Some(stream.turn)
    }

    pub(super) fn push(&mut self, stream: u64, mut message: Message) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|it| !it.is_finished) else {
            return;
        };
        // A response counts since it was made.
        if message.kind != MessageKind::Response {
            message.json = self.unsent.count(message.json);
        }
        let number = entry.next;
        entry.next += 1;
        let event = Event {
            number,
            message,
            again: false,
        };
        if entry.is_read {
            entry.unread_bytes += event.length();
            entry.unread.push_back(event);
            entry.wake();
        } else {
            self.keep(stream, event);
        }
    }

    pub(super) fn push_general(&mut self, message: Message) {
        if let Some(stream) = self.newest_general() {
            self.push(stream, message);
        }
    }

    pub(super) fn finish(&mut self, stream: u64) {
        if let Some(entry) = self.streams.get_mut(&stream) {
            entry.is_finished = true;
            entry.wake();
        }
        self.settle(stream);
    }

    pub(super) fn name(&mut self, stream: u64) {
        if let Some(entry) = self.streams.get_mut(&stream) {
            entry.is_named = true;
        }
    }

    /// Removes a reader that left; its unread events are kept for the next one.
    pub(super) fn leave(&mut self, stream: u64, turn: u64) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|it| it.turn == turn) else {
            return;
        };
        entry.is_read = false;
        entry.reader = None;
        // No client reads them now, and senders that wait for room would wait for ever.
        entry.unread_bytes = 0;
        for event in std::mem::take(&mut entry.unread) {
            self.keep(stream, event);
        }
        if self.is_general(stream) && !self.general_is_read() {
            self.unread_since = Some(Instant::now());
        }
        self.settle(stream);
    }

    pub(super) fn poll_first(&mut self, stream: u64, cx: &mut Context<'_>) -> Poll<FirstEvent> {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return Poll::Ready(FirstEvent::End);
        };
        match entry.unread.front().map(|event| &event.message) {
            Some(message) if message.kind == MessageKind::Response => {
                let response = message.json.clone();
                // The response leaves as JSON, which has no event id to resume after.
                self.streams.remove(&stream);
                Poll::Ready(FirstEvent::Response(response))
            }
            Some(_) => Poll::Ready(FirstEvent::Other),
            None if entry.is_finished => Poll::Ready(FirstEvent::End),
            None => entry.wait(cx),
        }
    }

    pub(super) fn poll_read(
        &mut self,
        stream: u64,
        turn: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Vec<Event>>> {
        let Some(entry) = self.streams.get_mut(&stream).filter(|it| it.turn == turn) else {
            return Poll::Ready(None);
        };
        if entry.unread.is_empty() {
            if entry.is_finished {
                return Poll::Ready(None);
            }
            return entry.wait(cx);
        }
        entry.is_named = true;
        let events = entry.take();
        for event in &events {
            // Kept although they are handed over: the connection may break before the client has them.
            self.keep(stream, event.clone());
        }
        Poll::Ready(Some(events))
    }

    pub(super) fn has_room(&self, stream: u64) -> bool {
        self.streams
            .get(&stream)
            .is_none_or(|entry| entry.is_finished || entry.unread_bytes < ROOM)
    }

    pub(super) fn has_general_room(&self) -> bool {
        self.newest_general()
            .is_none_or(|stream| self.has_room(stream))
    }

    pub(super) fn is_general(&self, stream: u64) -> bool {
        self.general.contains(&stream)
    }

    pub(super) fn are_read(&self) -> bool {
        self.streams.values().any(|stream| stream.is_read)
    }

    pub(super) fn unread_since(&self) -> Option<Instant> {
        self.unread_since
    }

    pub(super) fn end_general(&mut self) {
        self.unread_since = None;
        for stream in std::mem::take(&mut self.general) {
            self.finish(stream);
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.general = Vec::new();
        self.unread_since = None;
        self.replay = ReplayBuffer::new(0);
        for mut stream in std::mem::take(&mut self.streams).into_values() {
            stream.wake();
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Each message goes to one stream only: the newest one that is read, or else the newest.
    fn newest_general(&self) -> Option<u64> {
        let mut newest_first = self.general.iter().rev().copied();
        newest_first
            .find(|stream| self.is_read(*stream))
            .or_else(|| self.general.last().copied())
    }

    fn general_is_read(&self) -> bool {
        self.general.iter().any(|stream| self.is_read(*stream))
    }

    fn is_read(&self, stream: u64) -> bool {
        self.streams.get(&stream).is_some_and(|entry| entry.is_read)
    }

    /// Keeps an event for a client that can resume the stream.
    fn keep(&mut self, stream: u64, event: Event) {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return;
        };
        // It is in the replay buffer already.
        if event.again {
            return;
        }
        let can_return = entry.keep == Retention::Events && entry.is_named;
        let is_kept = can_return && self.replay.takes(event.length());
        let json = is_kept.then(|| self.unsent.keep(event.message.json));
        let Some(json) = json.flatten() else {
            // Nothing that ends before this event can be resumed any more.
            entry.kept_from = event.number + 1;
            return;
        };
        self.replay.keep(ReplayEvent {
            id: EventId {
                stream,
                number: event.number,
            },
            json,
        });
        while let Some(forgotten) = self.replay.forget() {
            if let Some(entry) = self.streams.get_mut(&forgotten.stream) {
                entry.kept_from = entry.kept_from.max(forgotten.number + 1);
            }
            self.settle(forgotten.stream);
        }
    }

    /// Removes a stream that no client can resume.
    fn settle(&mut self, stream: u64) {
        let Some(entry) = self.streams.get(&stream) else {
            return;
        };
        let is_forgotten = entry.unread.is_empty() && entry.kept_from == entry.next;
        let is_over = match entry.keep {
            Retention::Events => entry.is_finished && is_forgotten,
            Retention::Nothing => true,
        };
        if is_over && !entry.is_read {
            self.streams.remove(&stream);
        }
    }
}

const FIRST_TURN: u64 = 0;

impl Stream {
    fn new(keep: Retention) -> Self {
        Self {
            keep,
            unread: VecDeque::new(),
            unread_bytes: 0,
            next: 1,
            kept_from: 1,
            turn: FIRST_TURN,
            is_read: true,
            reader: None,
            is_named: false,
            is_finished: false,
        }
    }

    /// Takes as many events as are read at once.
    fn take(&mut self) -> Vec<Event> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < CHUNK
            && let Some(event) = self.unread.pop_front()
        {
            bytes += event.length();
            taken.push(event);
        }
        self.unread_bytes -= bytes;
        taken
    }

    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        match &mut self.reader {
            // `clone_from` keeps a waker that wakes the same task.
            Some(reader) => reader.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Event {
    fn again(kept: &ReplayEvent) -> Self {
        Self {
            number: kept.id.number,
            message: Message {
                kind: MessageKind::Notification,
                json: kept.json.clone(),
            },
            again: true,
        }
    }

    fn length(&self) -> usize {
        self.message.json.len()
    }
}

/// Id of an event, unique in its session: the number of its stream, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    /// Number of the event, from 1; 0 is the beginning of the stream.
    pub(super) number: u64,
}

impl EventId {
    pub(super) fn parse(id: &[u8]) -> Option<Self> {
        let (stream, number) = std::str::from_utf8(id).ok()?.split_once('-')?;
        let number_of = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten()
        };
        Some(Self {
            stream: number_of(stream)?,
            number: number_of(number)?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_stream_and_reads_back() {
        let id = EventId {
            stream: 3,
            number: 12,
        };
        assert_eq!(id.to_string(), "3-12");
        assert_eq!(EventId::parse(b"3-12"), Some(id));
        for other in [
            "",
            "3",
            "3-",
            "-12",
            "3-12-1",
            "+3-1",
            "3--1",
            "a-1",
            "3-99999999999999999999",
        ] {
            assert_eq!(EventId::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(EventId::parse(b"\xff-1"), None);
    }
}
