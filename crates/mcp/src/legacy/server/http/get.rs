use std::sync::Arc;

use callgate_wire::Version;
use http::request::Parts;
use http::{Response, StatusCode};

use super::endpoint::SessionEndpoint;
use super::headers::{self, HeaderField, SESSION_PARAMETER};
use super::responses;
use super::session_events::{EventIds, OnDrop, SessionEvents};
use super::session_table::{SessionEntry, SessionTransport};
use super::stream_table::EventId;
use super::streams::Retention;
use crate::transport::http::server::{Admission, ResponseBody, response};

impl SessionEndpoint {
    /// Opens the general stream of a session, resumes a stream, or opens a session of HTTP+SSE.
    pub(super) fn get(&self, head: &Parts, admission: &Admission) -> Response<ResponseBody> {
        let session = self.named_session(head, &admission.caller);
        let accepts_events = match session {
            HeaderField::Absent => headers::asks_for_events(&head.headers),
            // Some clients accept anything. Those that name a session are no browsers.
            _ => headers::accepts_events(&head.headers),
        };
        if !accepts_events {
            let message = "Accept must name text/event-stream";
            return responses::refuse(StatusCode::NOT_ACCEPTABLE, None, message);
        }
        let entry = match session {
            HeaderField::Absent => return self.open_stream(admission),
            HeaderField::Invalid => return responses::no_session(None),
            HeaderField::Value((_, entry)) => entry,
        };
        if !has_old_version(head) {
            return responses::unknown_version(None);
        }
        // A request that was refused is no use of the session.
        entry.touch();
        match headers::last_event(&head.headers) {
            HeaderField::Absent => self.listen(&entry),
            HeaderField::Value(id) => self.resume(&entry, id),
            HeaderField::Invalid => cannot_resume(),
        }
    }

    /// Closes a session.
    pub(super) fn delete(&self, head: &Parts, admission: &Admission) -> Response<ResponseBody> {
        let id = match self.named_session(head, &admission.caller) {
            HeaderField::Absent => {
                let message = "header `Mcp-Session-Id` must name the session to end";
                return responses::refuse(StatusCode::BAD_REQUEST, None, message);
            }
            HeaderField::Invalid => return responses::no_session(None),
            HeaderField::Value((id, _)) => id,
        };
        if !has_old_version(head) {
            return responses::unknown_version(None);
        }
        self.sessions.remove(&id);
        responses::empty(StatusCode::NO_CONTENT)
    }

    fn listen(&self, entry: &SessionEntry) -> Response<ResponseBody> {
        let Some(session) = entry.session() else {
            return responses::no_session(None);
        };
        // Opened before the subscription, so that its first changes have a stream.
        let reader = entry.streams().open_general(Retention::Events);
        entry.listen();
        let events = SessionEvents::new(reader, EventIds::Given, self.keep_alive);
        let mut events = events.until(self.draining.begun());
        self.prime(&mut events, session.version());
        response::event_stream(events)
    }

    fn resume(&self, entry: &SessionEntry, id: &[u8]) -> Response<ResponseBody> {
        let reader = EventId::parse(id).and_then(|id| entry.streams().resume(id));
        let Some(reader) = reader else {
            return cannot_resume();
        };
        let is_general = reader.is_general();
        let events = SessionEvents::new(reader, EventIds::Given, self.keep_alive);
        // The stream of a request ends with its response; a general one would hold up the shutdown.
        response::event_stream(match is_general {
            true => events.until(self.draining.begun()),
            false => events,
        })
    }

    /// Opens a session of HTTP+SSE: one stream carries everything to the client, which sends its
    /// messages to a URI of their own. The session ends with the stream.
    fn open_stream(&self, admission: &Admission) -> Response<ResponseBody> {
        let slot = match self.sessions.reserve(&admission.caller) {
            Ok(slot) => slot,
            Err(full) => return responses::full(full, None),
        };
        let transport = SessionTransport::EventStream;
        let entry = self.new_entry(&admission.caller, transport);
        let reader = entry.streams().open_general(Retention::Nothing);
        let id = self.sessions.insert(slot, Arc::new(entry));
        // Weak, because the guard lives in a connection, which must not keep the table.
        let sessions = Arc::downgrade(&self.sessions);
        let guard = OnDrop::new(move || {
            if let Some(sessions) = sessions.upgrade() {
                sessions.remove(&id);
            }
        });
        let mut events = SessionEvents::new(reader, EventIds::None, self.keep_alive)
            .until(self.draining.begun())
            .guarded(guard);
        let path = &self.path;
        events.announce(&format!("{path}?{SESSION_PARAMETER}={}", id.as_str()));
        response::event_stream(events)
    }
}

/// True if the request names an old revision, or none. It need not be the one of the session.
fn has_old_version(head: &Parts) -> bool {
    headers::version(&head.headers)
        .is_none_or(|name| Version::parse(name).is_some_and(|version| !version.is_modern()))
}

/// The specification has no answer for this. 404 would tell the client that its session is gone,
/// and a stream without the lost events that it has seen everything.
fn cannot_resume() -> Response<ResponseBody> {
    let message = "header `Last-Event-ID` names no event, or one whose successors are lost";
    responses::refuse(StatusCode::BAD_REQUEST, None, message)
}
