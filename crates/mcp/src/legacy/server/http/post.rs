use std::sync::Arc;

use callgate_wire::{Frame, Limits, Request, Version};
use http::StatusCode;
use http::header::HeaderValue;

use super::answer::{self, Answer};
use super::endpoint::{Belongs, Claim, Endpoint, Visitor};
use super::entry::{Door, Entry};
use super::events::{Guard, Ids};
use super::headers::SESSION_ID;
use super::reading::Reading;
use super::streams::{Keep, Streams};
use crate::error::{Error, Kind};
use crate::legacy::server::batch;
use crate::legacy::server::outlet::{Message, Outlet};
use crate::legacy::server::session::Session;
use crate::transport::http::server::Posted;

impl Endpoint {
    /// Answers what an old client has sent.
    ///
    /// Dropping the future cancels nothing that belongs to a session.
    pub(crate) async fn post(&self, claim: Claim, visitor: Visitor, posted: Posted) -> Answer {
        match (claim.0, posted) {
            (Belongs::ToNoSession, posted) => answer::no_session(posted.id()),
            (Belongs::ToUnknownVersion, posted) => answer::unknown_version(posted.id()),
            (Belongs::ToHandshake, Posted::One(Frame::Request(request))) => {
                self.open(visitor, request).await
            }
            (Belongs::ToHandshake, _) => {
                answer::refuse(StatusCode::BAD_REQUEST, None, "a handshake is a request")
            }
            (Belongs::ToSession(entry), posted) => self.converse(&entry, &visitor, posted).await,
            (Belongs::ToStream(entry), posted) => self.post_beside_stream(&entry, posted).await,
            (Belongs::Alone(version), posted) => self.answer_alone(version, visitor, posted).await,
        }
    }

    /// Opens a session.
    async fn open(&self, visitor: Visitor, request: Request) -> Answer {
        let place = match self.store.reserve(&visitor.caller) {
            Ok(place) => place,
            Err(full) => return answer::full(full, Some(&request.id)),
        };
        let config = self.settings.config;
        let caller = visitor.caller.clone();
        let opened = Session::open(
            self.service.clone(),
            caller.clone(),
            &request.params,
            config,
        )
        .await;
        let (session, outcome) = match opened {
            Ok((session, result)) => (Some(session), Ok(result)),
            Err(error) => (None, Err(error)),
        };
        let mut answer = self.whole(&visitor, Message::response(Some(&request.id), &outcome));
        if let Some(session) = session {
            let entry = Entry::of(session, caller, Door::Header, &config);
            let id = self.store.insert(place, Arc::new(entry));
            let id = HeaderValue::from_bytes(id.as_bytes()).expect("a session id is visible");
            answer.headers_mut().insert(&SESSION_ID, id);
        }
        answer
    }

    /// Takes a message of a session.
    async fn converse(&self, entry: &Entry, visitor: &Visitor, posted: Posted) -> Answer {
        let Some(session) = entry.session() else {
            return answer::no_session(posted.id());
        };
        entry.touch();
        let (source, outlet) = if visitor.events {
            let source = entry.streams().open(Keep::Events);
            let outlet = source.for_request();
            (source, outlet)
        } else {
            // Without events there are no ids to come back with, and no questions are heard.
            let source = entry.streams().open(Keep::Nothing);
            let outlet = source.for_response();
            (source, outlet)
        };
        let id = posted.id().cloned();
        match receive(session, posted, &self.settings.json, outlet) {
            Ok(true) => {}
            Ok(false) => return answer::accepted(),
            Err(error) => return answer::reject(id.as_ref(), &error),
        }
        let reading = Reading {
            source,
            ids: Ids::Given,
            version: session.version(),
            guard: None,
        };
        self.answer(visitor, reading).await
    }

    /// Answers a client that has no session. It cannot come back, so leaving is canceling.
    async fn answer_alone(&self, version: Version, visitor: Visitor, posted: Posted) -> Answer {
        if let Posted::One(Frame::Response(_)) = posted {
            let message = "a response belongs to a session";
            return answer::refuse(StatusCode::BAD_REQUEST, None, message);
        }
        let (service, config) = (self.service.clone(), self.settings.config);
        let session = Session::without_handshake(service, visitor.caller.clone(), version, config);
        let guard = Guard::new({
            let session = session.clone();
            move || session.close()
        });
        let source = Streams::new(0).open(Keep::Nothing);
        let id = posted.id().cloned();
        match receive(&session, posted, &self.settings.json, source.for_request()) {
            Ok(true) => {}
            Ok(false) => return answer::accepted(),
            Err(error) => return answer::reject(id.as_ref(), &error),
        }
        let reading = Reading {
            source,
            ids: Ids::None,
            version,
            guard: Some(guard),
        };
        self.answer(&visitor, reading).await
    }
}

/// Gives a session what was posted, and says whether there will be a response.
///
/// What the session has to say about it goes to `outlet`.
pub(super) fn receive(
    session: &Arc<Session>,
    posted: Posted,
    json: &Limits,
    outlet: Arc<dyn Outlet>,
) -> Result<bool, Error> {
    match posted {
        Posted::One(Frame::Notification(notification)) => session.notified(notification),
        Posted::One(Frame::Response(response)) => session.answered(response),
        Posted::One(Frame::Request(request)) => {
            session.start(request, outlet);
            return Ok(true);
        }
        Posted::Array(array, _) => return batch::receive(session, &array, json, outlet),
        Posted::Malformed(error) => {
            return Err(Error::new(Kind::InvalidRequest, error.to_string()));
        }
    }
    Ok(false)
}
