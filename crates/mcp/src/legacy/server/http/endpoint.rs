use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Limits, Version, meta};
use http::request::Parts;
use tokio::time::Instant;

use super::entry::{Door, Entry};
use super::headers::{self, Said};
use super::post::Posted;
use super::store::Store;
use crate::legacy::server::config::Config;
use crate::legacy::server::era::{Clues, Era, Named, decide};
use crate::service::{BoxFuture, Caller, Service};

/// The part of an HTTP server that old clients see. Dropping it ends their sessions.
pub(crate) struct Endpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) settings: Settings,
    pub(super) store: Arc<Store>,
}

/// What the server has decided.
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// The path of the endpoint.
    pub(crate) path: String,
    /// The limits of a message.
    pub(crate) json: Limits,
    /// How long an event stream is silent before a comment is sent.
    pub(crate) keep_alive: Duration,
    /// Resolves when the server shuts down.
    pub(crate) shutdown: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Who sent a request, and which forms of response they take.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) caller: Caller,
    pub(crate) json: bool,
    pub(crate) events: bool,
}

/// A message of an old client, and what it belongs to.
pub(crate) enum Claim {
    /// It opens a session.
    Handshake,
    /// It belongs to a session.
    Session(Arc<Entry>),
    /// It belongs to the session of a stream that is open.
    Stream(Arc<Entry>),
    /// It belongs to a session that is not there.
    NoSession,
    /// It stands alone and is of this revision.
    Alone(Version),
    /// It is in a session, but names a revision that nobody knows.
    UnknownVersion,
}

impl Endpoint {
    pub(crate) fn new(service: Arc<dyn Service>, settings: Settings) -> Self {
        Self {
            service,
            store: Store::new(settings.config),
            settings,
        }
    }

    /// Closes the sessions that have rested for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.store.sweep(now);
    }

    /// What an old message belongs to, and the message; given back where it is not old.
    pub(crate) fn claim(
        &self,
        head: &Parts,
        caller: &Caller,
        body: &Bytes,
        message: Result<Frame, FrameError>,
    ) -> Result<(Claim, Posted), Result<Frame, FrameError>> {
        let message = match message {
            Err(_) if is_array(body) => Posted::Array(body.clone()),
            Err(error) => return Err(Err(error)),
            Ok(frame) => Posted::One(frame),
        };
        match self.belonging(head, caller, &message) {
            Some(claim) => Ok((claim, message)),
            None => Err(match message {
                Posted::One(frame) => Ok(frame),
                Posted::Array(body) => Frame::parse(&body, &self.settings.json),
            }),
        }
    }

    fn belonging(&self, head: &Parts, caller: &Caller, message: &Posted) -> Option<Claim> {
        let header = headers::version(&head.headers);
        let first_look = Clues {
            method: message.method(),
            names_version: false,
            header,
            session: Named::Nothing,
        };
        // The way of every new client: nothing else has to be looked at.
        if decide(first_look) == Era::Modern {
            return None;
        }
        match headers::queried_session(&head.uri) {
            Said::Nothing => {}
            Said::Wrong => return Some(Claim::NoSession),
            Said::Once(id) => {
                let entry = self.store.find(&id, caller, Door::Query);
                return Some(entry.map_or(Claim::NoSession, Claim::Stream));
            }
        }
        let (session, entry) = match headers::session(&head.headers) {
            Said::Nothing => (Named::Nothing, None),
            Said::Wrong => (Named::Gone, None),
            Said::Once(id) => match self.store.find(&id, caller, Door::Header) {
                Some(entry) => (Named::Open, Some(entry)),
                None => (Named::Gone, None),
            },
        };
        let clues = Clues {
            names_version: message.names_version(),
            session,
            ..first_look
        };
        match (decide(clues), entry) {
            (Era::Handshake, _) => Some(Claim::Handshake),
            (Era::Session, Some(entry)) => Some(Claim::Session(entry)),
            (Era::Session | Era::NoSession, _) => Some(Claim::NoSession),
            (Era::Alone(version), _) => Some(Claim::Alone(version)),
            (Era::UnknownVersion, Some(_)) => Some(Claim::UnknownVersion),
            // Newer than anything we know: the newest revision says what is spoken here.
            (Era::UnknownVersion, None) | (Era::Modern, _) => None,
        }
    }
}

impl Posted {
    fn method(&self) -> Option<&str> {
        match self {
            Self::One(Frame::Request(request)) => Some(request.method.as_str()),
            Self::One(Frame::Notification(notification)) => Some(notification.method.as_str()),
            Self::One(Frame::Response(_)) | Self::Array(_) => None,
        }
    }

    fn names_version(&self) -> bool {
        let params = match self {
            Self::One(Frame::Request(request)) => &request.params,
            Self::One(Frame::Notification(notification)) => &notification.params,
            Self::One(Frame::Response(_)) | Self::Array(_) => return false,
        };
        params.at(&["_meta", meta::PROTOCOL_VERSION]).is_some()
    }
}

fn is_array(body: &Bytes) -> bool {
    body.trim_ascii_start().first() == Some(&b'[')
}
