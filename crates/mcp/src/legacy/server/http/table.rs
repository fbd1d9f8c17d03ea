use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::time::Instant;

use super::event_id::EventId;
use super::replay::{Kept, Replay};
use super::streams::Keep;
use crate::legacy::server::outlet::{Message, MessageKind};

/// What [`Streams`](super::streams::Streams) guards: every stream, and what is kept of them.
#[derive(Debug)]
pub(super) struct Table {
    next: u64,
    streams: HashMap<u64, Stream>,
    /// The streams of messages that belong to no request, the newest one last.
    general: Vec<u64>,
    unheard_since: Option<Instant>,
    replay: Replay,
    closed: bool,
}

/// A message with its number on its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) message: Message,
    /// Whether it has been sent before.
    again: bool,
}

/// What a stream begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// The response: it is the whole stream.
    Response(Bytes),
    /// Something else.
    Other,
    /// Nothing, not even a response.
    End,
}

#[derive(Debug)]
struct Stream {
    keep: Keep,
    unread: VecDeque<Event>,
    unread_bytes: usize,
    /// The number of the next event.
    next: u64,
    /// The lowest number from which on every event is unread or kept.
    kept_from: u64,
    /// Who reads: each reader has one turn.
    turn: u64,
    is_read: bool,
    reader: Option<Waker>,
    /// Whether the client has been told an id, so that it can come back.
    is_named: bool,
    is_finished: bool,
}

/// A stream has room until this much is unread.
const ROOM: usize = 64 * 1024;

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

/// The most streams at once of messages that belong to no request.
const MOST_GENERAL: usize = 4;

impl Table {
    pub(super) fn new(replay_bytes: usize) -> Self {
        Self {
            next: 0,
            streams: HashMap::new(),
            general: Vec::new(),
            unheard_since: None,
            replay: Replay::new(replay_bytes),
            closed: false,
        }
    }

    /// Opens a stream; also the turn of its first reader.
    pub(super) fn open(&mut self, keep: Keep) -> (u64, u64) {
        let stream = self.next;
        self.next += 1;
        if !self.closed {
            self.streams.insert(stream, Stream::new(keep));
        }
        (stream, FIRST_TURN)
    }

    pub(super) fn open_general(&mut self, keep: Keep) -> (u64, u64) {
        let (stream, turn) = self.open(keep);
        if self.general.len() == MOST_GENERAL {
            let oldest = self.general.remove(0);
            self.finish(oldest);
        }
        self.general.push(stream);
        self.unheard_since = None;
        (stream, turn)
    }

    pub(super) fn resume(&mut self, id: EventId) -> Option<u64> {
        let stream = self.streams.get_mut(&id.stream)?;
        let is_known = id.number < stream.next && id.number + 1 >= stream.kept_from;
        if stream.keep == Keep::Nothing || !is_known {
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
        stream.unread.retain(|event| event.number > id.number);
        for event in again.into_iter().rev() {
            stream.unread.push_front(event);
        }
        stream.unread_bytes = stream.unread.iter().map(Event::length).sum();
        stream.turn += 1;
        stream.is_read = true;
        stream.wake();
        if let Some(at) = self.general.iter().position(|other| *other == id.stream) {
            self.general.remove(at);
            self.general.push(id.stream);
            self.unheard_since = None;
        }
        Some(stream.turn)
    }

    pub(super) fn push(&mut self, stream: u64, message: Message) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|it| !it.is_finished) else {
            return;
        };
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

    /// The reader whose turn it was is gone: what it did not read is kept for the next one.
    pub(super) fn leave(&mut self, stream: u64, turn: u64) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|it| it.turn == turn) else {
            return;
        };
        entry.is_read = false;
        entry.reader = None;
        entry.unread_bytes = 0;
        for event in std::mem::take(&mut entry.unread) {
            self.keep(stream, event);
        }
        if self.is_general(stream) && !self.general_is_read() {
            self.unheard_since = Some(Instant::now());
        }
        self.settle(stream);
    }

    pub(super) fn poll_front(&mut self, stream: u64, cx: &mut Context<'_>) -> Poll<Front> {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return Poll::Ready(Front::End);
        };
        match entry.unread.front().map(|event| &event.message) {
            Some(message) if message.kind == MessageKind::Response => {
                let response = message.json.clone();
                self.streams.remove(&stream);
                Poll::Ready(Front::Response(response))
            }
            Some(_) => Poll::Ready(Front::Other),
            None if entry.is_finished => Poll::Ready(Front::End),
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

    pub(super) fn unheard_since(&self) -> Option<Instant> {
        self.unheard_since
    }

    pub(super) fn end_general(&mut self) {
        self.unheard_since = None;
        for stream in std::mem::take(&mut self.general) {
            self.finish(stream);
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.general = Vec::new();
        self.unheard_since = None;
        self.replay = Replay::new(0);
        for mut stream in std::mem::take(&mut self.streams).into_values() {
            stream.wake();
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Each message goes to one stream: the newest one that is read, or was.
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

    /// Keeps an event for a client that can come back to it.
    fn keep(&mut self, stream: u64, event: Event) {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return;
        };
        if event.again {
            return;
        }
        let can_return = entry.keep == Keep::Events && entry.is_named;
        if !can_return || !self.replay.takes(event.length()) {
            entry.kept_from = event.number + 1;
            return;
        }
        self.replay.keep(Kept {
            id: EventId {
                stream,
                number: event.number,
            },
            json: event.message.json,
        });
        while let Some(forgotten) = self.replay.forget() {
            if let Some(entry) = self.streams.get_mut(&forgotten.stream) {
                entry.kept_from = entry.kept_from.max(forgotten.number + 1);
            }
            self.settle(forgotten.stream);
        }
    }

    /// Forgets a stream that nobody can come back to.
    fn settle(&mut self, stream: u64) {
        let Some(entry) = self.streams.get(&stream) else {
            return;
        };
        let is_forgotten = entry.unread.is_empty() && entry.kept_from == entry.next;
        let is_over = match entry.keep {
            Keep::Events => entry.is_finished && is_forgotten,
            Keep::Nothing => true,
        };
        if is_over && !entry.is_read {
            self.streams.remove(&stream);
        }
    }
}

const FIRST_TURN: u64 = 0;

impl Stream {
    fn new(keep: Keep) -> Self {
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

    /// Takes as many events as go at once.
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
    fn again(kept: &Kept) -> Self {
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
