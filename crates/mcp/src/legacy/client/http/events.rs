use std::collections::VecDeque;

use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Limits, RawJson, sse};

use super::stream_position::StreamPosition;
use crate::transport::http::client::{BodyStream, finish, parse};

/// Reader of the events of one response, which keeps the position in the stream.
pub(crate) struct EventReader {
    body: BodyStream,
    parser: sse::Parser,
    ready: VecDeque<sse::Event>,
    too_large: Option<sse::TooLarge>,
    position: StreamPosition,
}

impl EventReader {
    /// Reads `body`, with events of up to `limit` bytes.
    pub(crate) fn new(body: BodyStream, limit: usize) -> Self {
        Self::resumed(body, limit, StreamPosition::default())
    }

    /// Reads the rest of a stream that ended at `position`.
    pub(crate) fn resumed(body: BodyStream, limit: usize, position: StreamPosition) -> Self {
        Self {
            body,
            parser: sse::Parser::new(limit),
            ready: VecDeque::new(),
            too_large: None,
            position,
        }
    }

    /// The next event; `None` if the stream has ended or failed. Dropping the future is safe.
    pub(crate) async fn next(&mut self) -> Result<Option<sse::Event>, sse::TooLarge> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.position.passed(&event);
                return Ok(Some(event));
            }
            // Only after the events that were complete before it.
            if let Some(error) = self.too_large {
                return Err(error);
            }
            // A stream that breaks is one that ends: either can be resumed.
            let Some(Ok(part)) = self.body.next().await else {
                return Ok(None);
            };
            let mut events = Vec::new();
            self.too_large = self.parser.push(&part, &mut events).err();
            self.ready.extend(events);
        }
    }

    pub(crate) fn into_position(self) -> StreamPosition {
        self.position
    }

    /// Reads the rest of a finished stream, so that its connection can be used again.
    pub(crate) async fn finish(self) {
        finish(self.body).await;
    }
}

/// Messages of a body or an event: one, or several if a server of 2025-03-26 sends a batch.
pub(crate) fn frames(bytes: &Bytes, limit: usize) -> Result<Vec<Frame>, FrameError> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(vec![parse(bytes, limit)?]);
    }
    let limits = Limits::default().with_bytes(limit);
    match RawJson::parse(bytes.clone(), &limits) {
        Ok(batch) => {
            let messages = batch.elements().into_iter().map(RawJson::into_bytes);
            messages.map(|message| parse(&message, limit)).collect()
        }
        // Parsed as one message for the sake of its error.
        Err(_) => Ok(vec![parse(bytes, limit)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&[&str]>) {
        let seen = frames(&Bytes::copy_from_slice(text.as_bytes()), 100).ok();
        let seen = seen.map(|frames| {
            let method = |frame| match frame {
                Frame::Notification(notification) => notification.method.to_string(),
                other => panic!("not a notification: {other:?}"),
            };
            frames.into_iter().map(method).collect::<Vec<_>>()
        });
        let expect = expect.map(|all| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(seen, expect, "{text}");
    }

    #[test]
    fn a_batch_is_its_messages() {
        let one = |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        check(&one("a"), Some(&["a"]));
        check(&format!(" [{},{}]", one("a"), one("b")), Some(&["a", "b"]));
        check("[]", Some(&[]));
        check(&format!("[{},7]", one("a")), None);
        check("[", None);
        check(&format!("[{}]", one(&"a".repeat(100))), None);
    }
}
