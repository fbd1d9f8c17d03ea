use callgate_wire::Version;
use http::StatusCode;
use http::request::Parts;

use super::answer::{self, Answer};
use super::endpoint::{Endpoint, Visitor};
use super::entry::{Door, Entry};
use super::event_id::EventId;
use super::events::{Events, Ids};
use super::headers::{self, Said};
use super::streams::Keep;

impl Endpoint {
    /// Opens a stream of messages that belong to no request, or reads on one that was cut.
    pub(crate) fn get(&self, head: &Parts, visitor: &Visitor) -> Answer {
        if !headers::asks_for_events(&head.headers) {
            let message = "Accept must name text/event-stream";
            return answer::refuse(StatusCode::NOT_ACCEPTABLE, None, message);
        }
        let entry = match headers::session(&head.headers) {
            Said::Nothing => return self.open_stream(visitor),
            Said::Wrong => None,
            Said::Once(id) => self.store.find(&id, &visitor.caller, Door::Header),
        };
        let Some(entry) = entry else {
            return answer::no_session(None);
        };
        if !has_old_version(head) {
            return answer::unknown_version(None);
        }
        entry.touch();
        match headers::last_event(&head.headers) {
            Said::Nothing => self.listen(&entry),
            Said::Once(id) => self.resume(&entry, id),
            Said::Wrong => cannot_resume(),
        }
    }

    /// Ends a session.
    pub(crate) fn delete(&self, head: &Parts, visitor: &Visitor) -> Answer {
        let id = match headers::session(&head.headers) {
            Said::Nothing => {
                let message = "header `Mcp-Session-Id` must name the session to end";
                return answer::refuse(StatusCode::BAD_REQUEST, None, message);
            }
            Said::Wrong => return answer::no_session(None),
            Said::Once(id) => id,
        };
        if self
            .store
            .find(&id, &visitor.caller, Door::Header)
            .is_none()
        {
            return answer::no_session(None);
        }
        if !has_old_version(head) {
            return answer::unknown_version(None);
        }
        self.store.remove(&id);
        answer::empty(StatusCode::NO_CONTENT)
    }

    fn listen(&self, entry: &Entry) -> Answer {
        let Some(session) = entry.session() else {
            return answer::no_session(None);
        };
        let source = entry.streams().open_general(Keep::Events);
        entry.listen();
        let events = Events::new(source, Ids::Given, self.settings.keep_alive);
        let mut events = events.until((self.settings.shutdown)());
        self.prime(&mut events, session.version());
        answer::events(events)
    }

    fn resume(&self, entry: &Entry, id: &[u8]) -> Answer {
        let source = EventId::parse(id).and_then(|id| entry.streams().resume(id));
        let Some(source) = source else {
            return cannot_resume();
        };
        let is_general = source.is_general();
        let events = Events::new(source, Ids::Given, self.settings.keep_alive);
        answer::events(if is_general {
            events.until((self.settings.shutdown)())
        } else {
            events
        })
    }
}

/// Whether the request names an old revision, or none. It need not be the one that was agreed on.
fn has_old_version(head: &Parts) -> bool {
    headers::version(&head.headers)
        .is_none_or(|name| Version::parse(name).is_some_and(|version| !version.is_modern()))
}

/// The specification has no answer for this. 404 would tell the client that its session is gone,
/// and a stream without the lost events that it has seen everything.
fn cannot_resume() -> Answer {
    let message = "header `Last-Event-ID` names no event, or one whose successors are lost";
    answer::refuse(StatusCode::BAD_REQUEST, None, message)
}
