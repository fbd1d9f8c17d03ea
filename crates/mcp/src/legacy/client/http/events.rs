use std::collections::VecDeque;

use callgate_wire::sse;

use super::position::Position;
use crate::transport::http::client::{Stream, finish};

/// The events of one response, and where the stream is.
pub(in crate::legacy::client) struct Events {
    body: Stream,
    parser: sse::Parser,
    ready: VecDeque<sse::Event>,
    too_large: Option<sse::TooLarge>,
    position: Position,
}

impl Events {
    /// Reads `body`; no event may have more than `limit` bytes.
    pub(in crate::legacy::client) fn new(body: Stream, limit: usize) -> Self {
        Self::resumed(body, limit, Position::default())
    }

    /// Reads the rest of a stream that broke off at `position`.
    pub(super) fn resumed(body: Stream, limit: usize, position: Position) -> Self {
        Self {
            body,
            parser: sse::Parser::new(limit),
            ready: VecDeque::new(),
            too_large: None,
            position,
        }
    }

    /// The next event; `None` where the stream ended or broke. Dropping the future loses nothing.
    pub(in crate::legacy::client) async fn next(
        &mut self,
    ) -> Result<Option<sse::Event>, sse::TooLarge> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.position.passed(&event);
                return Ok(Some(event));
            }
            if let Some(error) = self.too_large {
                return Err(error);
            }
            let Some(Ok(part)) = self.body.next().await else {
                return Ok(None);
            };
            let mut events = Vec::new();
            self.too_large = self.parser.push(&part, &mut events).err();
            self.ready.extend(events);
        }
    }

    /// Where the stream is.
    pub(super) fn into_position(self) -> Position {
        self.position
    }

    /// Lets go of a stream that has said everything.
    pub(in crate::legacy::client) async fn finish(self) {
        finish(self.body).await;
    }
}
