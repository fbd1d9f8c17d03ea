use std::future::poll_fn;
use std::time::Duration;

use callgate_wire::Version;
use tokio::time::timeout;

use super::answer::{self, Answer};
use super::endpoint::{Endpoint, Visitor};
use super::events::{Events, Guard, Ids};
use super::source::Source;
use super::streams::{Keep, Streams};
use super::table::Front;
use crate::legacy::server::Message;

/// A stream that is about to answer a request.
pub(super) struct Reading {
    pub(super) source: Source,
    pub(super) ids: Ids,
    pub(super) version: Version,
    pub(super) guard: Option<Guard>,
}

/// How long a client waits before it is told how to come back, where its revision can say so.
const QUIET: Duration = Duration::from_secs(1);

impl Endpoint {
    /// Answers with what the stream brings: one message if the response comes first, else events.
    pub(super) async fn answer(&self, visitor: &Visitor, reading: Reading) -> Answer {
        if !visitor.events {
            let response = reading.source.response().await;
            // A request that was canceled has no response.
            return response.map_or_else(answer::accepted, answer::json);
        }
        if visitor.json {
            let front = poll_fn(|cx| reading.source.poll_front(cx));
            let first = timeout(self.patience(reading.version), front).await;
            if let Ok(Front::Response(response)) = first {
                return answer::json(response);
            }
        }
        let mut events = Events::new(reading.source, reading.ids, self.settings.keep_alive);
        if reading.ids == Ids::Given {
            self.prime(&mut events, reading.version);
        }
        answer::events(match reading.guard {
            Some(guard) => events.guarded(guard),
            None => events,
        })
    }

    /// Answers with one message.
    pub(super) fn whole(&self, visitor: &Visitor, message: Message) -> Answer {
        if visitor.json {
            return answer::json(message.json);
        }
        let source = Streams::new(0).open(Keep::Nothing);
        source.for_request().push(message);
        answer::events(Events::new(source, Ids::None, self.settings.keep_alive))
    }

    /// Tells a client how to come back, if its revision has a way to say so.
    ///
    /// Clients of older revisions take an event without data for a broken message.
    pub(super) fn prime(&self, events: &mut Events, version: Version) {
        if version >= Version::V2025_11_25 {
            events.prime(self.settings.config.retry);
        }
    }

    fn patience(&self, version: Version) -> Duration {
        let keep_alive = self.settings.keep_alive;
        match version {
            Version::V2025_11_25 => QUIET.min(keep_alive),
            _ => keep_alive,
        }
    }
}
