use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Limits, Version};
use http::request::Parts;
use tokio::time::Instant;

use super::entry::{Door, Entry};
use super::headers::{self, Said};
use super::store::Store;
use crate::legacy::server::Config;
use crate::legacy::server::era::{Clues, Era, Named, decide};
use crate::service::{BoxFuture, Caller, Service};
use crate::transport::http::server::Posted;

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

/// What a message of an old client belongs to.
pub(crate) struct Claim(pub(super) Belongs);

/// What a message of an old client belongs to.
pub(super) enum Belongs {
    /// It opens a session.
    ToHandshake,
    /// It belongs to a session.
    ToSession(Arc<Entry>),
    /// It belongs to the session of a stream that is open.
    ToStream(Arc<Entry>),
    /// It belongs to a session that is not there.
    ToNoSession,
    /// It stands alone and is of this revision.
    Alone(Version),
    /// It is in a session, but names a revision that nobody knows.
    ToUnknownVersion,
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

    /// What a message belongs to, if it is an old one; `version` is what its header names.
    pub(crate) fn claim(
        &self,
        head: &Parts,
        version: Option<&str>,
        caller: &Caller,
        posted: &Posted,
    ) -> Option<Claim> {
        let first_look = Clues {
            method: posted.method()?,
            names_version: false,
            header: version,
            session: Named::Nothing,
        };
        // The way of every new client: nothing else has to be looked at.
        if decide(first_look) == Era::Modern {
            return None;
        }
        self.belonging(head, caller, posted, first_look).map(Claim)
    }

    fn belonging(
        &self,
        head: &Parts,
        caller: &Caller,
        posted: &Posted,
        first_look: Clues<'_>,
    ) -> Option<Belongs> {
        match headers::queried_session(&head.uri) {
            Said::Nothing => {}
            Said::Wrong => return Some(Belongs::ToNoSession),
            Said::Once(id) => {
                let entry = self.store.find(&id, caller, Door::Query);
                return Some(entry.map_or(Belongs::ToNoSession, Belongs::ToStream));
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
            names_version: posted.names_version(),
            session,
            ..first_look
        };
        match (decide(clues), entry) {
            (Era::Handshake, _) => Some(Belongs::ToHandshake),
            (Era::Session, Some(entry)) => Some(Belongs::ToSession(entry)),
            (Era::Session | Era::NoSession, _) => Some(Belongs::ToNoSession),
            (Era::Alone(version), _) => Some(Belongs::Alone(version)),
            (Era::UnknownVersion, Some(_)) => Some(Belongs::ToUnknownVersion),
            // Newer than anything we know: the newest revision says what is spoken here.
            (Era::UnknownVersion, None) | (Era::Modern, _) => None,
        }
    }
}
