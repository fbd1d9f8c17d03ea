//! HTTP+SSE: a stream that carries everything, and a URI beside it that takes messages.

use std::sync::Arc;

use callgate_wire::{Frame, Request};

use super::answer::{self, Answer};
use super::endpoint::{Endpoint, Visitor};
use super::entry::{Door, Entry};
use super::events::{Events, Guard, Ids};
use super::headers::SESSION_PARAMETER;
use super::post::receive;
use super::streams::Keep;
use crate::error::{Error, Kind};
use crate::legacy::server::session::Session;
use crate::legacy::server::{Message, is_handshake};
use crate::transport::http::server::Posted;

impl Endpoint {
    /// Opens the stream of a session, which ends with it.
    pub(super) fn open_stream(&self, visitor: &Visitor) -> Answer {
        let place = match self.store.reserve(&visitor.caller) {
            Ok(place) => place,
            Err(full) => return answer::full(full, None),
        };
        let config = &self.settings.config;
        let entry = Entry::new(visitor.caller.clone(), Door::Query, config);
        let source = entry.streams().open_general(Keep::Nothing);
        let id = self.store.insert(place, Arc::new(entry));
        let store = Arc::downgrade(&self.store);
        let guard = Guard::new(move || {
            if let Some(store) = store.upgrade() {
                store.remove(&id);
            }
        });
        let mut events = Events::new(source, Ids::None, self.settings.keep_alive)
            .until((self.settings.shutdown)())
            .guarded(guard);
        let path = &self.settings.path;
        events.announce(&format!("{path}?{SESSION_PARAMETER}={}", id.as_str()));
        answer::events(events)
    }

    /// Takes a message; what there is to say about it comes on the stream.
    pub(super) async fn post_beside_stream(&self, entry: &Entry, posted: Posted) -> Answer {
        if let Posted::One(Frame::Request(request)) = &posted
            && is_handshake(request.method.as_str())
        {
            self.shake_hands(entry, request).await;
            return answer::accepted();
        }
        let outlet = entry.streams().general();
        let Some(session) = entry.session() else {
            if let Some(id) = posted.id() {
                let error = Error::new(Kind::InvalidRequest, "the first request is `initialize`");
                outlet.push(Message::response(Some(id), &Err(error)));
            }
            return answer::accepted();
        };
        entry.touch();
        match receive(session, posted, &self.settings.json, outlet) {
            Ok(_) => answer::accepted(),
            Err(error) => answer::reject(None, &error),
        }
    }

    async fn shake_hands(&self, entry: &Entry, request: &Request) {
        let outcome = if entry.session().is_some() {
            Err(Error::new(
                Kind::InvalidRequest,
                "the session is open already",
            ))
        } else {
            let (service, config) = (self.service.clone(), self.settings.config);
            Session::open(service, entry.caller().clone(), &request.params, config).await
        };
        let outcome = outcome.map(|(session, result)| {
            entry.begin(session);
            result
        });
        let response = Message::response(Some(&request.id), &outcome);
        entry.streams().general().push(response);
        if outcome.is_ok() {
            entry.touch();
            entry.listen();
        }
    }
}
